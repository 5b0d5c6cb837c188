"""``huggingface``: a folder of a Hugging Face dataset as cases, and cases as such a folder; nothing is fetched.

After the Hub's "Structure your repository" and ``save_to_disk`` of ``datasets``: the configurations of README.md and
their ``data_files``, else files by the names of their splits, else ``state.json`` with Arrow files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from promptpex.codecs import json_text, jsonl
from promptpex.codecs.files.gzipped import plain_name
from promptpex.codecs.files.ordinary_files import MEGABYTE, inside, is_file, is_inside
from promptpex.codecs.files.text_file import read_text
from promptpex.codecs.safe_csv import MAX_BYTES
from promptpex.core.errors import InputError, SuiteError
from promptpex.core.translation import stored
from promptpex.documents import yaml_reader, yaml_writer
from promptpex.interchange import suite_csv, suite_jsonl, suite_parquet
from promptpex.interchange.column_mapping import COLUMNS, FIRST, Table, imported
from promptpex.interchange.format import Exported, Format, Imported, Mapped, Option, Source, head
from promptpex.interchange.notes import Note
from promptpex.interchange.reading.foreign_values import named

README, INFO, STATE, DICT = "README.md", "dataset_info.json", "state.json", "dataset_dict.json"
_KINDS = (".parquet", ".jsonl", ".ndjson", ".csv", ".json", ".arrow")
"""Endings of files of rows; of those without a configuration the first kind that is there is read."""
_WORDS = {
    "train": ("train", "training"), "validation": ("validation", "valid", "val", "dev"),
    "test": ("test", "testing", "eval", "evaluation"),
}  # fmt: skip
_SHARD = re.compile(r"(.+?)-\d{5}-of-\d{5}", re.ASCII)
_FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_MOST_FILES = 10_000
_DEEPEST = 6

Splits = dict[str, list[Path]]
"""The files of each split, in order."""


def read(
    path: Path, *, columns: str | None = None, first: int | None = None, split: str | None = None,
    dataset_config: str | None = None,
) -> Imported:  # fmt: skip
    """The cases of a split of a dataset's folder.

    Args:
        columns: which columns are what, where they are not called as ours are; dots lead into mappings.
        first: how many rows are read; by default all.
        split: its name; may be left out where there is one.
        dataset_config: the configuration, where README.md lists several.

    Raises:
        SuiteError: there are no rows, several splits and none is named, a file lies outside, or a row is wrong.
    """
    if not path.is_dir():
        raise SuiteError("a Hugging Face dataset is a folder; name the folder", path=path)
    splits, notes = _splits(path, dataset_config)
    if not splits:
        raise SuiteError(
            f"there are no rows: no {', '.join(_KINDS)} files that README.md or file names point to", path=path
        )
    if split is None and len(splits) > 1:
        raise SuiteError(f"there are several splits ({', '.join(splits)}); name one with --split", path=path)
    chosen = split if split is not None else next(iter(splits))
    if chosen not in splits:
        raise SuiteError(f"there is no split {chosen!r}; there are {', '.join(splits)}", path=path)
    others = [name for name in splits if name != chosen]
    notes += [Note("left out", name, stored("a different split was asked for"), str(path)) for name in others]
    imported_table = imported(_table(splits[chosen], path), columns=columns, first=first)
    return Imported(
        suite=imported_table.suite,
        problems=imported_table.problems,
        over=imported_table.over,
        notes=(*imported_table.notes, *notes),
    )


def _table(files: Sequence[Path], folder: Path) -> Table:
    """The rows of all files of a split, numbered through."""
    tables = [_of_file(file) for file in files]
    names = dict.fromkeys(name for table in tables for name in table.columns)
    unfit = {name: kind for table in tables for name, kind in table.unfit.items()}
    rows = enumerate((row for table in tables for _, row in table.rows), 1)
    at = files[0] if len(files) == 1 else folder
    return Table(at, tuple(names), tables[0].rows if len(tables) == 1 else rows, unfit, nested=True)


def _of_file(file: Path) -> Table:
    ending = plain_name(file).suffix.lower()
    if ending == ".parquet":
        return suite_parquet.table_of(file)
    if ending == ".arrow":
        return suite_parquet.table_of(file, "Arrow")
    text = _text(file)
    if ending == ".csv":
        return suite_csv.table_of(text, file)
    if ending == ".json" and text.lstrip().startswith("["):
        return suite_jsonl.table_of(list(_objects(text, file)), file)
    return suite_jsonl.table_of(list(suite_jsonl.objects(text, file)), file)


def _text(file: Path) -> str:
    if plain_name(file) == file:
        return read_text(file, error=SuiteError, what="table", limit=MAX_BYTES)
    lines = jsonl.raw_lines(file, what="table", error=SuiteError, links=False, longest=MAX_BYTES)
    try:
        return "".join(_within_limit((f"{line.data.decode('utf-8')}\n" for line in lines), file))
    except UnicodeDecodeError:
        raise SuiteError("the table is not UTF-8 text", path=file) from None


def _within_limit(lines: Iterator[str], file: Path) -> Iterator[str]:
    length = 0
    for line in lines:
        length += len(line)
        if length > MAX_BYTES:
            raise SuiteError(f"the table is larger unpacked than {MAX_BYTES // MEGABYTE} MB", path=file)
        yield line


def _objects(text: str, file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a list in JSON, numbered from 1."""
    for number, row in enumerate(_json(text, file), 1):
        if not isinstance(row, dict):
            raise SuiteError(f"row {number} is {named(row)}, not an object", path=file)
        yield number, row


def _json(text: str, file: Path) -> Any:
    try:
        return json_text.loads(text)
    except (ValueError, RecursionError) as failure:
        raise SuiteError(f"this is not valid JSON: {json_text.why_not_json(failure)}", path=file) from None


def _splits(folder: Path, config: str | None) -> tuple[Splits, list[Note]]:
    """The splits of a folder, and what of it is not read."""
    saved = _saved(folder)
    if saved:
        return saved, []
    configured = _configured(folder, config)
    if configured:
        return configured, []
    if config is not None:
        raise SuiteError(f"README.md lists no configuration {config!r}", path=folder)
    return _by_name(folder)


def _saved(folder: Path) -> Splits:
    """What ``save_to_disk`` has written: a dataset, or a folder of one for each split."""
    if is_file(folder / STATE):
        state = _mapping(folder / STATE)
        files = state.get("_data_files")
        names = [one.get("filename") for one in files if isinstance(one, dict)] if isinstance(files, list) else []
        return {str(state.get("_split") or "train"): [_inside(folder, str(name), folder / STATE) for name in names]}
    if not is_file(folder / DICT):
        return {}
    split_names = _mapping(folder / DICT).get("splits")
    splits: Splits = {}
    for name in split_names if isinstance(split_names, list) else ():
        part = _inside(folder, str(name), folder / DICT)
        if is_file(part / STATE):
            splits[str(name)] = next(iter(_saved(part).values()))
    return splits


def _mapping(file: Path) -> Mapping[str, Any]:
    value = _json(read_text(file, error=SuiteError, what="description of a dataset", limit=20 * MEGABYTE), file)
    if not isinstance(value, dict):
        raise SuiteError(f"this must be a mapping, not {named(value)}", path=file)
    return value


def _inside(folder: Path, name: str, file: Path) -> Path:
    return inside(folder, name, error=SuiteError, what="file of rows", path=file)


def _configured(folder: Path, config: str | None) -> Splits:
    """The splits of a configuration of README.md."""
    readme = folder / README
    if not is_file(readme):
        return {}
    front = _FRONT.match(read_text(readme, error=SuiteError, what="README.md", limit=5 * MEGABYTE))
    doc = yaml_reader.load(front[1], path=readme, error=SuiteError, what="README.md", first_line=2) if front else None
    configurations = doc.data.get("configs") if doc is not None and isinstance(doc.data, dict) else None
    configs = [one for one in configurations if isinstance(one, dict)] if isinstance(configurations, list) else []
    by_name = {str(one.get("config_name") or "default"): one for one in configs if one.get("data_files") is not None}
    if not by_name:
        return {}
    if config is None and len(by_name) > 1 and "default" not in by_name:
        names = ", ".join(by_name)
        raise SuiteError(
            f"README.md lists several configurations ({names}); name one with --dataset-config", path=readme
        )
    chosen = config or ("default" if "default" in by_name else next(iter(by_name)))
    if chosen not in by_name:
        raise SuiteError(f"there is no configuration {chosen!r}; there are {', '.join(by_name)}", path=readme)
    within = by_name[chosen].get("data_dir")
    files = list(_files(folder))
    return {
        split: [file for pattern in patterns for file in _matching(files, folder, pattern, within, readme)]
        for split, patterns in _patterns(by_name[chosen]["data_files"], readme)
    }


def _patterns(value: object, readme: Path) -> Iterator[tuple[str, list[str]]]:
    """The patterns of each split: one for all, a list, or a mapping or list that names splits."""
    if isinstance(value, dict):
        yield from ((str(split), _texts(paths, readme)) for split, paths in value.items())
    elif isinstance(value, list) and any(isinstance(one, dict) for one in value):
        for one in value:
            if not isinstance(one, dict):
                raise SuiteError("data_files mixes paths and splits; give each path its split", path=readme)
            yield str(one.get("split") or "train"), _texts(one.get("path"), readme)
    else:
        yield "train", _texts(value, readme)


def _texts(value: object, readme: Path) -> list[str]:
    values = value if isinstance(value, list) else [value]
    texts = [one for one in values if isinstance(one, str)]
    if len(texts) != len(values):
        raise SuiteError("data_files must name paths in this folder", path=readme)
    return texts


def _matching(files: Sequence[Path], folder: Path, pattern: str, within: object, readme: Path) -> list[Path]:
    """The files that a pattern names.

    Raises:
        SuiteError: it is an address, leads out of the folder, or names no file that can be read.
    """
    glob = pattern.removeprefix("./")
    if "://" in glob:
        raise SuiteError(f"data_files names the address {pattern!r}, which is not fetched", path=readme)
    if isinstance(within, str) and within not in (".", "./"):
        glob = f"{within.removeprefix('./').rstrip('/')}/{glob}"
    _inside(folder, glob.replace("*", "x"), readme)
    shape = re.escape(glob).replace(r"\*\*/", "(?:.*/)?").replace(r"\*\*", ".*").replace(r"\*", "[^/]*")
    exact = re.compile(shape.replace(r"\?", "[^/]"))
    matching = [file for file in files if exact.fullmatch(file.relative_to(folder).as_posix())]
    if not matching:
        raise SuiteError(
            f"data_files names {pattern!r}, and no {', '.join(_KINDS)} file here has that name", path=readme
        )
    return matching


def _files(folder: Path) -> Iterator[Path]:
    """The files of rows in a folder, in order, links that lead out left aside."""
    return islice((file for file in _walk(folder) if is_inside(file, folder)), _MOST_FILES)


def _walk(folder: Path) -> Iterator[Path]:
    for at, folders, names in os.walk(folder):
        deep = len(Path(at).relative_to(folder).parts) >= _DEEPEST
        folders[:] = [] if deep else sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if plain_name(Path(name)).suffix.lower() in _KINDS and name not in (INFO, STATE, DICT):
                yield Path(at) / name


def _by_name(folder: Path) -> tuple[Splits, list[Note]]:
    """The splits that the names of files and folders tell, of the first kind of file that is there."""
    files = list(_files(folder))
    by_kind = {kind: [file for file in files if plain_name(file).suffix.lower() == kind] for kind in _KINDS}
    kind = next((kind for kind in _KINDS if by_kind[kind]), "")
    notes = [
        Note(
            "left out",
            file.relative_to(folder).as_posix(),
            stored("only {kind} files are read here", kind=kind),
            str(file),
        )
        for file in files
        if plain_name(file).suffix.lower() != kind
    ]
    splits: Splits = {}
    for file in by_kind.get(kind, ()):
        splits.setdefault(_split_of(PurePosixPath(file.relative_to(folder).as_posix())), []).append(file)
    return splits, notes


def _split_of(name: PurePosixPath) -> str:
    """The split that a path tells: by its name, then by its folders; else ``train``."""
    stem = name.name.partition(".")[0]
    for part in (stem, *reversed(name.parts[:-1])):
        words = re.split(r"[^a-z]+", part.lower())
        of_part = next(
            (split for split, split_words in _WORDS.items() if any(word in split_words for word in words)), None
        )
        if of_part is not None:
            return of_part
    shard = _SHARD.match(stem)
    return shard[1] if shard else "train"


def write(source: Source, *, split: str) -> Exported:
    """The cases as a folder: README.md with its configuration, and a Parquet file."""
    if not re.fullmatch(r"\w+(\.\w+)*", split, re.ASCII):
        raise InputError(f"--split: {split!r} is not a split name; use letters, digits and _")
    suite = source.suite()
    place = f"data/{split}-00000-of-00001.parquet"
    front = {"configs": [{"config_name": "default", "data_files": [{"split": split, "path": place}]}]}
    about = (
        f"# Cases\n\n{len(suite.cases)} cases of a prompt. `inputs.NAME` is an input, `expected` the right output.\n"
    )
    readme = f"---\n{yaml_writer.document(front).rstrip()}\n---\n\n{about}"
    return Exported(files={README: readme.encode(), place: suite_parquet.dumps(suite)})


def recognise(path: Path) -> bool:
    """Whether a folder holds what such datasets do: a saved state, or a description with files or features."""
    if not path.is_dir():
        return False
    if any(is_file(path / name) for name in (STATE, DICT)):
        return True
    beginning = head(path / README)
    described = beginning.startswith("---") and ("\nconfigs:" in beginning or "\ndataset_info:" in beginning)
    saved = '"features"' in head(path / INFO) or '"splits"' in head(path / INFO)
    if described or saved:
        return True
    data = path / "data"
    return data.is_dir() and any(name.suffix.lower() == ".parquet" for name in islice(data.iterdir(), _MOST_FILES))


FORMAT = Format(
    name="huggingface",
    summary="a folder of a Hugging Face dataset",
    import_note="README.md with configs, shards of Parquet, CSV and JSON lines, or what save_to_disk wrote",
    export_note="README.md and a Parquet file",
    reads="suite",
    writes="suite",
    read=read,
    write=write,
    read_options=(
        COLUMNS,
        FIRST,
        Option("split", "the split, where there are several.", metavar="NAME"),
        Option("dataset_config", "the configuration, where README.md lists several.", metavar="NAME"),
    ),
    write_options=(Option("split", "the split that the cases become [test].", default="test", metavar="NAME"),),
    recognise=recognise,
    maps=(
        Mapped("`configs`, `data_files` of README.md", "which files are a split", "both", "addresses are not fetched"),
        Mapped("`data/SPLIT-00000-of-00001.parquet` and other names", "the same, without a configuration", "in"),
        Mapped("a split", "the cases; `--split` names one of several", "both", "the other splits; they are named"),
        Mapped("`.parquet`, `.csv`, `.jsonl`, `.json`, `.arrow` files", "rows, as in these formats", "in"),
        Mapped("`state.json`, `dataset_dict.json` of `save_to_disk`", "the same", "in"),
        Mapped("images, sounds and other bytes", "nothing", "in", "they are named"),
        Mapped("class labels", "their numbers", "in", "their names"),
        Mapped("README.md and one Parquet file", "the cases, with the columns of `csv`", "out"),
    ),
)  # fmt: skip
