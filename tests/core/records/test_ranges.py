"""Numbers that cannot be true come from servers and foreign stores; no record keeps them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from promptpex import tables
from promptpex.core.records import MAX_EXACT, MAX_TOKENS_COUNTED, Completion, Output, Request, Run, Verdict
from promptpex.llm.providers.openai_format import completion_of
from promptpex.report import runs
from promptpex.tables import StoredRun
from tests.tables.by_hand import colours

TOO_MUCH = [MAX_EXACT + 1, 2**63, 2**64, 10**30, -1]


@pytest.mark.parametrize("count", [*TOO_MUCH, MAX_TOKENS_COUNTED + 1])
def test_a_count_out_of_range_is_unknown(count: int) -> None:
    usage = {"prompt_tokens": count, "completion_tokens": 7}
    completion = completion_of({"choices": [{"message": {"content": "x"}}], "usage": usage}, model="m")
    assert (completion.tokens_in, completion.tokens_out) == (None, 7)
    stored = Completion.model_validate_json(json.dumps({"text": "x", "tokens_in": 3, "tokens_out": count}))
    assert (stored.tokens_in, stored.tokens_out) == (3, None)
    assert Output(case="c", model="m", tokens_in=count).tokens_in is None


@pytest.mark.parametrize("amount", ["1e999", "1e308", "-1e9", "NaN", "Infinity"])
def test_an_amount_out_of_range_is_unknown(amount: str) -> None:
    text = f'{{"text": "x", "cost_usd": {amount}, "latency_ms": {amount}}}'
    for completion in (Completion.model_validate_json(text), Completion.model_validate(json.loads(text))):
        assert completion.cost_usd is None
        assert completion.latency_ms is None
    assert Completion(text="x", cost_usd=0.25, latency_ms=0.0).cost_usd == 0.25


@pytest.mark.parametrize("number", TOO_MUCH)
def test_a_repeat_out_of_range_is_refused(number: int) -> None:
    with pytest.raises(ValidationError):
        Output(case="c", model="m", repeat=number)
    with pytest.raises(ValidationError):
        Request(model="m", messages=(), repeat=number)
    with pytest.raises(ValidationError):
        Verdict(case="c", model="m", rule="r", status="pass", source="none", turn=number)


@pytest.mark.parametrize("count", [MAX_TOKENS_COUNTED, 2**53])
def test_sums_of_tokens_do_not_wrap(count: int) -> None:
    """2,048 times 2^53 is 2^64, which is 0 in 64 bits."""
    outputs = [Output(case=f"c{number}", model="m", tokens_in=count).model_dump() for number in range(2048)]
    tokens = tables.Table.of(outputs, {"tokens_in": "Int64"})["tokens_in"]
    known = count == MAX_TOKENS_COUNTED
    assert tokens.notna().all() == known
    assert tokens.sum() == (2048 * count if known else 0)


@pytest.mark.parametrize("read", [runs.read, runs.read_for_report])
def test_a_folder_with_such_numbers_makes_tables(tmp_path: Path, read: Callable[[Path], Run | StoredRun]) -> None:
    runs.begin(tmp_path, colours())
    line: dict[str, Any] = {"case": "c1", "model": "a", "text": "x", "tokens_in": 10**30, "tokens_out": 2}
    (tmp_path / "outputs.jsonl").write_text(json.dumps(line | {"latency_ms": math.inf}) + "\n", encoding="utf-8")
    frame = tables.outputs(read(tmp_path))
    assert frame[["tokens_in", "latency_ms"]].isna().all(axis=None)
    assert frame["tokens_out"].tolist() == [2]
