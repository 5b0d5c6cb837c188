from __future__ import annotations

import weakref
from collections.abc import Iterator

from promptpex.records import Columns, Output, TokenLogprob, Verdict
from tests.tables.by_hand import output, verdict


def test_a_column_per_field_in_the_order_of_the_records() -> None:
    made = Columns.of([verdict("fail", "r2", reason="two words"), verdict(confidence=0.5)], Verdict)
    assert list(made.values) == list(Verdict.model_fields)
    assert made["rule"] == ["r2", "r1"]
    assert made["reason"] == ["two words", ""]
    assert made["confidence"] == [None, 0.5]
    assert len(made) == 2
    assert Columns.of(made, Verdict) is made


def test_no_records_are_columns_of_nothing() -> None:
    made = Columns.of([], Output)
    assert len(made) == 0
    assert made["text"] == []


def test_log_probabilities_are_left_out() -> None:
    made = Columns.of([output(logprobs=(TokenLogprob(token="a", logprob=-1.0),))], Output)
    assert "logprobs" not in made.values


def test_equal_texts_are_one_object_and_numbers_keep_their_kind_and_sign() -> None:
    def texts() -> Iterator[Verdict]:
        for sure in (0.0, -0.0, 1.0, None):
            yield verdict(reason="".join(["two ", "words"]), confidence=sure, turn=1, counts=True)

    made = Columns.of(texts(), Verdict)
    assert len({id(reason) for reason in made["reason"]}) == 1
    assert [str(sure) for sure in made["confidence"]] == ["0.0", "-0.0", "1.0", "None"]
    assert {type(turn) for turn in made["turn"]} == {int}
    assert {type(counts) for counts in made["counts"]} == {bool}


def test_records_that_come_one_by_one_are_not_kept() -> None:
    alive: list[weakref.ref[Verdict]] = []

    def coming() -> Iterator[Verdict]:
        for n in range(3):
            assert not any(one() for one in alive[:-1])
            made = verdict(reason=f"number {n}")
            alive.append(weakref.ref(made))
            yield made

    assert Columns.of(coming(), Verdict)["reason"] == ["number 0", "number 1", "number 2"]
    assert not any(one() for one in alive)
