"""Files of other tools in every format that ``import`` knows, changed, and imported as the command does it.

A format that is written too is changed from what our own export writes; the others have a seed, and one that has none
is given another's. A reader may open what
lies beside its file, and nothing else on this machine: ``only_inside`` makes that a finding.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from fuzzing import seeds
from fuzzing.making import Maker
from promptpex import interchange
from promptpex.core.errors import InputError
from promptpex.core.records import Manifest, Message, Output, Prompt, Run, Spec, Suite
from promptpex.documents import yaml_reader
from promptpex.interchange.format import Exported, Format, Option, Project, formats
from promptpex.workflow.importing.exchange import guessed_format
from promptpex.workflow.importing.write_import import usable, write_imported
from promptpex.workflow.validation.validate import validate

_ROOT = Path(__file__).resolve().parents[2]
_OURS = tuple(
    os.path.realpath(place)
    for place in (_ROOT, sys.prefix, sys.base_prefix, sysconfig.get_path("stdlib"), "/usr/share", "/dev/null", "/proc")
)
"""Where libraries and the programs of this project read."""
_TEXT = "Name the colour of {{thing}}, {{count}} times, in one word."


@dataclass
class _Known:
    """What is exported: a project and a run of it."""

    given: Project
    ended: Run

    def suite(self) -> Suite:
        """The cases."""
        return self.given.suite

    def project(self) -> Project:
        """All of it."""
        return self.given

    def run(self) -> Run:
        """A run of it."""
        return self.ended


def imports(maker: Maker, folder: Path) -> object:
    """A file of another tool: told, read, written as a project, and validated."""
    named = {name: one for name, one in formats(interchange).items() if one.read is not None}
    format_ = named[maker.rng.choice(list(named))]
    with tempfile.TemporaryDirectory(dir=folder) as place:
        inside = Path(place)
        (inside / "in").mkdir()
        path = _written(maker, inside / "in", format_)
        with contextlib.chdir(inside), only_inside(inside):
            with contextlib.suppress(InputError):
                guessed_format(path, named)
            assert format_.read is not None
            made = usable(format_.read(path, **_options(maker, format_)))
            out = inside / "out" / ("prompt.cases.yaml" if made.is_suite else "")
            out.parent.mkdir(exist_ok=True)
            write_imported(made, out)
            return [problem.text() for problem in validate(sorted(out.parent.rglob("*.md")))]


@contextlib.contextmanager
def only_inside(folder: Path) -> Iterator[None]:
    """Raises RuntimeError where a file outside the folder is opened that is none of Python's or of this project's."""
    _watch()
    _ALLOWED.append(os.path.realpath(folder))
    try:
        yield
    finally:
        _ALLOWED.pop()


_ALLOWED: list[str] = []


@cache
def _watch() -> None:
    """Begins to look at what is opened; an audit hook stays for ever, and does nothing outside ``only_inside``."""
    sys.addaudithook(_look)


def _look(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "open" or not _ALLOWED or not isinstance(arguments[0], str | bytes):
        return
    path = os.path.realpath(os.fsdecode(arguments[0]))
    if not any(path == place or path.startswith(place + os.sep) for place in (*_ALLOWED, *_OURS)):
        raise RuntimeError(f"a file outside the folder is opened: {path[:200]!r}")


def _options(maker: Maker, format_: Format) -> dict[str, Any]:
    """The format's own options at their defaults, now and then with something else that a user may give."""
    return {one.name: _odd(maker, one) if maker.rng.random() < 0.1 else one.default for one in format_.read_options}


def _odd(maker: Maker, option: Option) -> object:
    if option.kind is str:
        return maker.rng.choice(("thing", "x", "a=b", "inputs.thing=thing", "é"))
    return maker.rng.choice((1, 2, 9)) if option.kind is int else True


def _written(maker: Maker, folder: Path, format_: Format) -> Path:
    """A changed file, or folder, of this format, with files beside it that others name."""
    (folder / "prompt.md").write_text(seeds.PROMPT, encoding="utf-8")
    if format_.name in _FOLDERS:
        return _folder(maker, folder, {name: text.encode() for name, text in _FOLDERS[format_.name].items()})
    ending = maker.rng.choice(format_.extensions or (".csv",))
    path = folder / f"theirs{ending}"
    if format_.name == "promptpex-tests":
        return maker.file(folder, path.name, maker.mangled(seeds.TESTS_CSV))
    if format_.name in _SEEDS or format_.write is None:
        seed = _SEEDS.get(format_.name) or _SEEDS[maker.rng.choice(list(_SEEDS))]
        return maker.file(folder, path.name, _changed(maker, json.dumps(seed)))
    exported = _exported(format_.name) if maker.rng.random() < 0.6 else _exported_odd(maker, format_)
    if maker.rng.random() < 0.2:
        return _as_it_is(path, exported)
    if exported.files is not None:
        return _folder(maker, folder, exported.files)
    if exported.data is not None:
        path.write_bytes(maker.flipped(exported.data))
        return path
    return maker.file(folder, path.name, _changed(maker, exported.text))


def _changed(maker: Maker, text: str) -> str:
    """A text mangled or, where it is JSON, JSON lines or YAML, more often a value in it changed."""
    if maker.rng.random() < 0.3:
        return maker.mangled(text)
    lines = text.splitlines()
    for parts in ([text], lines if len(lines) < 50 else []):
        try:
            values = [json.loads(part) for part in parts]
        except ValueError:
            continue
        hurt = maker.rng.randrange(len(values)) if values else -1
        made = [maker.json(maker.changed(one, 1)) if n == hurt else json.dumps(one) for n, one in enumerate(values)]
        return "\n".join(made) + "\n"
    try:
        data = yaml_reader.load(text, path="theirs", error=InputError, what="seed").data
    except InputError:
        return maker.mangled(text)
    return maker.json(maker.changed(data, 1)) if isinstance(data, dict | list) else maker.mangled(text)


def _folder(maker: Maker, folder: Path, files: Mapping[str, bytes]) -> Path:
    """The files of a folder, one of them hurt."""
    hurt = maker.rng.choice(sorted(files))
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            made = maker.bytes_of(_changed(maker, content.decode()))
        except UnicodeDecodeError:
            made = maker.flipped(content)
        path.write_bytes(made if name == hurt else content)
    return folder


def _as_it_is(path: Path, exported: Exported) -> Path:
    """What was exported, unhurt: what is odd about it are its values."""
    if exported.files is None:
        path.write_bytes(exported.data if exported.data is not None else exported.text.encode("utf-8", "replace"))
        return path
    for name, content in exported.files.items():
        (path.parent / name).parent.mkdir(parents=True, exist_ok=True)
        (path.parent / name).write_bytes(content)
    return path.parent


def _exported_odd(maker: Maker, format_: Format) -> Exported:
    """The export of a project with odd values, as far as records take them."""
    known = _known()
    try:
        spec = Spec.model_validate(maker.changed(seeds.SPEC, 2))
        suite = Suite.model_validate(maker.changed(seeds.CASES, 4))
    except ValueError:
        spec, suite = known.given.spec, known.given.suite
    given = replace(known.given, spec=spec, suite=suite)
    run = known.ended.replace(spec=spec, suite=suite)
    assert format_.write is not None
    return format_.write(_Known(given, run), **{one.name: one.default for one in format_.write_options})


@cache
def _exported(name: str) -> Exported:
    """What our own export writes in this format."""
    format_ = formats(interchange)[name]
    assert format_.write is not None
    return format_.write(_known(), **{one.name: one.default for one in format_.write_options})


@cache
def _known() -> _Known:
    spec, suite = Spec.model_validate(seeds.SPEC), Suite.model_validate(seeds.CASES)
    turns = (Message(role="system", content=_TEXT),)
    prompt = Prompt(name="colours", messages=turns, variables=("thing", "count"), fingerprint="f")
    manifest = Manifest(
        run="x", prompt="colours", prompt_fingerprint="f", spec_digest="s", suite_digest="u", models=("openai/a",)
    )
    outputs = tuple(Output(case=case.id, model="openai/a", text="RED", latency_ms=2.0) for case in suite.usable())
    run = Run(manifest=manifest, prompt=prompt, spec=spec, suite=suite, outputs=outputs)
    rendered = lambda inputs: (Message(role="system", content=f"Name the colour of {inputs}."),)  # noqa: E731
    return _Known(Project(prompt, spec, suite, ("openai/a?temperature=0.5",), rendered=rendered), run)


_THEIR_TESTS = [
    {"ruleid": 1, "testid": 1, "testinput": "An apple", "thing": "An apple", "expectedoutput": "RED", "reasoning": "x"},
    {"ruleid": 2, "testid": 2, "testinput": "The sky", "thing": "The sky", "inverse": True, "scenario": "short"},
]
_CHAT = [{"role": "system", "content": "Name colours."}, {"role": "user", "content": "An apple"}]
_SPAN = {
    "traceId": "ab", "spanId": "cd", "name": "chat a", "startTimeUnixNano": "1", "endTimeUnixNano": "9",
    "attributes": [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
        {"key": "gen_ai.request.model", "value": {"stringValue": "a"}},
        {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "3"}},
        {"key": "gen_ai.input.messages",
         "value": {"stringValue": '[{"role": "user", "parts": [{"type": "text", "content": "An apple"}]}]'}},
        {"key": "gen_ai.output.messages",
         "value": {"stringValue": '[{"role": "assistant", "parts": [{"type": "text", "content": "RED"}]}]'}},
    ],
}  # fmt: skip
_SEEDS: Mapping[str, Any] = {
    "langfuse": [{
        "id": "o1", "traceId": "t1", "projectId": "p", "type": "GENERATION", "startTime": "2026-01-01T00:00:00Z",
        "input": _CHAT, "output": {"role": "assistant", "content": "RED"}, "model": "a", "latency": 0.5,
        "usageDetails": {"input": 3, "output": 1},
    }],
    "otel-genai": {"resourceSpans": [{"scopeSpans": [{"spans": [_SPAN]}]}]},
    "promptfoo": {**seeds.PROMPTFOO, "providers": [{"id": "openai:chat:gpt-4o", "config": {"temperature": 0.5}}]},
    "promptfoo-results": {
        "evalId": "e",
        "results": {
            "prompts": [{"raw": "Name {{thing}}", "label": "p", "provider": "openai:gpt-4o"}],
            "results": [{
                "promptIdx": 0, "testIdx": 0, "vars": {"thing": "a"}, "provider": {"id": "openai:gpt-4o"},
                "testCase": {"vars": {"thing": "a"}, "assert": [{"type": "contains", "value": "file://x.txt"}]},
                "response": {"output": "RED", "tokenUsage": {"prompt": 3, "completion": 1}}, "latencyMs": 5,
            }],
        },
    },
    "promptpex-context": {
        "runId": "x", "name": "colours",
        "frontmatter": {"name": "colours", "scenarios": [{"name": "a", "instructions": "b"}], "model": {"id": "a"}},
        "inputs": {"thing": {"type": "string"}, "count": 2},
        "prompt": {"filename": "p.prompty", "content": "---\nname: p\n---\nsystem:\nName {{thing}}.\n"},
        "messages": [{"role": "user", "content": "Name {{thing}}"}],
        "rules": {"filename": "r", "content": "One word.\nA colour."},
        "inverseRules": {"filename": "i", "content": "Two words.\nNo colour."},
        "intent": {"filename": "i", "content": "Names."}, "inputSpec": {"filename": "s", "content": "A thing."},
        "promptPexTests": _THEIR_TESTS, "testSamples": [{"thing": "a"}],
        "testOutputs": {"content": json.dumps([{"model": "m", "testinput": "An apple", "output": "RED"}])},
        "metrics": [{"filename": "m"}],
    },
    "promptpex-json": _THEIR_TESTS,
}  # fmt: skip
"""What formats are changed from that are not written, or of which an export says less than files of people do."""

_FOLDERS: Mapping[str, Mapping[str, str]] = {
    "promptpex-folder": {
        "rules.txt": "1. One word.\n2. A colour.\n", "inverse_rules.txt": "Two words.\nNo colour.\n",
        "intent.txt": "Names colours.\n", "input_spec.txt": "- A thing.\n", "tests.json": json.dumps(_THEIR_TESTS),
        "overview.csv": "x\n",
    },
}  # fmt: skip
