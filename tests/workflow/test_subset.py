"""Parts of a suite: which cases are chosen, in which order, what is said of it, and what is refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from promptpex.core.errors import InputError
from promptpex.core.records import Case, Suite
from promptpex.workflow.execution.subset import WHOLE, FailedCases, Subset, failed_cases, part_of

RULES = ("r1", "r2", "r9")
KINDS = (("r1", False, 6), ("r1", True, 4), ("r2", False, 2), (None, False, 2))
CASES = [
    Case(id=f"{rule or 'n'}-{number}{'i' if inverse else ''}", rule=rule, inverse=inverse, inputs={"x": "y"})
    for rule, inverse, count in KINDS
    for number in range(count)
]
SUITE = Suite(prompt="p.md", cases=(*CASES, Case(id="aside", rule="r2", inputs={"x": "y"}, aside="kept 14")))


def chosen(subset: Subset, failed: FailedCases | None = None, seed: int = 0) -> tuple[list[str], str]:
    suite, note = part_of(SUITE, subset, rules=RULES, seed=seed, failed=failed)
    return [case.id for case in suite.cases], note.in_words if note else ""


@pytest.mark.parametrize(
    ("subset", "ids", "words"),
    [
        (Subset(cases=("r2-1", "r1-0")), ["r1-0", "r2-1"], "2 of 14 cases: cases r2-1, r1-0"),
        (Subset(cases=("n-?",)), ["n-0", "n-1"], "2 of 14 cases: case n-?"),
        (Subset(rules=("r2",)), ["r2-0", "r2-1"], "2 of 14 cases: rule r2"),
        (Subset(rules=("r1-inverse",), first=1), ["r1-0i"], "1 of 14 cases: rule r1-inverse; the first 1"),
        (Subset(first=2), ["r1-0", "r1-1"], "2 of 14 cases: the first 2"),
        (Subset(rules=("r1", "r2"), cases=("*-1*",)), ["r1-1", "r1-1i", "r2-1"], "3 of 14 cases"),
    ],
)
def test_what_is_chosen_and_how_it_is_said(subset: Subset, ids: list[str], words: str) -> None:
    assert chosen(subset)[0] == ids
    assert words in chosen(subset)[1]


def test_all_of_the_suite_is_no_part_of_it() -> None:
    for subset in (WHOLE, Subset(first=14), Subset(sample=99), Subset(cases=("*",))):
        assert part_of(SUITE, subset, rules=RULES, seed=0) == (SUITE, None)


def test_a_sample_is_drawn_evenly_and_keeps_the_order_of_the_suite() -> None:
    ids, words = chosen(Subset(sample=7))
    assert words == "7 of 14 cases: sample of 7 cases, seed 0"
    counts = Counter((case.rule, case.inverse) for case in CASES if case.id in ids)
    assert [counts[rule, inverse] for rule, inverse, _ in KINDS] == [3, 2, 1, 1]
    assert ids == sorted(ids, key=[case.id for case in SUITE.cases].index)
    assert {tuple(chosen(Subset(sample=7), seed=seed)[0]) for seed in range(5)} != {tuple(ids)}


def test_only_what_failed_and_is_still_there() -> None:
    failed = FailedCases("abc", frozenset(("r1-3", "gone")))
    assert chosen(Subset(only_failed=True), failed) == (["r1-3"], "1 of 14 cases: failed or unscored in run abc")
    with pytest.raises(InputError, match="no case is left to run: failed or unscored in run abc"):
        chosen(Subset(only_failed=True), FailedCases("abc", frozenset(("gone",))))


@pytest.mark.parametrize(
    ("subset", "sentence"),
    [
        (Subset(cases=("r1_0",)), "there is no case 'r1_0'; did you mean 'r1-0'"),
        (Subset(cases=("z*",)), r"no case fits 'z\*'"),
        (Subset(cases=("aside",)), "there is no case 'aside'"),
        (Subset(rules=("r11",)), "there is no rule 'r11'; did you mean"),
        (Subset(rules=("r9",)), "no case is for r9; `promptpex generate` makes some"),
        (Subset(rules=("r2-inverse",)), "no case is for r2-inverse"),
        (Subset(rules=("r2",), cases=("r1-0",)), "no case is left to run: case r1-0; rule r2"),
    ],
)
def test_what_is_not_there_is_named_with_what_was_meant(subset: Subset, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        chosen(subset)


def test_without_a_run_nothing_has_failed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no run of p yet, which --only-failed needs"):
        failed_cases(tmp_path, "p", print)
