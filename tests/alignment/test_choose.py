"""The choice by alignment, held against trying everything."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.alignment.choose import (
    LEAST_KNOWN,
    Contender,
    CriterionChoice,
    CriterionEvidence,
    GradedOutputs,
    Wanted,
    choose,
)


def bits(signs: str) -> int:
    """The places of 1 in a text."""
    return sum(1 << place for place, sign in enumerate(signs) if sign == "1")


def one(contenders: list[Contender], graded: GradedOutputs, **wanted: object) -> CriterionChoice:
    """The choice for the criterion c."""
    (choice,) = choose([Wanted("c", **wanted)], contenders, graded)  # type: ignore[arg-type]
    return choice


def contender(name: str, fails: str, *order: float, **more: object) -> Contender:
    return Contender(name, ("c",), bits(fails), order, **more)  # type: ignore[arg-type]


TEN = GradedOutputs(bad=bits("1111000000"), good=bits("0000111111"))
"""Four bad outputs, six good ones."""


def test_the_best_aligned_candidate_within_the_limit_is_chosen() -> None:
    wide = contender("wide", "1111110000")
    narrow = contender("narrow", "1100000000")
    better = contender("better", "1110100000")
    choice = one([wide, narrow, better], TEN)
    assert choice.chosen == ("better",)
    state = {rated.contender.id: rated.state for rated in choice.rated}
    assert state == {"better": "chosen", "wide": "above-limit", "narrow": "worse"}
    assert one([wide, narrow, better], TEN, limit=Fraction(1, 3)).chosen == ("wide",)
    assert one([wide, narrow, better], TEN, limit=Fraction(0)).chosen == ("narrow",)


def test_limits_are_compared_as_whole_numbers_of_outputs() -> None:
    hundred = GradedOutputs(bad=1, good=((1 << 100) - 1) << 1)
    flags_29 = Contender("a", ("c",), 1 | ((1 << 29) - 1) << 1)
    assert one([flags_29], hundred, limit=Fraction(29, 100)).chosen == ("a",)
    assert one([flags_29], hundred, limit=Fraction(28, 100)).chosen == ()


def test_equals_are_decided_by_code_first_and_then_by_fewer_questions() -> None:
    judge, asks_twice, code = (
        contender("judge", "1100000000", 2, 1),
        contender("twice", "1100000000", 2, 2),
        contender("code", "0011000000", 0, 0),
    )
    assert one([asks_twice, judge, code], TEN).chosen == ("code",)
    assert one([asks_twice, judge], TEN).chosen == ("judge",)


def test_a_criterion_without_a_good_candidate_has_none_and_says_what_is_nearest() -> None:
    wide, idle = contender("wide", "1111110000"), contender("idle", "0000100000")
    choice = one([wide, idle], TEN)
    assert choice.chosen == ()
    assert choice.nearest is not None
    assert choice.nearest.contender.id == "wide"
    assert [rated.state for rated in choice.rated] == ["above-limit", "catches-nothing"]
    assert one([], TEN).nearest is None


def test_a_criterion_that_must_be_decided_takes_the_best_aligned_beyond_its_limit() -> None:
    wide, idle = contender("wide", "1111110000"), contender("idle", "0000100000")
    assert one([wide, idle], TEN, must=True).chosen == ("wide",)
    assert one([idle], TEN, must=True).chosen == ()


def test_a_persons_word_on_a_candidate_counts() -> None:
    better = contender("better", "1110000000")
    wished = contender("wished", "0000110000", wish="must")
    assert set(one([better, wished], TEN).chosen) == {"better", "wished"}
    refused = contender("refused", "1111000000", wish="never")
    choice = one([better, refused], TEN)
    assert choice.chosen == ("better",)
    assert {rated.contender.id: rated.state for rated in choice.rated}["refused"] == "refused"


@pytest.mark.parametrize("graded", [GradedOutputs(0, 0b11), GradedOutputs(0b11, 0), GradedOutputs(0, 0)])
def test_without_good_or_bad_outputs_nothing_can_be_compared(graded: GradedOutputs) -> None:
    choice = one([contender("a", "1000000000")], graded, must=True)
    assert choice.chosen == ()
    assert [rated.state for rated in choice.rated] == ["not-comparable"]
    assert choice.rated[0].alignment is None


def test_what_a_bad_output_says_of_a_single_criterion() -> None:
    graded = GradedOutputs(
        bad=bits("1111000000"),
        good=bits("0000111000"),
        own={"c": (bits("1000000001"), bits("0100000100")), "d": (bits("0010000000"), 0)},
    )
    evidence = graded.evidence("c")
    # Graded on c itself; 2 is d's fault, 3 could be anybody's.
    assert evidence == CriterionEvidence(bits("1000000001"), bits("0100111100"), bits("0001000000"))
    assert graded.evidence("e").suspects == bits("0101000000")
    assert evidence.basis == "known-and-suspect"
    assert evidence.to_catch == bits("1001000001")


def test_what_is_graded_bad_on_the_criterion_itself_counts_alone_once_it_is_enough() -> None:
    known = (1 << LEAST_KNOWN) - 1
    graded = GradedOutputs(bad=(1 << 20) - 1, good=0b11 << 20, own={"c": (known, 0)})
    assert graded.evidence("c").basis == "known"
    assert graded.evidence("c").to_catch == known
    fewer = GradedOutputs(bad=(1 << 20) - 1, good=0b11 << 20, own={"c": (known >> 1, 0)})
    assert fewer.evidence("c").to_catch == (1 << 20) - 1


@given(
    fails=st.lists(st.integers(0, 2**12 - 1), min_size=1, max_size=6),
    bad=st.integers(0, 2**12 - 1),
    labelled=st.integers(0, 2**12 - 1),
    limit=st.fractions(0, 1, max_denominator=20),
)
def test_no_candidate_within_the_limit_is_better_aligned(
    fails: list[int], bad: int, labelled: int, limit: Fraction
) -> None:
    graded = GradedOutputs(bad & labelled, labelled & ~bad)
    contenders = [Contender(f"a{number}", ("c",), failed, (number,)) for number, failed in enumerate(fails)]
    choice = one(contenders, graded, limit=limit)
    bads = [place for place in range(12) if graded.bad >> place & 1]
    goods = [place for place in range(12) if graded.good >> place & 1]
    best, name = 0.0, None
    for each in contenders:
        caught = sum(each.fails >> place & 1 for place in bads)
        flagged = sum(each.fails >> place & 1 for place in goods)
        if bads and goods and caught and Fraction(flagged, len(goods)) <= limit:
            coverage, kept = caught / len(bads), 1 - flagged / len(goods)
            value = 2 * coverage * kept / (coverage + kept)
            if name is None or value > best + 1e-12:
                best, name = value, each.id
    assert choice.chosen == ((name,) if name else ())
