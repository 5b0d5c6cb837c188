"""``promptpex check --workers N``: what one process prints, N do; and they end with the command, however it ends."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest

from promptpex.assertions.batch import CHUNK
from promptpex.cli.main import run_cli
from tests.e2e.command import environment
from tests.fork_server.start import forking

CHECKS = """
threshold: 0.5
vars: {word: hello}
assert:
  - {type: contains, value: '{{word}}', misspelt: 1}
  - {type: regex, value: '\\d+{{word}}?'}
  - {type: javascript, value: 'output.length > 8 ? {pass: true, score: 1, reason: context.vars.word} : false'}
  - {type: assert-set, assert: [{type: icontains, value: HELLO}, {type: cost, threshold: 1}]}
"""
ENDLESS = '- {kind: javascript, value: "const end = Date.now() + 300; while (Date.now() < end) {} return true"}\n'


def rows(count: int) -> list[dict[str, object]]:
    """Rows of every sort: with and without assertions of their own, some that cannot be checked."""
    odd: list[dict[str, object]] = [
        {"output": None},
        {"output": {"deep": [1, {"x": "hello 7"}]}, "id": ["a", 1]},
        {"output": "hello", "error": "timed-out", "message": "too late"},
        {"output": "x", "assert": "no list"},
        {"output": "[2, 1]", "assert": [{"type": "expected"}], "expected": [1, 2], "match": "set"},
        {"output": "x\ud800 hello", "assert": [{"type": "nosuch"}, {"type": "contains", "value": "x"}]},
        {"output": "12 hello", "vars": {"word": "bye"}, "threshold": 1, "metadata": {"a": [1]}, "cost": 10**400},
    ]
    return [{"id": f"r{n}", "output": f"{n} hello"} if n % 3 else odd[n // 3 % len(odd)] for n in range(count)]


def written(folder: Path, lines: list[str]) -> Path:
    (folder / "checks.yaml").write_text(CHECKS, encoding="utf-8")
    path = folder / "rows.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("shape", ["table", "json"])  # one that is written at the end, and one row by row
def test_any_number_of_workers_prints_the_same(shape: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, [json.dumps(row) for row in rows(CHUNK + 44)])
    arguments = ["check", str(path), "--assertions", str(tmp_path / "checks.yaml"), "--format", shape]
    done = [(run_cli([*arguments, "--workers", workers]), *capsys.readouterr()) for workers in ("1", "2")]
    assert done[0] == done[1]
    code, out, err = done[0]
    assert code == 1
    assert len(out.splitlines()) > CHUNK
    assert "has no key 'misspelt'" in err
    assert err.splitlines()[-1].endswith("unscored")


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ('{"id": "x", "output"', "the line is not valid JSON"),
        ("[1]", "a row must be an object"),
        ('{"output": "without"}', "the row has no assertions"),
    ],
)
def test_a_wrong_line_is_named_after_the_rows_before_it(
    bad: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = json.dumps({"output": "hello", "assert": [{"type": "contains", "value": "hello"}]})
    path = written(tmp_path, [good] * (2 * CHUNK) + [bad] + [good] * CHUNK)
    done = [(run_cli(["check", str(path), "--json", "--workers", workers]), *capsys.readouterr()) for workers in "12"]
    assert done[0] == done[1]
    code, out, err = done[0]
    assert code == 2
    assert len(out.splitlines()) == 2 * CHUNK
    assert err.startswith(f"promptpex: {path}:{2 * CHUNK + 1}: {message}")
    assert len(err.splitlines()) == 1


def test_rows_that_nest_as_deep_as_can_be_read_are_checked_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    deepest = _deepest()
    lines = [f'{{"output": {"[" * depth}{"]" * depth}}}' for depth in range(deepest - 150, deepest, 10)]
    path = written(tmp_path, lines)
    codes = [
        run_cli(["check", str(path), "--assertions", str(tmp_path / "checks.yaml"), "--json", "--workers", workers])
        for workers in ("1", "2")
    ]
    assert codes == [0, 0], capsys.readouterr().err
    assert len(capsys.readouterr().out.splitlines()) == 2 * len(lines)


def _deepest() -> int:
    """How deep JSON may nest so that the command reads it, from where its own calls stand."""
    depth = 100
    try:
        while True:
            json.loads("[" * depth + "]" * depth)
            depth += 50
    except RecursionError:
        return depth - 100


@contextlib.contextmanager
def checking(folder: Path, *arguments: str, forked: bool = True) -> Iterator[subprocess.Popen[bytes]]:
    """The command in a process group of its own, on rows that take long; killed at the end if it still runs."""
    (folder / "slow.yaml").write_text(ENDLESS, encoding="utf-8")
    with forking(forked):
        process = subprocess.Popen(
            [sys.executable, "-m", "promptpex", "check", *arguments, "--json", "--workers", "2"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
            start_new_session=True,
        )
    try:
        yield process
    finally:
        process.kill()
        with contextlib.suppress(ValueError):  # the test has closed what it was reading
            process.communicate()


@pytest.mark.parametrize(("number", "whom"), [(signal.SIGINT, "the group")])
def test_a_signal_ends_all_processes(number: signal.Signals, whom: str, tmp_path: Path) -> None:
    """Ctrl-C in a terminal, which all of its processes get, and ``kill``."""
    path = written(tmp_path, [json.dumps(row) for row in rows(4 * CHUNK)])
    with checking(tmp_path, str(path), "--assertions", str(tmp_path / "slow.yaml")) as process:
        _until(lambda: len(_workers(process.pid)) == 2 and len(_group(process.pid, "v8_worker")) == 3)
        (os.killpg if whom == "the group" else os.kill)(process.pid, number)
        _, err = process.communicate()
        assert process.returncode == 130
        assert err.strip() == b""
        _until(lambda: not _group(process.pid))


def test_a_worker_that_dies_is_one_sentence(tmp_path: Path) -> None:
    path = written(tmp_path, [json.dumps(row) for row in rows(4 * CHUNK)])
    with checking(tmp_path, str(path), "--assertions", str(tmp_path / "slow.yaml")) as process:
        _until(lambda: len(_workers(process.pid)) == 2)
        for worker in _workers(process.pid):
            os.kill(worker, signal.SIGKILL)
        _, err = process.communicate()
        assert process.returncode == 2
        assert err.decode().splitlines() == [
            "promptpex: a worker process died; run the same command again, with fewer workers if memory is short"
        ]
        _until(lambda: not _group(process.pid))


@pytest.mark.long
def test_rows_are_printed_while_others_are_still_to_come_and_a_reader_may_leave(tmp_path: Path) -> None:
    written(tmp_path, [])
    with checking(tmp_path, "-", "--assertions", str(tmp_path / "checks.yaml"), "-q", forked=False) as process:
        assert process.stdout is not None
        writing = threading.Thread(target=_write_for_ever, args=(process.stdin,))
        writing.start()
        assert json.loads(process.stdout.readline())["id"] == 1
        process.stdout.close()
        assert process.wait() == 141
        assert process.stderr is not None
        assert process.stderr.read() == b""
        _until(lambda: not _group(process.pid))
        writing.join()


def _write_for_ever(file: IO[bytes]) -> None:
    with contextlib.suppress(BrokenPipeError):
        while True:
            file.write(b'{"output": "1 hello"}\n' * CHUNK)
            file.flush()


def _until(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.02)


def _workers(group: int) -> list[int]:
    return _group(group, "spawn_main")


def _group(group: int, word: str = "") -> list[int]:
    """The processes of a group that run, with this word in their command line."""
    running: list[int] = []
    for folder in Path("/proc").iterdir():
        try:
            state, _, its_group = (folder / "stat").read_text().rpartition(")")[2].split()[:3]
            line = (folder / "cmdline").read_text()
        except (OSError, ValueError):
            continue
        if int(its_group) == group and state not in "ZX" and word in line:
            running.append(int(folder.name))
    return running
