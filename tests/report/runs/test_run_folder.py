from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex import tables
from promptpex.codecs.jsonl import dump_record
from promptpex.core.errors import RunError
from promptpex.core.records import Case, TokenLogprob
from promptpex.report import runs
from promptpex.report.runs.references import runs_in
from tests.tables.by_hand import colours, output, run, verdict

ANY_TEXT = st.text(st.characters(), max_size=40)


def test_a_run_comes_back_as_it_was(tmp_path: Path) -> None:
    made = colours()
    runs.finish(tmp_path, made)
    assert runs.read(tmp_path) == made
    assert runs.read_manifest(tmp_path) == made.manifest


@settings(deadline=None, max_examples=30)
@given(
    text=ANY_TEXT,
    message=st.none() | ANY_TEXT,
    value=st.recursive(st.none() | st.booleans() | st.integers() | ANY_TEXT, st.lists, max_leaves=4),
)
def test_any_text_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, text: str, message: str | None, value: Any
) -> None:
    folder = tmp_path_factory.mktemp("run")
    case = Case(id="c1", inputs={"thing": value})
    made = run([output(text=text, message=message)], [verdict("fail", reason=text)], cases=(case,))
    runs.finish(folder, made)
    assert runs.read(folder) == made


def test_lone_surrogates_and_line_separators_are_kept_and_the_file_is_utf8(tmp_path: Path) -> None:
    made = run([output(text="a\u2028b\u0085c\rd\x00", message="\ud800 x")])
    runs.finish(tmp_path, made)
    assert (tmp_path / "outputs.jsonl").read_bytes().decode("utf-8").count("\n") == 1
    assert runs.read(tmp_path) == made
    with runs.RecordWriter(tmp_path / "outputs.jsonl") as appender:
        appender.add(made.outputs[0])
    assert runs.read(tmp_path) == made


def test_a_token_of_no_likelihood_comes_back(tmp_path: Path) -> None:
    token = TokenLogprob(token="a", logprob=float("-inf"), top=(("b", float("-inf")),))
    made = run([output(text="a", logprobs=(token,))])
    runs.finish(tmp_path, made)
    assert runs.read(tmp_path) == made


def test_finishing_twice_writes_the_same_bytes(tmp_path: Path) -> None:
    runs.finish(tmp_path / "one", colours())
    runs.finish(tmp_path / "two", runs.read(tmp_path / "one"))
    for name in ("manifest.json", "inputs.json", "outputs.jsonl", "verdicts.jsonl"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_each_record_is_on_disk_as_soon_as_it_is_added(tmp_path: Path) -> None:
    made = colours()
    runs.begin(tmp_path, made)
    with runs.RecordWriter(tmp_path / "outputs.jsonl") as appender:
        for count, one in enumerate(made.outputs, 1):
            appender.add(one)
            assert runs.read(tmp_path).outputs == made.outputs[:count]


def test_a_line_cut_by_a_crash_is_left_out(tmp_path: Path) -> None:
    made = colours()
    runs.finish(tmp_path, made)
    whole = (tmp_path / "outputs.jsonl").read_bytes()
    for cut in (1, 2, 30):
        (tmp_path / "outputs.jsonl").write_bytes(whole[:-cut])
        assert runs.read(tmp_path).outputs == made.outputs[:-1]


def test_a_run_that_only_began_reads_as_empty(tmp_path: Path) -> None:
    runs.begin(tmp_path, colours())
    read = runs.read(tmp_path)
    assert (read.outputs, read.verdicts) == ((), ())
    assert read.suite == colours().suite


@pytest.mark.parametrize(
    "damage",
    [
        b"{\n",
        b"\n",
        b"[]\n",
        b"[" * 100_000 + b"\n",
        b'{"case": "c1"}\n',
        b'{"case": "c1", "model": "m", "colour": 1}\n',
        b'{"case": "\xff"}\n',
    ],
)
def test_a_damaged_line_is_named_with_its_number(tmp_path: Path, damage: bytes) -> None:
    runs.begin(tmp_path, colours())
    good = dump_record(output()).encode("utf-8")
    (tmp_path / "outputs.jsonl").write_bytes(good * 2 + damage + good)
    with pytest.raises(RunError, match="is damaged") as caught:
        runs.read(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / 'outputs.jsonl'}:3: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["manifest.json", "inputs.json"])
@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"run": 1}', b"\xff", b"[" * 100_000])
def test_a_damaged_file_is_named(tmp_path: Path, name: str, damage: bytes) -> None:
    runs.finish(tmp_path, colours())
    (tmp_path / name).write_bytes(damage)
    with pytest.raises(RunError, match="is damaged") as caught:
        runs.read(tmp_path)
    assert caught.value.path == tmp_path / name
    assert "run `promptpex run` again" in str(caught.value)


def test_no_run_and_missing_inputs_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"no run here: manifest\.json is missing"):
        runs.read(tmp_path)
    runs.finish(tmp_path, colours())
    (tmp_path / "inputs.json").unlink()
    with pytest.raises(RunError, match="no such file of the run; run `promptpex run` again"):
        runs.read(tmp_path)


def test_a_folder_that_cannot_be_made_is_an_error_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(RunError, match="cannot write the run's folder"):
        runs.begin(tmp_path / "file" / "run", colours())
    (tmp_path / "outputs.jsonl").mkdir()
    with pytest.raises(RunError, match="cannot write the run's folder"):
        runs.finish(tmp_path, colours())


@given(ANY_TEXT)
def test_folder_names_are_safe_on_every_system(name: str) -> None:
    folder = runs.folder_for(Path("results"), name, "run-1")
    assert folder.parent.parent == Path("results")
    safe = folder.parent.name
    assert 0 < len(safe) <= 81
    assert not safe.startswith(".")
    assert not safe.endswith((".", " "))
    assert not re.search(r'[<>:"/\\|?*\x00-\x1f]', safe)


@pytest.mark.parametrize("name", ["con", "NUL", "com1", "aux.v2"])
def test_names_of_devices_are_no_folder_names(name: str) -> None:
    assert runs.folder_for(Path("results"), name, "x").parent.name == f"_{name}"


def test_names_that_are_safe_stay_as_they_are() -> None:
    for name in ("speech-tag", "phân-loại-ý-kiến", "console", "v1.2"):
        assert runs.folder_for(Path("results"), name, "x").parent.name == name
    assert runs.folder_for(Path("results"), "../..", "x") == Path("results/_/x")
    assert runs.folder_for(Path("results"), "", "x") == Path("results/prompt/x")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Three runs of two prompts, the last one written last."""
    root = tmp_path / "bob" / "results"
    for age, place in enumerate(("red/run-1", "red/run-2", "blue/run-1")):
        runs.begin(root / place, colours())
        os.utime(root / place / "manifest.json", ns=(age, age))
    return root


def test_a_run_is_found_by_folder_by_prompt_and_by_id(results: Path) -> None:
    assert runs.resolve(None, results) == results / "blue" / "run-1"
    assert runs.resolve(results / "red" / "run-1", results) == results / "red" / "run-1"
    assert runs.resolve(Path("red/run-1"), results) == results / "red" / "run-1"
    assert runs.resolve(Path("run-2"), results) == results / "red" / "run-2"
    assert runs.resolve(Path("blue"), results) == results / "blue" / "run-1"
    assert list(runs_in(results)) == [results / "blue" / "run-1", results / "red" / "run-1", results / "red" / "run-2"]


def test_a_name_that_fits_several_runs_lists_them(results: Path) -> None:
    with pytest.raises(RunError, match=r"several runs \(blue.run-1, red.run-1\)"):
        runs.resolve(Path("run-1"), results)


@pytest.mark.parametrize("name", ["bob", "results", "manifest.json", "green/run-2", "run-9", "."])
def test_a_name_that_fits_none_is_an_error(results: Path, name: str) -> None:
    with pytest.raises(RunError, match="no such run"):
        runs.resolve(Path(name), results)


def test_no_run_at_all_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="promptpex run PROMPT"):
        runs.latest(tmp_path / "results")


def test_a_line_is_json_without_escapes_that_people_cannot_read() -> None:
    line = dump_record(output(text="Tiếng Việt"))
    assert "Tiếng Việt" in line
    assert json.loads(line) == {"case": "c1", "model": "m", "text": "Tiếng Việt"}


def test_a_run_that_has_not_ended_says_so_and_keeps_no_verdict_of_another_execution(tmp_path: Path) -> None:
    runs.finish(tmp_path, colours())
    assert runs.read_manifest(tmp_path).partial is None
    runs.begin(tmp_path, colours())
    kept = runs.read(tmp_path)
    assert kept.manifest.partial == "killed"
    assert kept.verdicts == ()


def test_verdicts_without_their_output_are_left_out(tmp_path: Path) -> None:
    """A folder of an earlier version that was killed: outputs of one execution, verdicts of another."""
    made = colours()
    runs.finish(tmp_path, made)
    first = (tmp_path / "outputs.jsonl").read_bytes().splitlines(keepends=True)[0]
    (tmp_path / "outputs.jsonl").write_bytes(first)
    wanted = tuple(verdict for verdict in made.verdicts if verdict.key == made.outputs[0].key)
    assert 0 < len(wanted) < len(made.verdicts)
    assert runs.read(tmp_path).verdicts == wanted
    assert len(tables.verdicts(runs.read_for_report(tmp_path))) == len(wanted)


@pytest.mark.parametrize(
    ("place", "settings"),
    [
        ("results", ""),
        ("out/runs", 'results = "out/runs"\n'),
        ("results", "results = 5\n"),
        ("results", "results = ["),
        ("results", 'results = "../../../elsewhere"\n'),
        ("results", 'results = "a\\u0000b"\n'),
    ],
)
def test_where_there_is_no_run_one_below_settings_of_its_own_is_named(
    tmp_path: Path, place: str, settings: str
) -> None:
    kept = tmp_path / "shops" / "shop" / place / "prompt" / "r1"
    runs.finish(kept, colours())
    with pytest.raises(RunError) as alone:
        runs.latest(tmp_path / "results")
    (tmp_path / "shops" / "shop" / "promptpex.toml").write_text(settings, encoding="utf-8")
    with pytest.raises(RunError) as named:
        runs.latest(tmp_path / "results")
    assert "no run here yet" in str(alone.value)
    assert str(kept) not in str(alone.value)
    assert str(kept) in str(named.value)
