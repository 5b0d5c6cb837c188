"""Reading a run's folder as columns: the same tables and the same errors as with a record a line."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from promptpex import tables
from promptpex.codecs.jsonl import dump_record
from promptpex.core.errors import RunError
from promptpex.core.records import Output, TokenLogprob, Verdict
from promptpex.report import runs
from tests.tables.by_hand import colours, output, run, verdict

ODD = ["", "\x00", "a", "a\x00", "\ud800", "\\ud800", "\udfff\ud800", "\ud83d\ude00", "a\u2028b", "\u2029", "\u0085"]
ODD += ["\n", "\r\n", "\x1f", "\x7f", "\ufeff", "\ufffe", "null", '"', "\\", "e\u0301", "\u202e", "x" * 500]
TEXT = st.sampled_from(ODD) | st.text(st.characters(), max_size=20)
SHARE = st.none() | st.floats(allow_nan=False)
COUNT = st.none() | st.integers(-(2**53), 2**53)
VERDICTS = st.builds(
    Verdict,
    case=st.sampled_from(["c1", "c2", "gone"]) | TEXT,
    model=TEXT,
    repeat=st.integers(0, 3),
    rule=TEXT,
    status=st.sampled_from(["pass", "fail", "unscored"]),
    reason=TEXT,
    unscored=st.none() | TEXT,
    source=TEXT,
    fingerprint=TEXT,
    confidence=SHARE,
    counts=st.booleans(),
    turn=st.integers(0, 3),
)
OUTPUTS = st.builds(
    Output,
    case=st.sampled_from(["c1", "c2", "gone"]) | TEXT,
    model=TEXT,
    repeat=st.integers(0, 3),
    text=st.none() | TEXT,
    error=st.none() | TEXT,
    message=st.none() | TEXT,
    request=st.none() | TEXT,
    finish_reason=st.none() | TEXT,
    tokens_in=COUNT,
    tokens_out=COUNT,
    cost_usd=SHARE,
    latency_ms=SHARE,
    model_reported=st.none() | TEXT,
    logprobs=st.just((TokenLogprob(token="a", logprob=-0.5, top=(("b", -1.0),)),)) | st.none(),
)


LINES = 5_000


@pytest.fixture(autouse=True)
def collector_on() -> Iterator[None]:
    gc.enable()
    yield
    gc.enable()


def cells(frame: pd.DataFrame, name: str) -> list[Any]:
    return list(frame[name].astype(object).where(frame[name].notna(), None))


@settings(deadline=None, max_examples=30)
@given(verdicts=st.lists(VERDICTS, max_size=6), outputs=st.lists(OUTPUTS, max_size=4))
@example(verdicts=[verdict(reason=text, unscored=text) for text in ODD], outputs=[output(text=text) for text in ODD])
def test_the_tables_are_those_of_the_records(
    tmp_path_factory: pytest.TempPathFactory, verdicts: list[Verdict], outputs: list[Output]
) -> None:
    folder = tmp_path_factory.mktemp("run")
    outputs = [*outputs, *(Output(case=one.case, model=one.model, repeat=one.repeat) for one in verdicts)]
    runs.finish(folder, run(outputs, verdicts))
    records, columns = runs.read(folder), runs.read_for_report(folder)
    # Two surrogates side by side come back as the one character that they stand for, so the lines are what counts.
    verdicts = [Verdict.model_validate(json.loads(dump_record(one))) for one in verdicts]
    outputs = [Output.model_validate(json.loads(dump_record(one))) for one in outputs]
    assert records == run(outputs, verdicts)
    cube, rows = tables.verdicts(columns), tables.outputs(columns)
    pd.testing.assert_frame_equal(cube, tables.verdicts(records), check_exact=True)
    pd.testing.assert_frame_equal(rows, tables.outputs(records), check_exact=True)
    assert {name: str(kind) for name, kind in cube.dtypes.items()} == dict(tables.VERDICT_COLUMNS)
    assert {name: str(kind) for name, kind in rows.dtypes.items()} == dict(tables.OUTPUT_COLUMNS)
    for field in Verdict.model_fields:
        assert cells(cube, field) == [getattr(one, field) for one in verdicts]
    for name in ("case", "output", "message", "tokens_in", "cost_usd"):
        assert cells(rows, name) == [getattr(one, {"output": "text"}.get(name, name)) for one in outputs]


def test_everything_but_the_lines_is_as_in_the_records(tmp_path: Path) -> None:
    runs.finish(tmp_path, colours())
    records, columns = runs.read(tmp_path), runs.read_for_report(tmp_path)
    assert all(getattr(columns, name) == getattr(records, name) for name in ("manifest", "prompt", "spec", "suite"))


def test_an_empty_and_a_missing_file_hold_nothing(tmp_path: Path) -> None:
    runs.begin(tmp_path, colours())
    (tmp_path / "verdicts.jsonl").write_bytes(b"")
    read = runs.read_for_report(tmp_path)
    assert len(tables.verdicts(read)) == len(tables.outputs(read)) == 0


@pytest.mark.parametrize("cut", [1, 2, 30])
def test_a_line_cut_by_a_crash_is_left_out(tmp_path: Path, cut: int) -> None:
    made = colours()
    runs.finish(tmp_path, made)
    whole = (tmp_path / "verdicts.jsonl").read_bytes()
    (tmp_path / "verdicts.jsonl").write_bytes(whole[:-cut])
    assert len(tables.verdicts(runs.read_for_report(tmp_path))) == len(made.verdicts) - 1


DAMAGE = {
    b"{\n": "Expecting property name",
    b"\n": "Expecting value",
    b"[]\n": "valid dictionary or instance of Verdict",
    b"[" * 100_000 + b"\n": "",
    b'{"case": "c1"}\n': "model: Field required",
    b'{"case": "c1", "model": "m", "rule": "r1", "status": "pass", "source": "x", "colour": 1}\n': "colour: Extra",
    b'{"case": "c1", "model": "m", "rule": "r1", "status": "maybe", "source": "x"}\n': "status: Input should be 'pass'",
    b'{"case": "c1", "model": "m", "rule": "r1", "status": "pass", "source": null}\n': "source: Input should be",
    b'{"case": "c1", "model": "m", "rule": "r1", "status": "pass", "source": "x"} x\n': "Extra data",
    b'{"case": "\xff"}\n': "can't decode byte 0xff",
    b'{"case": "a\x01"}\n': "control character",
    b"\xef\xbb\xbf{}\n": "BOM",
}


@pytest.mark.parametrize("read", [runs.read, runs.read_for_report])
@pytest.mark.parametrize(("damage", "why"), DAMAGE.items(), ids=range(len(DAMAGE)))
def test_a_damaged_line_is_named_with_its_number_and_the_reason(
    tmp_path: Path, read: Callable[[Path], Any], damage: bytes, why: str
) -> None:
    runs.begin(tmp_path, colours())
    good = dump_record(verdict(reason="\u2028 \u0085 \ud800 two\nlines")).encode("utf-8")
    (tmp_path / "verdicts.jsonl").write_bytes(good * 4100 + damage + good)
    with pytest.raises(RunError) as caught:
        read(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / 'verdicts.jsonl'}:4101: is damaged (")
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)
    assert gc.isenabled()


def test_no_run_is_the_same_error_as_with_records(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"no run here: manifest\.json is missing"):
        runs.read_for_report(tmp_path)
    assert gc.isenabled()


@pytest.mark.parametrize("read", [runs.read, runs.read_for_report])
def test_the_collector_rests_while_many_lines_are_read(tmp_path: Path, read: Callable[[Path], Any]) -> None:
    runs.finish(tmp_path, run([output()], [verdict(reason=f"number {n}") for n in range(LINES)]))
    seen: list[str] = []

    def collected(phase: str, info: dict[str, int]) -> None:
        seen.append(phase)

    threshold = gc.get_threshold()
    gc.collect()
    gc.callbacks.append(collected)
    gc.set_threshold(LINES // 10)
    try:
        read(tmp_path)
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(collected)
    assert seen.count("start") <= 2
    assert gc.isenabled()


def test_verdicts_that_are_not_wanted_are_not_read(tmp_path: Path) -> None:
    made = colours()
    runs.finish(tmp_path, made)
    (tmp_path / "verdicts.jsonl").write_bytes(b"{\n")
    assert runs.read(tmp_path, verdicts=False) == made.replace(verdicts=())
    with pytest.raises(RunError):
        runs.read(tmp_path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT, lambda inner: st.lists(inner, max_size=2)
)


@settings(deadline=None, max_examples=30)
@given(field=st.sampled_from([*Verdict.model_fields, "colour"]), value=JSON, again=st.booleans())
@example(field="repeat", value="1", again=False)
@example(field="repeat", value=1.0, again=False)
@example(field="counts", value="yes", again=False)
@example(field="confidence", value=float("nan"), again=False)
def test_a_line_is_read_or_refused_as_python_reads_json(
    tmp_path_factory: pytest.TempPathFactory, field: str, value: Any, again: bool
) -> None:
    folder = tmp_path_factory.mktemp("run")
    runs.begin(folder, colours())
    whole = json.dumps({**verdict().model_dump(), field: value})
    text = whole.replace("{", f'{{"{field}": "x", ', 1) if again else whole
    (folder / "verdicts.jsonl").write_text(f"{text}\n", encoding="utf-8")
    try:
        read = Verdict.model_validate(json.loads(text))
    except ValueError:
        with pytest.raises(RunError):
            runs.read_for_report(folder)
    else:
        of = Output(case=read.case, model=read.model, repeat=read.repeat)
        (folder / "outputs.jsonl").write_text(dump_record(of), encoding="utf-8")
        kept = tables.verdicts(runs.read_for_report(folder))
        assert {name: cells(kept, name)[0] for name in Verdict.model_fields} == {
            name: None if value != value else value for name, value in read
        }
