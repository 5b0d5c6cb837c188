from __future__ import annotations

import weakref
from array import array
from collections.abc import Iterator

from promptpex.core.records import Coded, Columns, Output, TokenLogprob, Verdict
from tests.tables.by_hand import output, verdict


def test_a_column_per_field_in_the_order_of_the_records() -> None:
    made = Columns.of([verdict("fail", "r2", reason="two words"), verdict(confidence=0.5)], Verdict)
    assert {*made.coded, *made.measures} == set(Verdict.model_fields)
    assert list(made["rule"]) == ["r2", "r1"]
    assert list(made["reason"]) == ["two words", ""]
    assert made["confidence"] == [None, 0.5]
    assert len(made) == len(made["rule"]) == 2
    assert Columns.of(made, Verdict) is made


def test_no_records_are_columns_of_nothing() -> None:
    made = Columns.of([], Output)
    assert len(made) == 0
    assert list(made["text"]) == list(made["cost_usd"]) == []


def test_log_probabilities_are_left_out() -> None:
    made = Columns.of([output(logprobs=(TokenLogprob(token="a", logprob=-1.0),))], Output)
    assert "logprobs" not in {*made.coded, *made.measures}


def test_a_value_that_comes_again_is_kept_once_and_keeps_its_kind_and_sign() -> None:
    judged = [verdict(reason="two words", confidence=sure, turn=1, counts=True) for sure in (0.0, -0.0, 1.0, None)]
    made = Columns.of([*judged, verdict(reason="")], Verdict)
    assert made.coded["reason"] == Coded(["two words", ""], array("i", [0, 0, 0, 0, 1]))
    assert [str(sure) for sure in made["confidence"]] == ["0.0", "-0.0", "1.0", "None", "None"]
    assert [type(value) for name in ("turn", "counts") for value in made.coded[name].values] == [int, int, bool]


def test_the_function_of_a_value_is_called_once() -> None:
    asked: list[str] = []

    def length(text: str) -> int:
        asked.append(text)
        return len(text)

    assert list(Coded(["a", "bcd"], [1, 0, 1, 1]).map(length)) == [3, 1, 3, 3]
    assert asked == ["a", "bcd"]


def test_records_that_come_one_by_one_are_not_kept() -> None:
    alive: list[weakref.ref[Verdict]] = []

    def coming() -> Iterator[Verdict]:
        for n in range(3):
            assert not any(one() for one in alive[:-1])
            made = verdict(reason=f"number {n}")
            alive.append(weakref.ref(made))
            yield made

    assert list(Columns.of(coming(), Verdict)["reason"]) == ["number 0", "number 1", "number 2"]
    assert not any(one() for one in alive)
