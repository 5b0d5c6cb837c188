"""Files that are read where they are checked: what comes of them is what one process makes of them, byte for byte."""

from __future__ import annotations

import asyncio
import gzip
import json
import pickle
from collections.abc import AsyncGenerator, Iterable
from pathlib import Path

import pytest

from promptpex.assertions import assertion_file, batch
from promptpex.assertions.batch import json_lines
from promptpex.assertions.rows_to_check import read_all
from promptpex.core.errors import CheckError
from promptpex.engines import Engine, Job, LocalEngine
from promptpex.engines.in_process import Item, Result
from promptpex.workflow.checks import reports_by_code

CHECKS = "- {type: contains, value: hello}\n"
ROWS = [
    json.dumps({"output": f"{number} hello"[: 3 + number % 9], "id": number} if number % 3 else {"output": "x"})
    for number in range(40)
]


class Elsewhere:
    """Does as other processes do: all that goes there and comes back is pickled."""

    def __init__(self) -> None:
        self.items: list[object] = []

    async def map(self, job: Job[Item, Result], items: Iterable[Item]) -> list[Result]:
        raise AssertionError("not used here")

    async def stream(self, job: Job[Item, Result], items: Iterable[Item]) -> AsyncGenerator[Result, None]:
        async with pickle.loads(pickle.dumps(job)).open() as worker:
            for item in items:
                self.items.append(item)
                yield pickle.loads(pickle.dumps(await worker(pickle.loads(pickle.dumps(item)))))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of files; parts of them are small."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(batch, "PART_BYTES", 100)
    monkeypatch.setattr(batch, "PART_ROWS", 4)
    (tmp_path / "checks.yaml").write_text(CHECKS)
    text = "\ufeff" + "\n".join([*ROWS[:7], "", "  ", *ROWS[7:]])
    (tmp_path / "plain.jsonl").write_text(text)
    (tmp_path / "ended.jsonl").write_text("\n".join(ROWS[:9]) + "\n")
    (tmp_path / "packed.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    pieces = [gzip.compress("".join(f"{row}\n" for row in ROWS[at : at + 5]).encode()) for at in range(0, 40, 5)]
    (tmp_path / "pieces.jsonl.gz").write_bytes(b"".join([*pieces, gzip.compress(b"")]))
    (tmp_path / "long.jsonl").write_text("\n".join([ROWS[1], json.dumps({"output": "hello" * 100}), *ROWS[2:5]]))
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "rows.csv").write_text("id,output\n" + "".join(f'x{n},"{n}\nhello"\n' for n in range(13)))
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(b"output\n" + b"hello\nbye\n" * 20))
    return tmp_path


NAMES = ["plain.jsonl", "ended.jsonl", "packed.jsonl.gz", "pieces.jsonl.gz", "long.jsonl", "empty.jsonl", "rows.csv"]
FILES = [Path(name) for name in [*NAMES, "rows.csv.gz"]]


def checked(engine: Engine, *files: Path) -> tuple[str, str]:
    """What is printed of the rows, and the error that ends it."""

    async def printed() -> tuple[str, str]:
        checks, reports = assertion_file.read(Path("checks.yaml")), list[str]()
        try:
            async for each in reports_by_code(engine, checks, read_all(files), files):
                reports += json_lines(each)
        except CheckError as error:
            return "".join(reports), str(error)
        return "".join(reports), ""

    return asyncio.run(printed())


def test_files_give_the_same_in_parts_as_in_one_process(folder: Path) -> None:
    for file in FILES:
        assert checked(Elsewhere(), file) == checked(LocalEngine(), file), file
    engine = Elsewhere()
    together = checked(engine, *FILES)
    assert together == checked(LocalEngine(), *FILES)
    assert len(together[0].splitlines()) == 40 + 9 + 40 + 40 + 5 + 0 + 13 + 40
    assert '"id": "pieces.jsonl.gz:40"' in together[0]
    assert len(engine.items) > len(together[0].splitlines()) / 4, "some rows at a time"


def test_parquet_is_read_by_its_row_groups(folder: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed (the extra parquet)")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = arrow.table({"output": [f"{number} hello" for number in range(30)], "id": [None, "a", "b"] * 10})
    parquet.write_table(table, "rows.parquet", row_group_size=7)
    file = Path("rows.parquet")
    assert checked(Elsewhere(), file, file) == checked(LocalEngine(), file, file)
    data = bytearray(file.read_bytes())
    data[300:340] = b"\0" * 40
    file.write_bytes(data)
    here = checked(LocalEngine(), file)
    assert "cannot be read as Parquet" in here[1]
    assert checked(Elsewhere(), file) == here


@pytest.mark.parametrize(
    ("name", "at", "bad"),
    [
        ("wrong.jsonl", 20, '{"id": "x", "output"'),
        ("wrong.jsonl", 30, "[1]"),
        ("wrong.jsonl", 39, '{"output": "x", "assert": 7, "cost": 1' + "0" * 5000 + "}"),
        ("wrong.jsonl.gz", 25, "{"),
        ("wrong.csv", 9, "1,2,3"),
        ("wrong.csv", 0, "1,2,3"),
    ],
)
def test_a_wrong_row_is_named_with_its_line_after_all_rows_before_it(
    name: str, at: int, bad: str, folder: Path
) -> None:
    rows = ["output,cost", *["hello,1"] * 40] if ".csv" in name else list(ROWS)
    data = "".join(f"{row}\n" for row in [*rows[:at], bad, *rows[at:]]).encode()
    file = folder / name
    file.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    here = checked(LocalEngine(), Path("ended.jsonl"), file, Path("plain.jsonl"))
    assert here[1].startswith(f"{file}:{at + 1}: "), here[1]
    assert len(here[0].splitlines()) == 9 + at - (at > 0 and ".csv" in name)
    assert checked(Elsewhere(), Path("ended.jsonl"), file, Path("plain.jsonl")) == here


@pytest.mark.parametrize("cut", [30, 500])
def test_a_damaged_packed_file_ends_at_the_same_row(cut: int, folder: Path) -> None:
    whole = gzip.compress("".join(f'{{"output": "{n * n} hello"}}\n' for n in range(4000)).encode())
    (folder / "cut.jsonl.gz").write_bytes(whole[: len(whole) * cut // 600])
    here = checked(LocalEngine(), Path("cut.jsonl.gz"))
    assert "it is cut off" in here[1]
    assert checked(Elsewhere(), Path("cut.jsonl.gz")) == here
