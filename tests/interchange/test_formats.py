"""A foreign format is one file: with it in place, ``import`` and ``export`` know it, its options and its parts."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from promptpex import interchange
from promptpex.cases.file import read_suite, write_suite
from promptpex.core.errors import InputError
from promptpex.interchange.format import Format, formats
from promptpex.interchange.reading.foreign_files import first_row
from promptpex.promptfile import read as read_prompt
from promptpex.report import runs
from promptpex.specs.file import read_spec
from promptpex.workflow.importing.exchange import FileSource, guessed_format, whole_of
from tests.e2e.command import ROOT, environment
from tests.fork_server.start import forking
from tests.reproduce import recordings
from tests.samples import suite

TOY = '''
from promptpex.core.errors import InputError
from promptpex.core.records import Case, Manifest, Message, Output, Prompt, Rule, Run, Spec, Suite
from promptpex.interchange.format import Exported, Format, Imported, ImportedPrompt, Option


def read(path, *, shout):
    """A prompt, then a case per line."""
    text, *inputs = path.read_text().splitlines()
    if not inputs:
        raise InputError("there are no cases", path=path, line=1)
    message = Message(role="system", content=text.upper() if shout else text)
    prompt = Prompt(name="toy", messages=(message,), variables=("input",), fingerprint="f")
    spec = Spec(prompt="x.md", rules=(Rule(id="r1", rule="It is short."),))
    suite = Suite(
        prompt="x.md", cases=tuple(Case(id=f"c{n}", rule="r1", inputs={"input": t}) for n, t in enumerate(inputs))
    )
    digests = {"prompt_fingerprint": "f", "spec_digest": "s", "suite_digest": "u"}
    manifest = Manifest(run="a1", prompt="toy", models=("m",), **digests)
    outputs = tuple(Output(case=case.id, model="m", text="ok") for case in suite.cases)
    run = Run(manifest=manifest, prompt=prompt, spec=spec, suite=suite, outputs=outputs)
    return Imported(prompt=ImportedPrompt(prompt.name, prompt.messages), spec=spec, suite=suite, runs=(run,))


def write(source, *, mark):
    project = source.project()
    counts = f"{len(project.spec.rules)} {len(project.suite.cases)}"
    return Exported(f"{mark} {project.prompt.name} {counts}\\n", ("the rest",))


FORMAT = Format(
    name="toy",
    summary="a toy",
    extensions=(".toy",),
    reads="project",
    writes="project",
    read=read,
    write=write,
    read_options=(Option("shout", "in capitals.", kind=bool),),
    write_options=(Option("mark", "the first word.", default="toy"),),
)
'''

CALL = """
import sys
from promptpex import interchange
interchange.__path__.append(sys.argv[1])
from promptpex.cli.main import run_cli
sys.exit(run_cli(sys.argv[2:]))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "formats").mkdir()
    (tmp_path / "formats" / "toy.py").write_text(TOY, encoding="utf-8")
    (tmp_path / "a.toy").write_text("Answer in one word.\nfox\ndog\n", encoding="utf-8")
    return tmp_path


def _call(folder: Path, *arguments: str, forked: bool = True) -> subprocess.CompletedProcess[str]:
    with forking(forked):
        return subprocess.run(
            [sys.executable, "-c", CALL, str(folder / "formats"), *arguments],
            cwd=folder,
            env=environment(PYTHONPATH=str(ROOT), COLUMNS="80"),
            capture_output=True,
            encoding="utf-8",
            check=False,
        )


def test_a_new_format_is_one_file(folder: Path) -> None:
    shown = _call(folder, "import", "--help-all").stdout
    assert "a toy" in shown
    assert "--shout" in shown
    done = _call(folder, "import", "toy", "a.toy", "--shout", "--out", "made", forked=False)
    assert (done.returncode, done.stdout) == (0, "the prompt, 1 rule, 2 cases, 1 run in made\n"), done.stderr
    made = folder / "made"
    assert read_prompt(made / "prompt.md").messages[0].content == "ANSWER IN ONE WORD."
    assert [rule.id for rule in read_spec(made / "prompt.spec.yaml").rules] == ["r1"]
    assert [case.inputs for case in read_suite(made / "prompt.cases.yaml").cases] == [
        {"input": "fox"},
        {"input": "dog"},
    ]
    assert [output.text for output in runs.read(made / "toy" / "a1").outputs] == ["ok", "ok"]
    exported = _call(folder, "export", "toy", "made/prompt.cases.yaml", "--mark", "!")
    assert (exported.returncode, exported.stdout) == (0, "! toy 1 2\n"), exported.stderr
    assert exported.stderr == "note: the rest\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("import", "toy", "a.toy"), "more than cases"),
        (("import", "toy", "a.csv", "--out", "x"), "must end in .toy"),
        (("import", "csv", "a.csv", "--shout"), "--shout goes with toy, not with csv"),
        (("import", "toys", "a.toy"), "'toys' is not one of"),
    ],
)
def test_what_does_not_fit_a_format_is_reported(folder: Path, arguments: tuple[str, ...], says: str) -> None:
    done = _call(folder, *arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_every_format_reads_or_writes_and_says_what() -> None:
    for name, format_ in formats(interchange).items():
        assert name == format_.name
        assert format_.read or format_.write
        assert (format_.reads is None, format_.writes is None) == (format_.read is None, format_.write is None)
        assert all(ending.startswith(".") and ending.islower() for ending in format_.extensions)


def test_two_formats_of_one_name_are_a_mistake_of_ours() -> None:
    with pytest.raises(ValueError, match="two formats"):
        formats(interchange, interchange)


@pytest.mark.parametrize("name", ["csv", "jsonl"])
def test_a_suite_that_is_exported_reads_back(tmp_path: Path, name: str) -> None:
    format_ = formats(interchange)[name]
    assert format_.read is not None
    assert format_.write is not None
    write_suite(tmp_path / "a.cases.yaml", suite())
    file = tmp_path / f"a{format_.extensions[0]}"
    source = FileSource(tmp_path / "a.cases.yaml", lambda: tmp_path)
    file.write_text(format_.write(source).text, encoding="utf-8", newline="")
    assert format_.read(file).suite == read_suite(tmp_path / "a.cases.yaml")


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
