"""Files of a stranger's checkout: what they name stays in their folder, and their links lead nothing out."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from promptpex.assertions import assertion_file
from promptpex.cases.samples_and_scenarios import read_samples
from promptpex.cli.main import run_cli
from promptpex.codecs.files.atomic import write_text
from promptpex.codecs.files.ordinary_files import inside, opened, read_bytes
from promptpex.config import load
from promptpex.core.errors import CheckError, ConfigError, InputError, PromptFileError, RunError, StoreError
from promptpex.documents.schema_ref import keep_schema
from promptpex.llm.fake import FakeClient
from promptpex.llm.record_replay import RecordingClient, ReplayClient
from promptpex.promptfile import read as read_prompt
from promptpex.promptfile.metric_files import metrics_beside
from promptpex.report import runs, summarise
from promptpex.report.files import write
from promptpex.specs.file import read_spec, write_spec
from promptpex.store import SqliteStore
from promptpex.workflow.estimate import estimate
from promptpex.workflow.execution.run_records import begin, execute
from promptpex.workflow.metrics import metrics_of
from promptpex.workflow.session import open_session
from promptpex.workflow.validation.validate import validate
from tests.samples import prompt, spec, suite
from tests.tables.by_hand import colours

SECRET = "SECRET-OF-THE-USER"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The stranger's project; beside it, in ``private``, lies a file of the user's."""
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "key.txt").write_text(SECRET + "\n", encoding="utf-8")
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    return project


def users(checkout: Path) -> Path:
    return checkout.parent / "private" / "key.txt"


def untouched(checkout: Path) -> bool:
    private = checkout.parent / "private"
    return users(checkout).read_text(encoding="utf-8") == SECRET + "\n" and os.listdir(private) == ["key.txt"]


def ways(checkout: Path) -> list[str]:
    """Names that lead to the user's file: up and down again, from the root, by a link, by a link to a folder."""
    (checkout / "link.txt").symlink_to(users(checkout))
    (checkout / "far").symlink_to(users(checkout).parent, target_is_directory=True)
    return ["../private/key.txt", str(users(checkout)), "link.txt", "far/key.txt"]


def test_a_value_file_is_read_in_its_folder_alone(checkout: Path) -> None:
    for name in ways(checkout):
        path = checkout / "asserts.yaml"
        path.write_text(f"- {{kind: contains, value: 'file://{name}'}}\n", encoding="utf-8")
        with pytest.raises(CheckError, match="outside the folder") as caught:
            assertion_file.read(path)
        assert SECRET not in str(caught.value)
        assert caught.value.line == 1


def test_a_value_file_in_the_folder_is_read(checkout: Path) -> None:
    (checkout / "values").mkdir()
    (checkout / "values" / "v.txt").write_text("fine\n", encoding="utf-8")
    (checkout / "v.txt").symlink_to("values/v.txt")
    path = checkout / "asserts.yaml"
    for name in ("values/v.txt", "v.txt"):
        path.write_text(f"- {{kind: contains, value: 'file://{name}'}}\n", encoding="utf-8")
        assert assertion_file.read(path).raw[0]["value"] == "fine"


def test_a_value_file_has_a_limit_and_is_ordinary(checkout: Path) -> None:
    path = checkout / "asserts.yaml"
    path.write_text("- {kind: contains, value: 'file://v.txt'}\n", encoding="utf-8")
    (checkout / "v.txt").write_bytes(b"x" * 1_000_001)
    with pytest.raises(CheckError, match="the limit is 1 MB"):
        assertion_file.read(path)
    (checkout / "v.txt").unlink()
    os.mkfifo(checkout / "v.txt")
    with pytest.raises(CheckError, match="not an ordinary file"):
        assertion_file.read(path)


def test_validate_and_export_read_no_prompt_outside_the_folder(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in (*ways(checkout), ".", "/"):
        write_spec(checkout / "p.spec.yaml", spec().replace(prompt=name))
        (checkout / "p.cases.yaml").write_text(f"prompt: {name}\ncases:\n  - {{id: c, inputs: {{a: b}}}}\n")
        for file in ("p.spec.yaml", "p.cases.yaml"):
            problems = [problem.text() for problem in validate([checkout / file])]
            assert not any("SECRET" in line for line in problems)
            if name != ".":
                assert any("outside the folder" in line for line in problems), name
        assert run_cli(["export", "promptfoo", str(checkout / "p.cases.yaml")]) == 2
        printed = "".join(capsys.readouterr())
        assert SECRET not in printed
        assert "internal error" not in printed
        (checkout / "p.spec.yaml").unlink()


def test_samples_are_read_in_the_folder_alone(checkout: Path) -> None:
    users(checkout).with_suffix(".jsonl").write_text(json.dumps(SECRET), encoding="utf-8")
    (checkout / "s.jsonl").symlink_to(users(checkout).with_suffix(".jsonl"))
    for name in ("../private/key.jsonl", "s.jsonl"):
        with pytest.raises(ConfigError, match="outside the folder"):
            read_samples(name, variables=("a",), path=checkout / "prompt.md")
    (checkout / "s.jsonl").unlink()
    os.mkfifo(checkout / "s.jsonl")
    with pytest.raises(ConfigError, match="not an ordinary file"):
        read_samples("s.jsonl", variables=("a",), path=checkout / "prompt.md")


async def test_a_metric_file_reaches_nothing_and_its_requests_are_reported(checkout: Path) -> None:
    here = prompt().replace(path=str(checkout / "prompt.md"))
    (checkout / "tone.metric.md").symlink_to(users(checkout))
    with pytest.raises(PromptFileError, match="leads out of its project"):
        metrics_beside(checkout / "prompt.md")
    (checkout / "tone.metric.md").unlink()
    os.mkfifo(checkout / "tone.metric.md")
    with pytest.raises(PromptFileError, match="not an ordinary file"):
        metrics_beside(checkout / "prompt.md")
    (checkout / "tone.metric.md").unlink()
    (checkout / "tone.metric.md").write_text("{{output}}", encoding="utf-8")
    tries = {"file": "require('fs').readFileSync", "env": "process.env", "net": "fetch('http://127.0.0.1')"}
    for name, code in tries.items():
        (checkout / f"{name}.metric.js").write_text(code, encoding="utf-8")
    (checkout / "open.metric.py").write_text("len(open('/etc/passwd').read())", encoding="utf-8")
    settings = {"models": ["fake/m"], "judge": ["fake/j"], "store": str(checkout.parent / "store.db")}
    client = FakeClient(lambda request: "RED")
    async with open_session(load(settings, start=checkout, env={}), provider=client) as session:
        lines = {line.stage: line.calls for line in await estimate(session, here, spec(), suite())}
        (checkout / "python.metric.md").write_text("{{output.__class__.__mro__}}", encoding="utf-8")
        run = await execute(session, await begin(session, here, spec(), suite(), metrics=metrics_of(session, here)))
    assert lines["metric"] == len(suite().cases)
    assert {score.name for score in run.scores} == {"tone", "python", "open", *tries}
    assert all(score.value is None for score in run.scores), "nothing was reached"
    assert {score.unscored for score in run.scores if score.name == "python"} == {"bad-template"}


def test_a_prompt_or_a_spec_that_is_a_link_out_of_the_project_is_neither_read_nor_written(checkout: Path) -> None:
    (checkout / "prompt.md").symlink_to(users(checkout))
    with pytest.raises(PromptFileError, match="leads out of its project"):
        read_prompt(checkout / "prompt.md")
    (checkout / "prompt.spec.yaml").symlink_to(users(checkout))
    with pytest.raises(InputError, match="leads out of its project"):
        read_spec(checkout / "prompt.spec.yaml")
    (checkout / "new.spec.yaml").symlink_to(users(checkout).with_name("new"))
    with pytest.raises(OSError, match="leads out of its project"):
        write_spec(checkout / "new.spec.yaml", spec())
    assert untouched(checkout)


def test_a_link_within_the_project_is_followed(checkout: Path) -> None:
    (checkout / "shared").mkdir()
    write_spec(checkout / "shared" / "prompt.spec.yaml", spec())
    (checkout / "prompt.spec.yaml").symlink_to("shared/prompt.spec.yaml")
    assert read_spec(checkout / "prompt.spec.yaml").prompt == "prompt.md"
    write_text(checkout / "prompt.spec.yaml", "changed")
    assert (checkout / "prompt.spec.yaml").is_symlink()
    assert (checkout / "shared" / "prompt.spec.yaml").read_text(encoding="utf-8") == "changed"


RESULTS = ("report.csv", "results.csv", "verdicts.csv", "report.html", "manifest.json", "inputs.json",
           "outputs.jsonl", "verdicts.jsonl")  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_no_file_of_a_run_is_written_through_a_link(checkout: Path, name: str) -> None:
    folder = checkout / "results" / "colours" / "abc"
    folder.mkdir(parents=True)
    (folder / name).symlink_to(users(checkout))
    made = colours()
    runs.begin(folder, made)
    with runs.RecordWriter(folder / "outputs.jsonl") as kept:
        kept.add(made.outputs[0])
    runs.finish(folder, made)
    write(summarise(made), folder)
    assert untouched(checkout)
    assert not (folder / name).is_symlink()
    assert runs.read(folder) == made


@pytest.mark.parametrize("name", ["manifest.json", "inputs.json", "outputs.jsonl", "verdicts.jsonl"])
def test_no_file_of_a_run_is_read_through_a_link_or_from_a_pipe(checkout: Path, name: str) -> None:
    folder = checkout / "results" / "colours" / "abc"
    runs.finish(folder, colours())
    (folder / name).rename(checkout / name)
    (folder / name).symlink_to(checkout / name)
    readers: tuple[Callable[[Path], object], ...] = (runs.read, runs.read_for_report)
    for reader in readers:
        with pytest.raises(RunError, match="a link"):
            reader(folder)
    (folder / name).unlink()
    os.mkfifo(folder / name)
    for reader in readers:
        with pytest.raises(RunError):
            reader(folder)


@pytest.mark.parametrize("level", ["colours", "colours/abc"])
def test_a_folder_of_results_that_a_link_leads_elsewhere_is_refused(checkout: Path, level: str) -> None:
    results = checkout / "results"
    (results / level).parent.mkdir(parents=True)
    (results / level).symlink_to(users(checkout).parent, target_is_directory=True)
    with pytest.raises(RunError, match="leads this folder out"):
        runs.finish(results / "colours" / "abc", colours())
    with pytest.raises(RunError, match="leads this folder out"):
        write(summarise(colours()), results / "colours" / "abc")
    assert untouched(checkout)


def test_a_run_behind_a_link_is_not_found(checkout: Path) -> None:
    results, elsewhere = checkout / "results", checkout.parent / "elsewhere"
    runs.finish(elsewhere / "abc", colours())
    results.mkdir()
    (results / "colours").symlink_to(elsewhere, target_is_directory=True)
    with pytest.raises(RunError, match="no run here yet"):
        runs.latest(results)
    assert runs.latest_of(results, "colours") is None
    with pytest.raises(RunError, match="no such run"):
        runs.resolve(Path("abc"), results)


@pytest.mark.parametrize("end", ["", "-wal", "-shm"])
def test_the_store_is_no_link(checkout: Path, end: str) -> None:
    store = checkout / ".promptpex" / "store.db"
    store.parent.mkdir()
    store.with_name(f"store.db{end}").symlink_to(users(checkout).with_name("new"))
    with pytest.raises(StoreError, match="a link"):
        SqliteStore(store)
    assert untouched(checkout)


def test_a_schema_is_not_written_through_a_link(checkout: Path) -> None:
    write_spec(checkout / "p.spec.yaml", spec())
    copy = checkout / ".promptpex" / "schemas" / "spec.schema.json"
    copy.unlink()
    copy.symlink_to(users(checkout))
    assert keep_schema(checkout / "p.spec.yaml") == copy
    assert not copy.is_symlink()
    copy.unlink()
    copy.parent.rmdir()
    copy.parent.symlink_to(users(checkout).parent, target_is_directory=True)
    assert keep_schema(checkout / "p.spec.yaml") is None
    assert untouched(checkout)


async def test_a_recording_is_no_link_and_empties_nothing(checkout: Path) -> None:
    path = checkout / "rec.jsonl"
    path.symlink_to(users(checkout))
    with pytest.raises(ConfigError, match="link"):
        RecordingClient(FakeClient(["x"]), path)
    path.unlink()
    path.symlink_to(users(checkout).with_name("new"))
    with pytest.raises(ConfigError, match="link"):
        RecordingClient(FakeClient(["x"]), path)
    assert untouched(checkout)
    path.unlink()
    path.write_text("a-token-without-a-line-end", encoding="utf-8")
    with pytest.raises(ConfigError, match="not a recording"):
        RecordingClient(FakeClient(["x"]), path)
    assert path.read_text(encoding="utf-8") == "a-token-without-a-line-end"


def test_a_replay_is_an_ordinary_file(checkout: Path) -> None:
    with pytest.raises(ConfigError, match="not an ordinary file"):
        ReplayClient("/dev/zero")
    os.mkfifo(checkout / "rec.jsonl")
    with pytest.raises(ConfigError, match="not an ordinary file"):
        ReplayClient(checkout / "rec.jsonl")


def test_inside_knows_odd_names(checkout: Path) -> None:
    loop = checkout / "loop"
    loop.symlink_to(loop)
    for name in ("a\0b", "..", "../project-2/x", "~/../../etc/passwd"):
        with pytest.raises(InputError, match="outside the folder"):
            inside(checkout, name, error=InputError, what="file")
    with pytest.raises(InputError):
        opened(loop, error=InputError, what="file")
    for odd in ("/dev/zero", "/proc/self/environ-not-there", str(checkout)):
        with pytest.raises(InputError):
            read_bytes(Path(odd), error=InputError, what="file")


def test_check_reads_rows_from_no_pipe_and_shows_no_link_out(
    checkout: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(checkout)
    Path("rows.jsonl").symlink_to(users(checkout))
    assert run_cli(["check", "rows.jsonl"]) == 2
    assert SECRET not in "".join(capsys.readouterr())


PROMPT = "Name the colour of {{thing}}.\n"
SPEC = """prompt: prompt.md
rules:
  - {id: r1, rule: One word., source: the colour, checks: [{kind: contains, value: R}]}
"""
CASES = "prompt: prompt.md\ncases:\n  - {id: c1, rule: r1, inputs: {thing: fox}}\n"


@pytest.fixture
def there(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The checkout as the working folder, with a prompt, its spec and its cases."""
    for name, text in (("prompt.md", PROMPT), ("prompt.spec.yaml", SPEC), ("prompt.cases.yaml", CASES)):
        (checkout / name).write_text(text, encoding="utf-8")
    (checkout / "outputs.jsonl").write_text('{"output": "RED", "assert": []}\n', encoding="utf-8")
    monkeypatch.chdir(checkout)
    return checkout


RUN = ("run", "prompt.md", "--models", "fake/RED", "--judge", "none")


@pytest.mark.parametrize("target", ["key.txt", "new.txt"])
@pytest.mark.parametrize(
    "line",
    [
        (*RUN, "--log"),
        (*RUN, "--record"),
        ("check", "outputs.jsonl", "--out"),
        ("export", "csv", "prompt.cases.yaml", "--out"),
    ],
    ids=["log", "record", "check", "export"],
)
def test_a_file_that_a_flag_names_is_not_written_through_a_link_out(
    there: Path, capsys: pytest.CaptureFixture[str], line: tuple[str, ...], target: str
) -> None:
    (there / "l.jsonl").symlink_to(users(there).parent / target)
    assert run_cli([*line, "l.jsonl"]) == 2
    assert untouched(there)
    assert "link" in capsys.readouterr().err
    assert run_cli([*line, "ordinary.jsonl"]) in (0, 3)


@pytest.mark.parametrize(
    "name", ["promptpex.toml", "pyproject.toml", "prompt.md", "prompt.spec.yaml", "prompt.cases.yaml"]
)
@pytest.mark.parametrize("kind", ["link", "pipe", "device"])
@pytest.mark.parametrize(
    "line", [RUN, ("validate", "prompt.md"), ("extract", "prompt.md", "--author", "fake/x", "--force")]
)
def test_no_file_of_the_project_is_a_way_out_or_without_end(
    there: Path, capfd: pytest.CaptureFixture[str], name: str, kind: str, line: tuple[str, ...]
) -> None:
    (there / name).unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(there / name)
    else:
        (there / name).symlink_to(users(there) if kind == "link" else "/dev/zero")
    refused = run_cli(list(line)) in (2, 3)
    assert refused or name.endswith(".toml")  # anything else is not a settings file
    printed = "".join(capfd.readouterr())
    assert untouched(there)
    assert SECRET not in printed
    assert "internal error" not in printed
