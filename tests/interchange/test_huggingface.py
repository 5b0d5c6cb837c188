"""Folders of Hugging Face datasets: configurations, shards by name, what ``save_to_disk`` writes; nothing is fetched,
and nothing outside is read."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from promptpex.cases.file import read_suite, write_suite
from promptpex.cli.main import run_cli
from promptpex.core.errors import InputError
from promptpex.interchange import huggingface
from promptpex.interchange.format import Imported
from tests.samples import suite

arrow: Any = pytest.importorskip("pyarrow", reason="pyarrow is not installed (the extra parquet)")
pq: Any = pytest.importorskip("pyarrow.parquet")
COLUMNS = "q=inputs.q,a=expected"


def _parquet(path: Path, *questions: str, **more: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = {"q": list(questions), "a": ["yes"] * len(questions), **more}
    pq.write_table(arrow.table(table), path)


def _jsonl(path: Path, *questions: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps({"q": question, "a": "no"}) + "\n" for question in questions)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def _saved(folder: Path, split: str, *questions: str) -> None:
    folder.mkdir(parents=True)
    table = arrow.table({"q": list(questions), "a": ["yes"] * len(questions), "image": [{"bytes": b"x", "path": "p"}]})
    opened = arrow.ipc.new_stream if split == "test" else arrow.ipc.new_file  # both are what save_to_disk may write
    packed = arrow.ipc.IpcWriteOptions(compression="lz4")  # as write_feather does unless told otherwise
    with opened(str(folder / "data-00000-of-00001.arrow"), table.schema, options=packed) as file:
        file.write_table(table)
    state = {"_data_files": [{"filename": "data-00000-of-00001.arrow"}], "_split": split}
    (folder / "state.json").write_text(json.dumps(state), encoding="utf-8")


def _readme(folder: Path, front: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "README.md").write_text(f"---\n{front}---\n\n# A dataset\n", encoding="utf-8")


def _questions(made: Imported) -> list[str]:
    assert made.suite is not None
    return [case.inputs["q"] for case in made.suite.cases]


def test_a_configuration_says_which_files_are_a_split(tmp_path: Path) -> None:
    _parquet(tmp_path / "data" / "test-00000-of-00002.parquet", "one")
    _parquet(tmp_path / "data" / "test-00001-of-00002.parquet", "two", image=[{"bytes": b"x", "path": None}])
    _jsonl(tmp_path / "more" / "train.jsonl.gz", "three")
    _readme(
        tmp_path,
        "configs:\n- config_name: main\n  data_files:\n  - split: test\n    path: data/test-*.parquet\n"
        "  - split: train\n    path: [more/*.jsonl.gz]\n- config_name: small\n  data_files: more/train.jsonl.gz\n",
    )
    assert huggingface.recognise(tmp_path)
    read = huggingface.read
    made = read(tmp_path, columns=COLUMNS, dataset_config="main", split="test")
    assert _questions(made) == ["one", "two"]
    assert {note.name for note in made.notes} == {"image", "train"}
    assert _questions(read(tmp_path, columns=COLUMNS, dataset_config="main", split="train")) == ["three"]
    assert _questions(read(tmp_path, columns=COLUMNS, dataset_config="small")) == ["three"]
    refused: tuple[tuple[dict[str, Any], str], ...] = (
        ({}, "several configurations (main, small)"),
        ({"dataset_config": "x"}, "no configuration 'x'; there are main, small"),
        ({"dataset_config": "main"}, "several splits (test, train); name one with --split"),
        ({"dataset_config": "main", "split": "dev"}, "no split 'dev'; there are test, train"),
    )
    for options, says in refused:
        with pytest.raises(InputError) as failure:
            read(tmp_path, columns=COLUMNS, **options)
        assert says in str(failure.value)


def test_names_of_files_and_folders_tell_the_split(tmp_path: Path) -> None:
    _parquet(tmp_path / "data" / "train-00000-of-00001.parquet", "one")
    _parquet(tmp_path / "data" / "dev.parquet", "two")
    _parquet(tmp_path / "eval" / "a.parquet", "three")
    _parquet(tmp_path / "data" / "hard-00000-of-00001.parquet", "four")
    _jsonl(tmp_path / "data" / "test.jsonl", "five")
    wanted = {"train": ["one"], "validation": ["two"], "test": ["three"], "hard": ["four"]}
    assert {split: _questions(huggingface.read(tmp_path, columns=COLUMNS, split=split)) for split in wanted} == wanted
    notes = huggingface.read(tmp_path, columns=COLUMNS, split="train").notes
    assert ("data/test.jsonl", "only .parquet files are read here") in {(note.name, note.why) for note in notes}


def test_what_save_to_disk_wrote_is_read(tmp_path: Path) -> None:
    _saved(tmp_path / "one", "test", "q1")
    _saved(tmp_path / "all" / "train", "train", "q2")
    _saved(tmp_path / "all" / "test", "test", "q3")
    (tmp_path / "all" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}', encoding="utf-8")
    assert huggingface.recognise(tmp_path / "one")
    assert huggingface.recognise(tmp_path / "all")
    made = huggingface.read(tmp_path / "one", columns=COLUMNS)
    assert (_questions(made), [note.name for note in made.notes]) == (["q1"], ["image"])
    assert _questions(huggingface.read(tmp_path / "all", columns=COLUMNS, split="test")) == ["q3"]


def test_a_suite_goes_out_as_a_folder_and_comes_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_suite(tmp_path / "a.cases.yaml", suite())
    out = tmp_path / "dataset"
    assert run_cli(["export", "huggingface", str(tmp_path / "a.cases.yaml"), "--out", str(out), "--split", "dev"]) == 0
    assert sorted(path.name for path in out.rglob("*.*")) == ["README.md", "dev-00000-of-00001.parquet"]
    assert run_cli(["import", str(out), "--out", str(tmp_path / "b.cases.yaml")]) == 0
    assert read_suite(tmp_path / "b.cases.yaml").cases == read_suite(tmp_path / "a.cases.yaml").cases
    bad = ["export", "huggingface", str(tmp_path / "a.cases.yaml"), "--out", str(out), "--split", "../x"]
    assert run_cli(bad) == 2
    assert "is not a split name" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("front", "says"),
    [
        ("data_files: https://x/y.csv", "is not fetched"),
        ("data_files: ../secret.csv", "outside the folder"),
        ("data_files: /etc/*.csv", "outside the folder"),
        ("data_files: out/secret.csv", "outside the folder"),
        ("data_files: link.csv", "outside the folder"),
        ("data_files: '*.csv'", "no .parquet"),
        ("data_files: '**/*.csv'", "no .parquet"),
        ("data_files: [a.csv, {split: test, path: b.csv}]", "mixes paths and splits"),
        ("data_files: {test: 3}", "must name paths"),
        ("data_files: nothing.csv", "no .parquet"),
    ],
)
def test_what_leads_out_of_the_folder_or_is_no_file_is_one_sentence(tmp_path: Path, front: str, says: str) -> None:
    folder = tmp_path / "here"
    (tmp_path / "secret.csv").write_text("q,a\nsecret,x\n", encoding="utf-8")
    _readme(folder, f"configs:\n- config_name: default\n  {front}\n")
    (folder / "out").symlink_to(tmp_path)
    (folder / "link.csv").symlink_to(tmp_path / "secret.csv")
    with pytest.raises(InputError) as failure:
        huggingface.read(folder, columns=COLUMNS)
    assert says in str(failure.value)
    assert len(str(failure.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("state.json", '{"_data_files": [{"filename": "../x.arrow"}]}', "outside the folder"),
        ("state.json", '{"_data_files": [{"filename": "gone.arrow"}]}', "there is no such table"),
        ("state.json", "[1]", "must be a mapping"),
        ("state.json", "{" * 5_000, "not valid JSON"),
        ("dataset_dict.json", '{"splits": ["../.."]}', "outside the folder"),
        ("a.parquet", "PAR1", "cannot be read as Parquet"),
        ("a.arrow", "ARROW1", "cannot be read as Arrow"),
        ("a.csv", "q,a\n\0", "binary"),
        ("a.json", "[1]", "row 1 is a number"),
        ("a.json", "[NaN]", "NaN is not JSON"),
        ("a.jsonl.gz", "no gzip", "cannot be read"),
        ("notes.txt", "", "there are no rows"),
    ],
)
def test_broken_folders_are_one_sentence(tmp_path: Path, name: str, content: str, says: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as failure:
        huggingface.read(tmp_path, columns=COLUMNS)
    assert says in str(failure.value)
    assert len(str(failure.value).splitlines()) == 1
