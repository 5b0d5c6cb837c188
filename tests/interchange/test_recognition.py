"""A file is recognised by its own format and by no other: what each format writes, and samples of what is only read."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from promptpex import interchange
from promptpex.core.errors import InputError
from promptpex.interchange.format import Format, formats
from promptpex.interchange.reading.foreign_files import first_row
from promptpex.workflow.importing.exchange import FileSource, guessed_format, whole_of
from tests.reproduce import recordings

pytest.importorskip("openpyxl", reason="openpyxl is not installed (the extra excel)")
pytest.importorskip("pyarrow", reason="pyarrow is not installed (the extra parquet)")

DATA = Path(__file__).parents[1] / "data"
FORMATS: Mapping[str, Format] = formats(interchange)
NOT_READ_BACK = {"inspect-ai"}
"""Formats that write another kind of file than they read."""


def _zip(name: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        file.writestr(name, "{}")
    return made.getvalue()


SAMPLE = {"input": "2+2?", "target": "4", "id": 1}
TEXTS: Mapping[str, tuple[tuple[str, str | bytes], ...]] = {
    "csv": (("a.csv", "id,inputs.q,expected\nc,x,y\n"),),
    "jsonl": (("a.jsonl", '{"prompt": "p.md"}\n{"id": "c", "inputs": {"q": "x"}}\n'),),
    "inspect-ai": (
        ("a.jsonl", json.dumps(SAMPLE) + "\n"),
        ("a.json", json.dumps([SAMPLE], indent=2)),
        ("a.csv", "input,target,id\n2+2?,4,1\n"),
        ("b.jsonl", json.dumps({"input": [{"role": "user", "content": "x"}], "target": "y" * 70_000}) + "\n"),
    ),
    "inspect-ai-log": (("a.eval", _zip("header.json")),),
    "prompty": (("a.prompty", "---\nname: x\n---\nsystem:\nHi\n"),),
    "github-prompt": (("a.prompt.yml", "messages:\n- {role: user, content: x}\n"),),
    "promptfoo": (("promptfooconfig.yaml", "prompts: ['{{x}}']\ntests: []\n"),),
    "promptfoo-results": (("out.json", '{"evalId": "x", "results": {"results": [], "prompts": []}}'),),
    "promptpex-json": (("tests.json", '[{"ruleid": 1, "testinput": "x", "expectedoutput": "y"}]'),),
    "promptpex-tests": (("tests.csv", recordings.TESTS),),
    "langfuse": (
        ("o.json", json.dumps([{"id": "o", "traceId": "t", "type": "GENERATION", "projectId": "p", "input": "x"}])),
        ("o.jsonl", json.dumps({"id": "o", "trace_id": "t", "type": "SPAN", "start_time": "2026-01-01"}) + "\n"),
        ("i.csv", 'id,datasetId,input,expectedOutput\ni,d,"{""q"": 1}",y\n'),
        ("t.json", json.dumps({"trace": {"id": "t"}, "observations": [{"id": "o", "type": "GENERATION"}]})),
    ),
    "otel-genai": (
        ("s.json", json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "chat", "attributes": [
            {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}]}]}]}]})),
    ),
    "openai-completions": (("d.jsonl", json.dumps({"messages": [
        {"role": "user", "content": 'Say "inputs": {"q": 1}, "id": and "prompt".'},
        {"role": "assistant", "content": "y"},
    ]}) + "\n"), ("c.jsonl", '{"messages": [{"role": "user", "content": "x"}, '
                                       '{"role": "assistant", "content": "y"}]}\n'),),
}  # fmt: skip
"""Files by the format that they are in."""


def _recognised(path: Path) -> list[str]:
    return [name for name, each in FORMATS.items() if each.recognise is not None and each.recognise(path)]


@pytest.mark.parametrize(
    ("name", "file", "content"), [(name, *each) for name, listed in TEXTS.items() for each in listed]
)
def test_a_sample_is_recognised_by_its_format_alone(tmp_path: Path, name: str, file: str, content: str | bytes) -> None:
    (tmp_path / file).write_bytes(content.encode() if isinstance(content, str) else content)
    assert _recognised(tmp_path / file) == [name]
    assert guessed_format(tmp_path / file, FORMATS).name == name


def test_logs_of_inspect_are_recognised_by_their_format_alone() -> None:
    for name in ("haiku.json", "haiku.eval"):
        assert _recognised(DATA / "inspect" / name) == ["inspect-ai-log"]


@pytest.mark.parametrize("name", [name for name, each in FORMATS.items() if each.write and each.recognise])
def test_what_a_format_writes_is_recognised_by_it_alone(tmp_path: Path, name: str) -> None:
    each = FORMATS[name]
    assert each.write is not None
    shutil.copytree(DATA / "inspect" / "haiku", tmp_path / "haiku")
    options: dict[str, Any] = {option.name: option.default for option in each.write_options}
    source = FileSource(tmp_path / "haiku" / "prompt.cases.yaml", lambda: tmp_path)
    try:
        made = each.write(source, **options)
    except InputError:
        pytest.skip(f"{name} writes runs, not cases")
    out = tmp_path / f"out{each.extensions[0] if each.extensions else ''}"
    if made.files is not None:
        for file, data in made.files.items():
            (out / file).parent.mkdir(parents=True, exist_ok=True)
            (out / file).write_bytes(data)
    else:
        out.write_bytes(made.data if made.data is not None else made.text.encode())
    assert _recognised(out) == ([] if name in NOT_READ_BACK else [name])


def test_cases_without_a_spec_are_exported_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "prompt.md").write_text("user:\nSay {{word}}\n", encoding="utf-8")
    (tmp_path / "prompt.cases.yaml").write_text("prompt: prompt.md\ncases: [{id: a, inputs: {word: x}}]\n", "utf-8")
    source = FileSource(tmp_path / "prompt.cases.yaml", lambda: tmp_path)
    project = source.project()
    assert [case.id for case in project.suite.cases] == ["a"]
    assert project.spec.rules == ()
    with pytest.raises(InputError, match="this is a case file, and has no outputs"):
        source.run()


def test_a_part_of_a_folder_means_the_folder(tmp_path: Path) -> None:
    ours = tmp_path / "ours"
    ours.mkdir()
    for name in ("rules.txt", "overview.csv", "notes.txt"):
        (ours / name).write_text("a,b\n", encoding="utf-8")
    assert whole_of(ours / "overview.csv", FORMATS) == ours
    assert guessed_format(ours, FORMATS).name == "promptpex-folder"
    assert whole_of(ours / "notes.txt", FORMATS) == ours / "notes.txt"
    (ours / "rules.txt").unlink()
    assert whole_of(ours / "overview.csv", FORMATS) == ours / "overview.csv"


@pytest.mark.parametrize(
    ("file", "content", "takes"),
    [
        ("a.csv", "question,answer\nx,y\n", "csv"),
        ("a.jsonl", '{"question": "x"}\n', "jsonl"),
        ("a.ndjson", '{"question": "x"}\n', "jsonl"),
    ],
)
def test_a_table_that_nobody_knows_is_read_as_one(tmp_path: Path, file: str, content: str, takes: str) -> None:
    (tmp_path / file).write_text(content, encoding="utf-8")
    assert _recognised(tmp_path / file) == []
    assert guessed_format(tmp_path / file, FORMATS).name == takes


def test_words_in_texts_are_no_keys(tmp_path: Path) -> None:
    text = json.dumps({"question": 'what are "inputs": and "id": and "ideal":?', "more": {"inputs": {}, "id": "x"}})
    for beginning in (text, text[:-1] + ', "long": "' + "x" * 70_000 + '"}'):
        (tmp_path / "a.jsonl").write_text(beginning + "\n", encoding="utf-8")
        assert _recognised(tmp_path / "a.jsonl") == []
        assert dict(first_row(tmp_path / "a.jsonl")).keys() <= {"question", "more", "long"}


@pytest.mark.parametrize("content", [b"", b"\0" * 100, b"\xff\xfe", b"[" * 70_000, b'{"input": NaN', b"PK\x03\x04",
                                     b'{"input": "\\ud800", "target": "x"}'])  # fmt: skip
def test_no_format_stumbles_over_what_it_looks_at(tmp_path: Path, content: bytes) -> None:
    endings = {ending for each in FORMATS.values() for ending in each.extensions}
    for ending in sorted(endings):
        path = tmp_path / f"a{ending}"
        path.write_bytes(content)
        assert len(_recognised(path)) <= 1, ending
