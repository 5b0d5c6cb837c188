"""Chosen assertions as a Python module with tests."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from promptpex.core.records import Candidate, CandidateStatus, Check, Criterion, Example, Synthesis
from promptpex.synthesis.choice.exports import (
    MOST_EXAMPLES,
    examples_file,
    examples_json,
    function_names,
    python_module,
    python_tests,
)

HOSTILE = 'Says """ \\N{BULLET} {braces} \u2028 and\nends with a backslash \\'
SYNTHESIS = Synthesis(
    prompt='trips/"""plan.md',
    criteria=(Criterion(id="c1", text="The reply names the city."),),
    candidates=(
        Candidate(id="names_city", criteria=("c1",), check=Check(kind="icontains", value="{{city}}")),
        Candidate(id="is-short", description=HOSTILE, check=Check(kind="word-count", value={"max": 5})),
        Candidate(id="never_chosen", check=Check(kind="contains", value="!")),
    ),
)
CHOSEN = {"names_city", "is-short"}


def example(name: str, output: str, label: str | None) -> Example:
    return Example.model_validate({"id": name, "inputs": {"city": "Hue"}, "output": output, "label": label})


EXAMPLES = [example("e1", "Go to Hue.", "good"), example("e2", "Go to Hanoi, I would say so myself.", "bad")]


def results() -> dict[tuple[str, str], CandidateStatus]:
    named, short = (candidate.fingerprint for candidate in SYNTHESIS.candidates[:2])
    return {(named, "e1"): "pass", (named, "e2"): "fail", (short, "e1"): "pass", (short, "e2"): "error"}


def write(folder: Path, rows: str) -> None:
    (folder / "trip_checks.py").write_text(python_module(SYNTHESIS, CHOSEN, module="trip_checks"), encoding="utf-8")
    (folder / "test_trip_checks.py").write_text(python_tests("trip_checks"), encoding="utf-8")
    (folder / examples_file("trip_checks")).write_text(rows, encoding="utf-8")


def pytest_in(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "test_trip_checks.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


def test_the_tests_of_the_module_fail_where_it_decides_otherwise_than_it_did(tmp_path: Path) -> None:
    before = {**results(), (SYNTHESIS.candidates[0].fingerprint, "e2"): "pass"}
    write(tmp_path, examples_json(SYNTHESIS, CHOSEN, EXAMPLES, before))

    done = pytest_in(tmp_path)

    assert (done.returncode, done.stdout.splitlines()[-1].split(" in ")[0]) == (1, "1 failed, 2 passed, 1 skipped")


def test_a_response_is_held_to_every_assertion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hue_checks.py").write_text(python_module(SYNTHESIS, CHOSEN, module="hue_checks"), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))

    module = __import__("hue_checks")

    assert [assertion.__name__ for assertion in module.ASSERTIONS] == ["names_city", "is_short"]
    assert module.failed({"city": "Hue"}, "", "Hue it is.") == []
    assert module.failed({"city": "Hue"}, "", "Hanoi, and not one word more of it.") == ["names_city", "is_short"]
    assert "never_chosen" not in (tmp_path / "hue_checks.py").read_text(encoding="utf-8")


def test_names_are_python_names_and_differ() -> None:
    ids = ["is-short", "is.short", "2nd", "class", "ask", "failed", "__import__"]
    names = function_names([Candidate(id=name, check=Check(kind="contains", value="x")) for name in ids])

    assert len(set(names.values())) == len(ids)
    assert all(name.isidentifier() for name in names.values())
    assert not {"class", "ask", "failed"} & set(names.values())


def test_examples_are_few_and_labels_take_turns() -> None:
    many = [example(f"g{i}", "x", "good") for i in range(60)] + [example(f"b{i}", "x", "bad") for i in range(3)]
    rows = json.loads(examples_json(SYNTHESIS, CHOSEN, [example("n", "x", None), *many], {}))

    assert len(rows) == MOST_EXAMPLES
    assert [row["label"] for row in rows[:8]] == ["bad", "good", "bad", "good", "bad", "good", "good", "good"]


def test_questions_go_to_the_function_that_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asking = Candidate(id="names_it", check=Check(kind="question", value="Does it name {{city}}?"))
    python = "def both(example, prompt, response):\n    return ask('Is it short?') and ask('Is it calm?')"
    both = Candidate(id="both", check=Check(kind="python", value=python))
    synthesis = Synthesis(prompt="plan.md", candidates=(asking, both))
    text = python_module(synthesis, {"names_it", "both"}, module="asking_checks")
    (tmp_path / "asking_checks.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    module = __import__("asking_checks")
    asked: list[str] = []

    def ask(prompt: str, response: str, question: str) -> bool:
        asked.append(question)
        return question != "Is it calm?"

    with pytest.raises(module.Undecided, match="names_it: "):
        module.failed({"city": "Hue"}, "", "Hue!")
    monkeypatch.setattr(module, "ask", ask)
    assert module.failed({"city": "Hue"}, "", "Hue!") == ["both"]
    assert asked == ["Does it name Hue?", "Is it short?", "Is it calm?"]
