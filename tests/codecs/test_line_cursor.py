"""Ranges of a file of lines: whoever reads all of them, in any hands, has each line once."""

from __future__ import annotations

import gzip
import io
import tempfile
from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from promptpex.codecs.line_cursor import LineCursor

CONTENT = st.lists(st.sampled_from([b"\n", b"a", b"bb\n", b"\r\n", b"\xef\xbb\xbf", b"c" * 9]), max_size=30).map(
    b"".join
)


def cursor(path: Path, longest: int = 100) -> LineCursor:
    return LineCursor(path.open("rb"), path, longest=longest)


def whole(content: bytes) -> list[bytes]:
    """The lines of a text, without a byte order mark at its beginning."""
    return [line.removesuffix(b"\n") for line in io.BytesIO(content.removeprefix(b"\xef\xbb\xbf"))]


@given(content=CONTENT, cuts=st.lists(st.integers(0, 80), max_size=6), packed=st.booleans(), hands=st.integers(1, 3))
def test_every_line_is_in_one_range_whoever_reads_it(content: bytes, cuts: list[int], packed: bool, hands: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("x.gz" if packed else "x")
        path.write_bytes(gzip.compress(content) if packed else content)
        places = sorted({0, len(content) + 1, *(min(cut, len(content)) for cut in cuts)})
        readers = [cursor(path) for _ in range(hands)]
        lines_read, ends = list[bytes](), list[bool]()
        for at, (start, stop) in enumerate(pairwise(places)):
            reader = readers[at % hands]
            lines = list(reader.lines(start, stop))
            assert [line.number for line in lines] == list(range(1, len(lines) + 1))
            lines_read += [line.data for line in lines]
            ends += [line.is_whole for line in lines]
        assert not reader.more
        for each in readers:
            each.close()
    expected = whole(content)
    assert lines_read == (expected or [b""] * bool(content)), "a byte order mark alone is an empty line"
    assert ends.count(False) == (bool(content) and not content.endswith(b"\n"))


def test_a_longer_line_is_given_cut_and_its_rest_is_no_line(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"a\n" + b"b" * 50 + b"\nc\n")
    reader = cursor(path, longest=10)
    first, second = (next(lines) for lines in [reader.lines(0, 5)] for _ in range(2))
    assert (first.data, len(second.data)) == (b"a", 12)
    reader.close()
    again = cursor(path, longest=10)
    assert [line.data for line in again.lines(5, 99)] == [b"c"]
    again.close()
