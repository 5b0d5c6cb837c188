"""``pytest``: a prompt's suite as a module of tests, one for each case and rule, on promptpex's fixture for pytest."""

from __future__ import annotations

import keyword
import pprint
import re
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path

from promptpex.core.records import Case, Rule
from promptpex.core.translation import stored
from promptpex.interchange.format import Exported, Format, Option, Project, Source

WIDTH = 110
_WORD = re.compile(r"[a-z0-9]+")
_NAME_LENGTH = 60


def literal(value: object) -> str:
    """Texts, numbers, truth values, None, and lists and mappings of them as a literal of ASCII and printable signs."""
    return pprint.pformat(value, width=WIDTH, sort_dicts=False)


def docstring(text: str, indent: str = "") -> str:
    """A text as a docstring, broken into lines; each but the first begins with ``indent``."""
    line = " ".join(text.split()) or "A rule."
    if not line.isprintable() or "\\" in line or '"""' in line or line.endswith('"'):
        return ascii(line)
    return f'"""{textwrap.fill(line, WIDTH - 6, subsequent_indent=indent, break_long_words=False)}"""'


def names(prefix: str, texts: Iterable[str]) -> list[str]:
    """A name for each of these texts, of its words; no two are the same, and none is a word of Python's."""
    taken: set[str] = set()
    unique_names = []
    for text in texts:
        words = "_".join(_WORD.findall(text.lower()))[:_NAME_LENGTH].strip("_")
        stem = f"{prefix}_{words}" if words else prefix
        name, number = stem, 2
        while name in taken or keyword.iskeyword(name):
            name, number = f"{stem}_{number}", number + 1
        taken.add(name)
        unique_names.append(name)
    return unique_names


def comment(text: str) -> str:
    line = " ".join(text.split())
    return f"# {line if line.isprintable() else ascii(line)}"


_HEAD = '''{about}

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PROMPT = Path(__file__).parent / {prompt}
MODELS = {models}
"""Who is asked; None: the model under test of promptpex.toml."""

CASES = {cases}

Answers = Callable[[str, Any], Any]


@pytest.fixture(scope="module")
def answers(promptpex: Any) -> Answers:
    """The answer of a model to a case with its verdicts, asked for once."""
    known: dict[tuple[str, Any], Any] = {{}}

    def answer(case: str, model: Any) -> Any:
        if (case, model) not in known:
            known[case, model] = promptpex(PROMPT, case=case, model=model)
        return known[case, model]

    return answer


def holds(answer: Any, rule: str) -> None:
    """Whether the answer keeps the rule; what nobody could decide does not pass."""
    verdict = answer.verdicts.get(rule)
    if answer.output.error is not None or verdict is None or verdict.status in ("fail", "unscored"):
        pytest.fail(repr(answer), pytrace=False)
    if verdict.status == "not_concerned":
        pytest.skip(f"{{rule}} does not concern this case")
'''

_TEST = """

{comment}
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("case", {cases})
def {name}(answers: Answers, case: str, model: Any) -> None:
    {doc}
    holds(answers(case, model), {rule})
"""


def write(source: Source, *, prompt_path: str | None) -> Exported:
    """The module, to be put beside the prompt."""
    project = source.project()
    rules = [rule for rule in project.spec.rules if not rule.stale]
    file = prompt_path or Path(project.prompt.path or project.spec.prompt or f"{project.prompt.name}.md").name
    left_out = [stored("put the file beside {prompt} and its spec and cases, or correct PROMPT in it", prompt=file)]
    unused = len(project.suite.cases) - len(project.suite.usable())
    left_out += [stored("cases that are not run, and are left out: {count}", count=unused)] if unused else []
    about = docstring(
        f"Tests of the prompt {project.prompt.name}, made by promptpex: each rule on each case. Run them with pytest; "
        "models and judges are those of promptpex.toml, and what is in the store is not asked again."
    )
    named_rules = zip(rules, names("test", (f"{rule.id} {rule.rule}" for rule in rules)), strict=True)
    tests = [_test(rule, name, project) for rule, name in named_rules]
    cases = [case.id for case in project.suite.usable()]
    head = _HEAD.format(
        about=about, prompt=ascii(file), models=literal(list(project.models) or [None]), cases=literal(cases)
    )
    return Exported(head + "".join(tests), tuple(left_out))


def _test(rule: Rule, name: str, project: Project) -> str:
    cases = _cases(rule, project.suite.usable(), project.concerned)
    is_every_case = len(cases) == len(project.suite.usable())
    return _TEST.format(
        name=name,
        doc=docstring(rule.rule, "    "),
        rule=ascii(rule.id),
        cases="CASES" if is_every_case else literal(cases),
        comment=comment(f"{rule.id}: {'a judge decides it' if rule.needs_judge else 'code decides it'}"),
    )


def _cases(rule: Rule, cases: tuple[Case, ...], concerned: Mapping[str, frozenset[str]]) -> list[str]:
    case_ids = concerned.get(rule.id)
    return [case.id for case in cases if case_ids is None or case.id in case_ids]


FORMAT = Format(
    name="pytest",
    summary="a module of tests for pytest, one for each rule and case; promptpex has to be installed where it runs",
    extensions=(".py",),
    writes="project",
    write=write,
    write_options=(Option("prompt_path", "the prompt's file, seen from the module [its name].", metavar="PATH"),),
)  # fmt: skip
