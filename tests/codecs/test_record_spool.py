"""Records that wait in a file come back as they were, from wherever they were put."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from promptpex.codecs.record_spool import RecordSpool, SpillFile
from promptpex.core.errors import RunError
from promptpex.core.records import Output, TokenLogprob

TEXTS = ("plain", "two\nlines\r\nand \u2028 more", "half of a character: \ud800", "\x1b[31m", "", "ü" * 300)


def outputs(place: int, count: int) -> list[Output]:
    tokens = (TokenLogprob(token="a", logprob=-0.1),)
    return [
        Output(case=f"c{place}", model="m", repeat=n, text=TEXTS[(place + n) % len(TEXTS)], logprobs=tokens)
        for n in range(count)
    ]


@pytest.mark.parametrize("most_in_memory", [1, 2_000, 10**6])
def test_records_come_back_from_their_places_in_whatever_order_they_were_put(
    tmp_path: Path, most_in_memory: int
) -> None:
    spool = SpillFile(tmp_path, most_in_memory=most_in_memory)
    first, second = RecordSpool(spool, Output), RecordSpool(spool, Output)
    order = random.Random(0).sample(range(60), 40)
    for number, place in enumerate(order):
        first.put(place, outputs(place, place % 4))
        second.put(number, outputs(number, 1))
        assert first.at(order[number // 2]) == outputs(order[number // 2], order[number // 2] % 4)
    assert list(first.places()) == sorted(order)
    assert list(first) == [output for place in sorted(order) for output in outputs(place, place % 4)]
    assert list(second) == [output for number in range(40) for output in outputs(number, 1)]
    assert len(first) == sum(place % 4 for place in order)
    assert len(list(first.all_lines())) == len(first)
    assert [first.at(place) for place in sorted({*range(60), 10**6} - set(order))] == [[]] * 21
    spool.close()


def test_a_folder_that_cannot_hold_it_is_named(tmp_path: Path) -> None:
    spool = RecordSpool(SpillFile(tmp_path / "gone", most_in_memory=1), Output)
    with pytest.raises(RunError, match=r"gone: cannot keep what is not finished yet \(No such file or directory\)"):
        spool.put(0, outputs(0, 2))
