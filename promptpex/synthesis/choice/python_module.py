"""Chosen assertions as a Python module, and the tests of that module.

The checks themselves are data in the module: ``promptpex.check`` runs them, so that Python that a model wrote stays in
its sandbox. Importing the module runs nothing of it.
"""

from __future__ import annotations

import json
import keyword
import pprint
import re
from collections.abc import Collection, Mapping, Sequence

from promptpex.core.records import Candidate, CandidateStatus, Example, Synthesis
from promptpex.core.surrogates import escape_surrogates
from promptpex.synthesis.candidate_names import free_name

WIDTH = 110
MARK, TESTS_MARK, EXAMPLES_MARK = '"""Assertions about the outputs of ', '"""The assertions of ', "["
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
    """The text of a module with a function for each chosen candidate.

    Args:
        chosen: ids of candidates.
        module: the name that it will be imported by.
    """
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
    """The text of the tests of a module, which read ``examples_file(module)`` next to them."""
    return _TESTS.format(module=module, data=examples_file(module))


def examples_file(module: str) -> str:
    """The name of the file with the examples of a module's tests."""
    return f"{module}_examples.json"


def examples_json(
    synthesis: Synthesis,
    chosen: Collection[str],
    examples: Sequence[Example],
    results: Mapping[tuple[str, str], CandidateStatus],
) -> str:
    """The examples of the tests: labelled ones first, bad and good in turn, at most ``MOST_EXAMPLES``.

    Args:
        results: by the fingerprint of a candidate's check and the id of an example.
    """
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
