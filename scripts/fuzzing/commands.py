"""Hostile command lines: random options, values and files for every command, in a folder made for each line."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from fuzzing import own_files, readers, seeds
from fuzzing.answering import Answering
from fuzzing.making import Maker
from fuzzing.offline import only_loopback
from fuzzing.watch import Tally

EXIT_CODES = (0, 1, 2, 3, 130)
REAL_EVERY = 20
"""One line in so many runs as a process of its own."""
REAL_TIMEOUT_S = 180
OPTIONS_SHARE = 0.07
"""Chance of each option of a command to be given."""
HOSTILE_SHARE = 0.09
"""Chance of each file to be hostile."""
LEFT_OUT = {"--debug", "--help", "--version", "--fetch", "--config", "--open"}
"""``--debug`` asks for tracebacks, ``--fetch`` for what is outside, ``--open`` for a browser; ``--config`` would take
the server away often."""
ON_SCREEN = frozenset("\x1b\x9b\x07\u202e\u2066\x08")
"""What must not reach a terminal out of a file or a reply."""

DATA = ("check", "import", "export")
"""Commands whose stdout is data, for files and other programs."""

SAFE_NAMES = ("x", "sub/deep/x.yaml", "a b", "é", ".hidden", "x" * 300, "-", "n\nl", "c.csv", "c.jsonl", "o.yaml", ".")
"""Names to write to: all inside the folder of the line."""

ODD = ("0", "-1", "", "x", "1.5", "0x1", "nan", "inf", "1e999", "-5%", "5%", "0.9999999999999999", "\u0663", "-", "=")
"""Values that an option may not expect; none that would have a line wait or repeat itself."""
ODD_SHARE = 0.15
"""Chance of a value to be odd."""
SHARES = ("0.1", "0.2", "5%", "10%", "0.5", "0.95", "3", "20")
MODELS = ("openai/a", "openai/a,openai/b", "openai/a?temperature=0.5", "replay/recording.jsonl", "llama3.2:1b", "none")

RUN = "results/p/run-1"

FITTING: dict[str, tuple[tuple[str, ...], ...]] = {
    **dict.fromkeys(
        (
            "run",
            "estimate",
            "extract",
            "generate",
        ),
        (("prompt.md",), ("list.json",)),
    ),
    "extract": (("prompt.md", "--update"), ("prompt.md", "--force"), ("list.json",)),
    "validate": (("prompt.md",), ("prompt.cases.yaml",), ("prompt.md", "cases.csv", "prompt.spec.yaml")),
    "diff": (("old.md", "prompt.md"),),
    "synthesize": (
        ("prompt.md", "--versions", "old.md"),
        ("prompt.md",),
        ("prompt.md", "--versions", "old.md", "--dry-run"),
    ),
    "judge": ((RUN,), ("run-1",), ()),
    "report": ((RUN,), ("run-1",), ()),
    "align": tuple(
        ("--prompt", "prompt.md", *more)
        for more in ((RUN,), (RUN, "--compare-to", "run-1"), ("run-1", "--csv", "c.csv", "--ffr", "10%"), ())
    ),
    "compare": ((RUN, "run-1"),),
    "gate": (("--max-non-compliance", "10%", RUN), ("--min-scored", "1"), ("--max-non-compliance", "a=0.5", "run-1")),
    "check": (
        ("outputs.jsonl",),
        ("outputs.jsonl", "--assertions", "asserts.yaml"),
        (RUN, "--assertions", "prompt.spec.yaml"),
        ("outputs.jsonl", "--put-up", "prompt.md", "--per-day", "3"),
        ("cases.csv", "--put-up", "prompt.md"),
    ),
    "import": (
        ("csv", "cases.csv"),
        ("jsonl", "cases.jsonl"),
        ("promptpex-tests", "tests.csv"),
    ),
    "export": tuple(
        (form, source) for form in ("csv", "jsonl", "promptfoo", "junit") for source in ("prompt.cases.yaml", RUN)
    ),
    "prune": (("--failed",), ("--stage", "output", "--dry-run"), ("--older-than", "1d")),
    "init": tuple((name,) for name in SAFE_NAMES),
}
"""What each command is for."""

FILES: dict[str, tuple[str, Any]] = {
    "prompt.md": (seeds.PROMPT, {}),
    "old.md": (seeds.PROMPT.replace("Answer", "Reply"), {}),
    "list.json": (json.dumps(seeds.MESSAGES["messages"]), seeds.MESSAGES["messages"]),
    "prompt.spec.yaml": (seeds.SPEC_YAML, seeds.SPEC),
    "prompt.cases.yaml": (seeds.CASES_YAML, seeds.CASES),
    "cases.csv": (seeds.CASES_CSV, seeds.CASES),
    "cases.jsonl": (seeds.CASES_JSONL, seeds.CASES),
    "promptpex.toml": (seeds.SETTINGS, {}),
    "samples.csv": (seeds.SAMPLES_CSV, {}),
    "tone.metric.md": (seeds.METRIC, {}),
    "short.metric.js": (seeds.METRIC_CODE, {}),
    "tests.csv": (seeds.TESTS_CSV, {}),
    "outputs.jsonl": (json.dumps(seeds.ROW) + "\n", seeds.ROW),
    "asserts.yaml": (seeds.ASSERTIONS_YAML, seeds.ASSERTIONS),
    "recording.jsonl": (json.dumps(seeds.RECORD) + "\n", seeds.RECORD),
}
"""Each file as it should be, and the value in it."""

ENVIRONMENT = {
    "PROMPTPEX_MODELS": "openai/a,openai/b", "PROMPTPEX_AUTHOR": "openai/author", "PROMPTPEX_JUDGE": "openai/judge",
    "PROMPTPEX_TIMEOUT": "3", "PROMPTPEX_MAX_ATTEMPTS": "2", "PROMPTPEX_DEADLINE": "20",
    "PROMPTPEX_EMBEDDED_MODEL": "/nowhere.gguf",
    "COLUMNS": "100",
}  # fmt: skip


class Commands:
    """What all lines share: the server, the environment, the place."""

    _shared: Commands | None = None

    def __init__(self, place: Path, seed: int) -> None:
        self._place, self._seed = place, seed
        self._server = Answering(seed)
        self._groups = dict(_all_commands())
        for name in [name for name in os.environ if name.lower().endswith(("_api_key", "_proxy", "_api_base"))]:
            del os.environ[name]
        addresses = {"PROMPTPEX_API_BASE": f"{self._server.url}/v1", "OPENAI_BASE_URL": f"{self._server.url}/v1"}
        os.environ.update({**ENVIRONMENT, **addresses, "OLLAMA_HOST": self._server.url, "HOME": str(place)})
        only_loopback()

    @classmethod
    def opened(cls, place: Path, seed: int) -> Commands:
        """The one of this process."""
        if cls._shared is None:
            cls._shared = cls(place, seed)
        return cls._shared

    @classmethod
    def close(cls) -> None:
        """Ends the server."""
        if cls._shared is not None:
            cls._shared._server.shutdown()
            cls._shared = None

    def run(self, number: int, tally: Tally) -> None:
        """Makes the files of a line, runs it, and counts what is wrong with how it ended."""
        maker = Maker(random.Random(f"command {self._seed}:{number}"))
        folder = self._place / "line"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        made = _files(maker, folder)
        line = self._line(maker, made)
        real = number % REAL_EVERY == 0
        kind = f"{'process' if real else 'in process'}: {line[0]}"
        tally.tried[kind] += 1
        os.chdir(folder)
        try:
            code, out, err = _as_process(line, folder) if real else _in_process(line)
        finally:
            os.chdir(self._place)
        tally.refused[kind] += code != 0
        for kind, complaint in wrong(line, code, out, err):
            tally.find(
                kind,
                f"command {number}",
                f"{line}\nexit code {code}: {complaint}\n{err[-3000:]}",
                f"{kind} {complaint[:60]}",
            )

    def _line(self, maker: Maker, made: Sequence[str]) -> list[str]:
        names = maker.rng.choice(list(self._groups))
        command = self._groups[names]
        line = list(names)
        line += _arguments(maker, names, command, made)
        for parameter in command.params:
            if isinstance(parameter, click.Option) and maker.rng.random() < OPTIONS_SHARE:
                line += _option(maker, parameter, made)
        if maker.rng.random() < 0.02:
            line.insert(maker.rng.randrange(1, len(line) + 1), maker.rng.choice(("--nothing", "-z", "--", "x")))
        return [part.replace("\0", "") for part in line]


SERVING = {"view", "grade"}
"""Commands that go on until Ctrl-C; what they read is among the readers."""


def _all_commands() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    from promptpex.cli.main import COMMANDS, cli

    for name in (name for name in COMMANDS if name not in SERVING):
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from (((name, under), each) for under, each in command.commands.items())
        else:
            yield (name,), command


def _files(maker: Maker, folder: Path) -> list[str]:
    """The files of a line: most there, a few of them hostile."""
    made = []
    for name, (good, value) in FILES.items():
        if maker.rng.random() < (0.6 if name == "promptpex.toml" else 0.06):
            continue
        hostile = maker.rng.random() < HOSTILE_SHARE
        text = good if not hostile else maker.document(good, value) if value else maker.mangled(good)
        (folder / name).write_bytes(maker.bytes_of(text) if hostile else text.encode())
        made.append(name)
    if maker.rng.random() < 0.8:
        run = folder / "results" / "p" / "run-1"
        run.mkdir(parents=True)
        with contextlib.suppress(*readers.GOOD_ENDS):
            own_files.run_files(maker, run, hurt=maker.rng.random() < 0.3)
        made += ["results/p/run-1", "run-1"]
    if maker.rng.random() < 0.5:
        (folder / ".promptpex").mkdir()
        own_files.store_file(maker, folder / ".promptpex" / "store.db", hurt=maker.rng.random() < 0.3)
    return made


def _arguments(maker: Maker, names: Sequence[str], command: click.Command, made: Sequence[str]) -> list[str]:
    """Mostly what the command is for; now and then any file, or any name."""
    fitting = [list(each) for each in FITTING.get(names[-1], ((),))]
    line = maker.rng.choice(fitting)
    if maker.rng.random() < 0.2:
        count = sum(isinstance(each, click.Argument) for each in command.params)
        line = [*line[: len(line) - count], *(maker.rng.choice((*made, *SAFE_NAMES)) for _ in range(count))]
    return line


def _option(maker: Maker, option: click.Option, made: Sequence[str]) -> list[str]:
    flag = maker.rng.choice([*option.opts, *option.secondary_opts])
    if flag in LEFT_OUT:
        return []
    return [flag] if option.is_flag else [flag, _value(maker, option, made)]


def _value(maker: Maker, option: click.Option, made: Sequence[str]) -> str:
    """Mostly what the option takes; now and then something odd, which is never a path that leads out."""
    kind, name = option.type, option.name or ""
    if isinstance(kind, click.Path) or name in ("store", "results", "record"):
        return maker.rng.choice((*made, *SAFE_NAMES, *SAFE_NAMES))
    if maker.rng.random() < ODD_SHARE:
        return maker.rng.choice(ODD) if maker.rng.random() < 0.5 else _not_a_small_rate(maker.text())
    if isinstance(kind, click.Choice):
        return str(maker.rng.choice(list(kind.choices)))
    if name in ("models", "author", "judge", "expected", "against", "model"):
        return maker.rng.choice(MODELS) if maker.rng.random() < 0.7 else maker.mangled(maker.rng.choice(seeds.NAMES))
    if name == "weights":
        return maker.rng.choice((seeds.WEIGHTS[0], maker.mangled(seeds.WEIGHTS[0])))
    if name in ("rpm", "tpm"):
        return maker.rng.choice(("600", "1000000"))
    by_name = {"language": ("en", "vi", "pt-BR"), "stage": ("judge", "output"), "older_than": ("1d", "0s", "9w")}
    if name in by_name:
        return maker.rng.choice(by_name[name])
    return maker.rng.choice(("1", "2", "3") if isinstance(kind, click.types.IntParamType) else SHARES)


def _not_a_small_rate(text: str) -> str:
    """The text, unless it is a small number, which a line would have to wait for or repeat itself by."""
    return "x" if text.strip().isdecimal() else text


def _in_process(line: Sequence[str]) -> tuple[int, str, str]:
    """The line as the command runs it, its streams caught."""
    from promptpex.cli.main import run_cli

    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="replace") for _ in range(2))
    argv, sys.argv, stdin, sys.stdin = sys.argv, ["promptpex", *line], sys.stdin, io.StringIO("")
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run_cli(list(line))
    finally:
        sys.argv, sys.stdin = argv, stdin
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode("utf-8", "replace"))
    return code, texts[0], texts[1]


def _as_process(line: Sequence[str], folder: Path) -> tuple[int, str, str]:
    """The line as a process of its own, its sockets kept on loopback as well."""
    program = "from fuzzing.offline import only_loopback; only_loopback(); from promptpex.__main__ import main; main()"
    command = [sys.executable, "-c", program, *(part.encode("utf-8", "replace").decode() for part in line)]
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PYTHONUTF8": "1"},
        capture_output=True,
        timeout=REAL_TIMEOUT_S,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def wrong(line: Sequence[str], code: int, out: str, err: str) -> Iterator[tuple[str, str]]:
    """What is wrong with how a line ended, by the kinds of a tally."""
    if "Traceback" in err + out:
        yield "tracebacks", err.strip().splitlines()[-1][:200]
    if "internal error" in err:
        yield "errors of promptpex itself", err.strip().splitlines()[-1][:200]
    if code not in EXIT_CODES:
        yield "broken promises", f"exit code {code}"
    if code == 2 and not err.strip() and line[0] not in ("validate", "cache"):
        yield "broken promises", "exit code 2, and nothing on stderr"
    data = "--json" in line or line[0] in DATA
    shown = err if data else err + out
    if ON_SCREEN & set(shown) and not ON_SCREEN & set("".join(line)):
        yield "broken promises", f"a terminal would obey {sorted(ON_SCREEN & set(shown))}"
    if "--json" in line and code in (0, 1) and line[0] not in DATA and not _is_json(out):
        yield "broken promises", "stdout is not one JSON document"


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
