"""``promptpex select`` as a person or a program calls it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from promptpex.cli.main import run_cli

PROBLEM: dict[str, Any] = {
    "n": 5,
    "m": 3,
    "y": "00111",
    "M": ["011", "101", "110", "111", "111"],
    "K": [[0, 2]],
}
"""Candidate 0 catches the first output, 1 the second; 2 flags a good one and is implied by 0."""

Called = tuple[int, str, str]


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def called(capsys: pytest.CaptureFixture[str], content: object, *arguments: str) -> Called:
    text = content if isinstance(content, str) else json.dumps(content)
    Path("problem.json").write_text(text, encoding="utf-8")
    code = run_cli(["select", "problem.json", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_json_has_the_selection_with_its_figures_and_what_is_proven(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = called(capsys, PROBLEM, "--method", "cov", "--coverage", "100%", "--ffr", "0", "--json")
    assert (code, err) == (0, "")
    result = json.loads(out)
    expected = {"selection": [0, 1], "coverage": 1.0, "ffr": 0.0, "size": 2, "not_subsumed": 0, "objective": 2}
    assert {**result, **expected, "optimal": True, "gap": 0.0, "feasible": True} == result


def test_people_read_the_figures_beside_the_limits_and_what_each_candidate_does(
    capsys: pytest.CaptureFixture[str],
) -> None:
    problem = {**PROBLEM, "names": ["mentions_price", "is\npolite", "x" * 200]}
    code, out, _ = called(capsys, problem, "--coverage", "1", "--ffr", "0")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    words = [line.split() for line in out.splitlines()]
    assert out.startswith("sub chooses 2 of 3 candidates; proven optimal.")
    assert ["mentions_price", "1", "1", "0", "1"] in words
    assert ["is", "polite", "1", "1", "0", "0"] in words
    assert "2 of 2 bad outputs caught" in out
    assert "at least 100%" in out
    _, out, _ = called(capsys, problem, "--method", "all")
    assert "all chooses 3 of 3 candidates." in out
    assert "1 of 3 good outputs flagged" in out


def unrelated(seed: int, outputs: int = 40) -> dict[str, Any]:
    """40 candidates that differ in how often they flag good and bad outputs, and do so independently."""
    rng = random.Random(seed)
    labels = [rng.random() >= 0.3 for _ in range(outputs)]
    flags = [(rng.betavariate(1, 20), rng.betavariate(1, 6)) for _ in range(40)]
    rows = ["".join("01"[rng.random() >= one[0 if good else 1]] for one in flags) for good in labels]
    return {"n": outputs, "m": 40, "y": "".join("01"[good] for good in labels), "M": rows, "K": []}


def test_a_matrix_says_that_its_limit_is_not_kept_on_outputs_held_out(capsys: pytest.CaptureFixture[str]) -> None:
    for method in ("sub", "baseline", "all", "topological"):
        code, out, _ = called(capsys, unrelated(1), "--method", method, "--json")
        made = json.loads(out)
        ffr = made["held_out"]["ffr"]
        assert (code, made["held_out"]["folds"], made["held_out"]["within_limits"]) == (0, 5, False), method
        assert ffr["estimate"] > 0.4
        assert ffr["low"] < ffr["estimate"] < ffr["high"]
        _, out, _ = called(capsys, unrelated(1), "--method", method)
        text = " ".join(out.split())
        share = f"{ffr['estimate']:.0%} against 25% ({round(ffr['estimate'] * ffr['n'])} of {ffr['n']} flagged)"
        assert f"The FFR limit is not kept on outputs held out: {share}." in text
    # A limit that is kept is not spoken of; one of 100% is kept by all that flags.
    _, out, _ = called(capsys, unrelated(1), "--ffr", "100%", "--coverage", "0")
    assert "not kept" not in out
    few = {**PROBLEM, "y": "01111"}
    _, out, _ = called(capsys, few, "--method", "all", "--ffr", "0")
    text = " ".join(out.split())
    assert "The FFR limit is not kept: 50% against 0% (2 of 4 flagged)." in text
    assert "There are too few examples to hold some out: on other outputs the figures may be worse." in text


def test_what_keeps_no_limits_is_explained_and_ends_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    problem = {**PROBLEM, "M": ["011", "110", "110", "111", "111"]}
    asked = ("--method", "cov", "--coverage", "1", "--ffr", "0.25")
    code, out, err = called(capsys, problem, *asked)
    assert (code, err) == (1, "")
    text = " ".join(out.split())
    assert text.startswith("No set of the 3 candidates has coverage of at least 100% and FFR of at most 25%.")
    assert "At this FFR the best coverage is 50% (1 of 2): candidates 0." in text
    assert "At this coverage the least FFR is 33% (1 of 3): candidates 0, 2." in text
    assert "Only candidates above the FFR limit catch these bad outputs: 1." in text
    code, out, _ = called(capsys, problem, *asked, "--json")
    result = json.loads(out)
    assert (code, result["feasible"], result["selection"], result["state"]) == (1, False, [], "infeasible")
    assert result["explanation"]["best_coverage"]["count"] == 1
    assert result["explanation"]["labels_to_check"] == {"bad": [1], "good": []}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "this is not JSON: Expecting value (column 1)"),
        ("{", "this is not JSON"),
        ("[" * 100_000, "this is not JSON: it is nested too deeply"),
        ("[]", "a selection problem is a JSON object with n, m, y, M, K"),
        ("{}", "missing here: n, m, y, M, K"),
        ('{"n": NaN}', "this is not JSON: NaN is not JSON"),
        ({**PROBLEM, "n": 4}, "y has 5 labels and n is 4"),
        ({**PROBLEM, "n": -1}, "n is not a whole number, 0 or more"),
        ({**PROBLEM, "m": True}, "m is not a whole number, 0 or more"),
        ({**PROBLEM, "m": 10**9}, "up to 5000 candidates can be chosen from"),
        ({**PROBLEM, "y": "00112"}, "y has values other than 0 (bad) and 1 (good)"),
        ({**PROBLEM, "y": [0, 0, 1, 1, None]}, "y is neither a text nor a list of 0 and 1"),
        ({**PROBLEM, "M": ["011"]}, "M has 1 row for 5 labels"),
        ({**PROBLEM, "M": "011"}, "M is not a list"),
        ({**PROBLEM, "M": ["011", "101", "110", "11", "111"]}, "row 3 of M has 2 values"),
        ({**PROBLEM, "M": ["011", "101", "110", "11x", "111"]}, "row 3 of M has values other"),
        ({**PROBLEM, "K": [[0, 3]]}, "K names candidate 3; the candidates are 0 to 2"),
        ({**PROBLEM, "K": [[0, -1]]}, "K names candidate -1"),
        ({**PROBLEM, "K": [[0]]}, "entry 0 of K is not a pair"),
        ({**PROBLEM, "K": [[0, 1.0]]}, "entry 0 of K is not a pair"),
        ({**PROBLEM, "K": {}}, "K is not a list"),
        ({**PROBLEM, "names": ["a", "b"]}, "there are 2 names for 3 candidates"),
        ({**PROBLEM, "names": ["a", "b", "a"]}, "the name 'a' occurs twice"),
        ({**PROBLEM, "names": ["a" * 9999, "b", "a" * 9999]}, "aaa…' occurs twice; give each candidate its own"),
        ({"pipelines": {"a" * 9999: PROBLEM, "b\n": PROBLEM}}, "aaa…, b"),
        ({**PROBLEM, "weights": [1, 1, -1]}, "a weight is negative"),
        ({**PROBLEM, "weights": [1, 1, 1e-9]}, "a weight is not a number up to 1,000,000"),
        ({**PROBLEM, "must": ["nobody"]}, "must names a candidate that is not there: 'nobody'"),
        ({**PROBLEM, "must": [1], "must_not": [1]}, "candidate 1 is in must and in must_not"),
    ],
)
def test_a_bad_file_is_one_sentence_and_2(capsys: pytest.CaptureFixture[str], content: object, sentence: str) -> None:
    code, out, err = called(capsys, content)
    assert (code, out) == (2, "")
    assert err.startswith("promptpex: problem.json: ")
    assert len(err.splitlines()) == 1
    assert sentence in err


def test_a_file_that_is_not_there_or_a_folder_is_one_sentence_and_2(capsys: pytest.CaptureFixture[str]) -> None:
    Path("folder").mkdir()
    for source in ("nowhere.json", "folder"):
        assert run_cli(["select", source]) == 2
        assert capsys.readouterr().err.startswith(f"promptpex: {source}: ")
    for flag in ("--coverage", "--ffr"):
        assert called(capsys, PROBLEM, flag, "1.5")[0] == 2
        assert called(capsys, PROBLEM, "--time-limit", "nan")[0] == 2
