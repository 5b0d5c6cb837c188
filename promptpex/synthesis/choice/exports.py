"""Chosen assertions as rules of the spec, as a file of checks, and as a Python module with tests.

The checks are data in the module: ``promptpex.check`` runs them, so that Python that a model wrote stays in its
sandbox. Importing the module runs nothing of it.
"""

from __future__ import annotations

import json
import keyword
import pprint
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from promptpex.assertions import named_variables
from promptpex.core.records import Candidate, CandidateStatus, Check, Criterion, Example, Rule, Spec, Synthesis
from promptpex.core.surrogates import escape_surrogates
from promptpex.documents import yaml_writer
from promptpex.documents.ownership import owned_by_people
from promptpex.synthesis.proposing.replies import free_name

CHECKS_MARK = "# Assertions chosen by promptpex"
"""How every such file begins."""


def check_file(synthesis: Synthesis, chosen: Collection[str]) -> str:
    """The chosen candidates as YAML with the key ``assert``, each check's ``metric`` being the candidate's id."""
    checks = [candidate.named_check.to_dict() for candidate in synthesis.candidates if candidate.id in chosen]
    return f"{CHECKS_MARK}\n{yaml_writer.document({'assert': checks})}"


def with_assertions(spec: Spec, synthesis: Synthesis, chosen: Collection[str]) -> Spec:
    """The spec with the chosen candidates in it, and without those of an earlier choice that are not chosen now.

    A candidate for a rule of the spec becomes a check of that rule; of a rule that had none, it decides a part, and
    what passes is left to a judge. The candidates of a criterion from the prompt's history make a rule of their own,
    of origin ``synthesized``, which they decide wholly. Each check carries the candidate's id as its ``metric``. From a
    rule that a person edited or added nothing is taken away.
    """
    criteria = {criterion.id: criterion for criterion in synthesis.criteria}
    chosen_candidates = [candidate for candidate in synthesis.candidates if candidate.id in chosen]
    before = {candidate.id for candidate in synthesis.candidates} - set(chosen)
    rules = [_without(rule, before) for rule in spec.rules if rule.origin != "synthesized"]
    homes = {rule.id: [c for c in chosen_candidates if _rule_of(c, criteria) == rule.id] for rule in rules}
    rules = [_with_checks(rule, homes[rule.id]) for rule in rules]
    placed = {candidate.id for group in homes.values() for candidate in group}
    placed |= {check.metric for rule in rules for check in rule.checks if check.metric}
    taken_ids = {name for rule in rules for name in (rule.id, rule.inverse_id)}
    for group in _by_criteria(candidate for candidate in chosen_candidates if candidate.id not in placed):
        rules.append(_rule(group, criteria, taken_ids))
        taken_ids |= {rules[-1].id, rules[-1].inverse_id}
    return spec.replace(rules=tuple(rules))


def _rule_of(candidate: Candidate, criteria: Mapping[str, Criterion]) -> str | None:
    """The rule of the spec that the candidate's first criterion is about."""
    criterion = criteria.get(candidate.criteria[0]) if candidate.criteria else None
    return None if criterion is None else criterion.rule


def _without(rule: Rule, candidates: Collection[str]) -> Rule:
    if owned_by_people(rule.origin):
        return rule
    checks = tuple(check for check in rule.checks if check.metric is None or check.metric not in candidates)
    return rule if len(checks) == len(rule.checks) else rule.replace(checks=checks)


def _with_checks(rule: Rule, candidates: Collection[Candidate]) -> Rule:
    """The rule with those of the candidates' checks that it does not have already."""
    bare = [check.replace(metric=None) for check in rule.checks]
    new = [candidate.named_check for candidate in candidates if not _is_among(candidate.check, bare)]
    if not new:
        return rule
    return rule.replace(checks=(*rule.checks, *new), decides=rule.decides if rule.checks else "partly")


def _is_among(check: Check, checks: Collection[Check]) -> bool:
    """Whether the checks hold this one, or each of those that it is a set of, as it is where a rule has several."""
    bare = check.replace(metric=None)
    is_set_of_all = check.kind == "assert-set" and check.threshold is None
    return bare in checks or (is_set_of_all and all(part in checks for part in check.asserts or ()))


def _by_criteria(candidates: Iterable[Candidate]) -> list[list[Candidate]]:
    groups: dict[tuple[str, ...], list[Candidate]] = {}
    for candidate in candidates:
        groups.setdefault(candidate.criteria or (candidate.id,), []).append(candidate)
    return list(groups.values())


def _rule(group: list[Candidate], criteria: Mapping[str, Criterion], taken: Collection[str]) -> Rule:
    own_criteria = [criteria[name] for name in group[0].criteria if name in criteria]
    checks = tuple(candidate.named_check for candidate in group)
    uses_input = bool(named_variables(checks)) or any("python" in check.kind for check in checks)
    return Rule(
        id=free_name(own_criteria[0].id if own_criteria else group[0].id, taken, "-"),
        rule=" ".join(criterion.text for criterion in own_criteria) or group[0].description or group[0].id,
        needs="input" if uses_input else "output",
        source=" ... ".join(criterion.source for criterion in own_criteria if criterion.source) or None,
        checks=checks,
        origin="synthesized",
    )


WIDTH = 110
MODULE_MARK, TESTS_MARK, EXAMPLES_MARK = '"""Assertions about the outputs of ', '"""The assertions of ', "["
"""How every module, its tests and their examples begin."""
MOST_EXAMPLES = 40
"""Examples that the tests hold the assertions to: a file that people can still read."""

_HEAD = '''"""Assertions about the outputs of {prompt}, chosen by promptpex.

Each function takes the inputs of the prompt, the prompt as it was sent, and a response, and says whether the response
is right in that respect. ``failed`` names the assertions that a response fails.

Assertions that put a question to a model call ``ask``; set it before you use them, for example:
    {module}.ask = lambda prompt, response, question: my_client.yes_or_no(prompt, response, question)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import promptpex

Ask = Callable[[str, str, str], bool]

ask: Ask | None = None
'''

_RUN = '''

class Undecided(Exception):
    """An assertion that could not be decided, with the reason."""


def _passes(name: str, example: Mapping[str, object], prompt: str, response: str) -> bool:
    answers: dict[str, bool] = {}
    while True:
        report = promptpex.check(response, [CHECKS[name]], vars=example, prompt=prompt, answers=answers)
        if ask is None or not report.questions:
            break
        answers |= {question: ask(prompt, response, question) for question in report.questions}
    if report.status == "unscored":
        raise Undecided(f"{name}: {report.reason}")
    return report.status == "pass"
'''

_FUNCTION = """

def {name}(example: Mapping[str, object], prompt: str, response: str) -> bool:
    {docstring}
    return _passes({key}, example, prompt, response)
"""

_END = '''

ASSERTIONS = ({names})


def failed(example: Mapping[str, object], prompt: str, response: str) -> list[str]:
    """The names of the assertions that this response fails.

    Raises:
        Undecided: one of them could not be decided.
    """
    return [assertion.__name__ for assertion in ASSERTIONS if not assertion(example, prompt, response)]
'''

_TESTS = '''"""The assertions of {module} on the examples that they were chosen on."""

from __future__ import annotations

import json
from pathlib import Path

import {module}
import pytest

EXAMPLES = json.loads(Path(__file__).with_name("{data}").read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", EXAMPLES, ids=lambda row: row["id"])
@pytest.mark.parametrize("assertion", {module}.ASSERTIONS, ids=lambda assertion: assertion.__name__)
def test_decides_as_when_it_was_chosen(assertion, row):
    status = row["results"].get(assertion.__name__)
    if status not in ("pass", "fail"):
        pytest.skip(f"{{status or 'not run'}} when it was chosen")
    try:
        passes = assertion(row["inputs"], row["prompt"], row["output"])
    except {module}.Undecided as undecided:
        pytest.skip(str(undecided))
    assert passes == (status == "pass")
'''


def python_module(synthesis: Synthesis, chosen: Collection[str], *, module: str) -> str:
    """The text of a module with a function for each chosen candidate."""
    candidates = [candidate for candidate in synthesis.candidates if candidate.id in chosen]
    names = function_names(candidates)
    checks = {names[candidate.id]: candidate.check.to_dict() for candidate in candidates}
    functions = "".join(
        _FUNCTION.format(name=names[c.id], key=json.dumps(names[c.id]), docstring=_docstring(c, synthesis))
        for c in candidates
    )
    names_text = "".join(f"\n    {name}," for name in checks) + "\n" if checks else ""
    head = _HEAD.format(prompt=_in_docstring(synthesis.prompt), module=module)
    text = f"{head}\nCHECKS = {pprint.pformat(checks, width=WIDTH, sort_dicts=False)}\n{_RUN}{functions}"
    return text + _END.format(names=names_text)


def python_tests(module: str) -> str:
    return _TESTS.format(module=module, data=examples_file(module))


def examples_file(module: str) -> str:
    return f"{module}_examples.json"


def examples_json(
    synthesis: Synthesis,
    chosen: Collection[str],
    examples: Sequence[Example],
    results: Mapping[tuple[str, str], CandidateStatus],
) -> str:
    """The examples of the tests: labelled ones first, bad and good in turn, at most ``MOST_EXAMPLES``."""
    candidates = [candidate for candidate in synthesis.candidates if candidate.id in chosen]
    names = function_names(candidates)
    rows = [
        {
            "id": example.id,
            "label": example.label,
            "inputs": example.inputs,
            "prompt": example.prompt,
            "output": example.output,
            "results": {
                names[c.id]: results[c.fingerprint, example.id]
                for c in candidates
                if (c.fingerprint, example.id) in results
            },
        }
        for example in _varied(examples)
    ]
    return escape_surrogates(json.dumps(rows, ensure_ascii=False, indent=1)) + "\n"


def _varied(examples: Sequence[Example]) -> list[Example]:
    groups = [[e for e in examples if e.label == label] for label in ("bad", "good", None)]
    longest = max(map(len, groups[:2]), default=0)
    labelled = [group[place] for place in range(longest) for group in groups[:2] if place < len(group)]
    return [*labelled, *groups[2]][:MOST_EXAMPLES]


_RESERVED = {"ask", "failed", "promptpex", "annotations", "_passes", "Ask", "Undecided", "CHECKS", "ASSERTIONS"}
_RESERVED |= {"Callable", "Mapping", "example", "prompt", "response"}


def function_names(candidates: Sequence[Candidate]) -> dict[str, str]:
    """A name that Python allows for each candidate, by its id; no two are the same."""
    names: dict[str, str] = {}
    taken = set(_RESERVED)
    for candidate in candidates:
        plain = re.sub(r"[^A-Za-z0-9_]", "_", candidate.id)
        plain = f"is_{plain}" if plain[0].isdigit() or keyword.iskeyword(plain) or plain.startswith("__") else plain
        names[candidate.id] = free_name(plain, taken)
        taken.add(names[candidate.id])
    return names


def _docstring(candidate: Candidate, synthesis: Synthesis) -> str:
    texts = [criterion.text for criterion in synthesis.criteria if criterion.id in candidate.criteria]
    words = candidate.description or " ".join(texts) or candidate.id
    return f'"""{_in_docstring(words)}"""'


def _in_docstring(text: str) -> str:
    """A text on one line that neither ends a docstring nor is an escape in it."""
    plain = " ".join(text.split()).replace("\\", "\\\\").replace('"', "'")
    return "".join(char if char.isprintable() else " " for char in plain)
