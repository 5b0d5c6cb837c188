"""Where what was imported goes: prompt, spec, cases and settings under the names that a project has.

All files are written together or, where anything fails, none; and none that could not be read back.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from promptpex import promptfile
from promptpex.cases.file import write_suite
from promptpex.codecs.files.atomic import write_text
from promptpex.core.errors import CheckError, InputError, PromptFileError
from promptpex.core.ids import digest
from promptpex.core.records import Case, Manifest, Rule, Run, Spec, Suite
from promptpex.core.translation import tr, tr_n
from promptpex.documents.libyaml_nodes import MAX_DEPTH
from promptpex.documents.yaml_reader import MAX_BYTES, MAX_NODES
from promptpex.interchange.format import Imported, ImportedPrompt
from promptpex.interchange.notes import Note
from promptpex.report import runs
from promptpex.specs.file import write_spec
from promptpex.workflow.metrics import metric_file, metrics_of_run, with_usable_metrics
from promptpex.workflow.project_files import Files, files_of

_YAML = (".yaml", ".yml")
DEEPEST = MAX_DEPTH - 10
"""Levels of a case, or of front matter; files of ours have some around it."""


@contextmanager
def all_or_nothing(places: Iterable[Path], folder: Path, *, replace: bool) -> Iterator[None]:
    """Runs a block that writes these files and folders into ``folder``; where it fails they are as they were before.

    Args:
        replace: whether those that are there are replaced; a link is put aside, never followed.

    Raises:
        OSError: what is there cannot be put aside.
    """
    places = list(places)
    existing = [path for path in places if path.exists() or path.is_symlink()]
    if existing and not replace:
        raise InputError(
            "is there already; name another folder with --out, or replace it with --force", path=existing[0]
        )
    first_new_folder = _first_missing(folder)
    with _put_aside(existing, folder):
        try:
            yield
        except BaseException:
            for path in places if first_new_folder is None else [first_new_folder]:
                _remove(path)
            raise


@contextmanager
def _put_aside(there: list[Path], folder: Path) -> Iterator[None]:
    """Keeps what is there in a folder beside it, and brings it back where the block fails."""
    if not there:
        yield
        return
    aside = Path(tempfile.mkdtemp(prefix=".replaced-", dir=folder))
    moved: list[tuple[Path, Path]] = []
    try:
        for number, path in enumerate(there):
            os.replace(path, aside / str(number))
            moved.append((aside / str(number), path))
        yield
    except BaseException:
        for backup, path in moved:
            os.replace(backup, path)
        raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _first_missing(folder: Path) -> Path | None:
    """The outermost folder that has to be made; None where all are there."""
    missing = [place for place in (folder, *folder.parents) if not (place.exists() or place.is_symlink())]
    return missing[-1] if missing else None


def nests_deeper(value: object, levels: int) -> bool:
    """Whether lists and mappings stand in each other more than so many levels deep."""
    level = [value]
    for _ in range(levels):
        level = [
            inner
            for each in level
            for inner in (each.values() if isinstance(each, dict) else each if isinstance(each, list | tuple) else ())
            if isinstance(inner, dict | list | tuple)
        ]
        if not level:
            return False
    return True


def _remove(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def require_readable_size(suite: Suite, path: Path) -> None:
    """Refuses more cases than a file of this name can hold, which the next command could not read."""
    if path.suffix.lower() not in _YAML:
        return
    values, characters = 2 * len(suite.cases), 60 * len(suite.cases)  # keys that a file says of every case
    waiting: list[object] = []
    for case in suite.cases:
        if nests_deeper(case.to_dict(), DEEPEST):
            raise InputError(f"the case {case.id!r} nests more than {DEEPEST} deep; write it as a text", path=path)
        waiting.append(case.to_dict())
    while waiting:
        value = waiting.pop()
        values += 1
        if isinstance(value, dict):
            waiting += value.values()
            characters += sum(map(len, value))
        elif isinstance(value, list | tuple):
            waiting += value
        characters += len(value) if isinstance(value, str) else 1
    if values >= MAX_NODES or characters > MAX_BYTES:
        raise InputError(
            f"{len(suite.cases):,} cases of this length are too many for a YAML case file; write only the cases, as "
            "JSON lines: --cases-only --out cases.jsonl",
            path=path,
        )


SETTINGS = "promptpex.toml"


def write_imported(imported: Imported, out: Path, *, force: bool = False) -> str:
    """Writes what was imported; gives the sentence that says what is where.

    A suite that comes alone goes into the case file ``out``, which keeps what is people's, or as ``prompt.cases.yaml``
    into the folder; everything else goes into the folder ``out``: prompt, spec and cases under the names that a project
    has, runs under their prompts and ids. Where it fails, or is interrupted, everything is as it was.

    Args:
        force: whether files that are there are replaced.
    """
    _refuse_odd_numbers(imported)
    try:
        if imported.is_suite and imported.suite is not None:
            return _write_alone(imported.suite, out, force)
        projects = [_Project.of(part, out) for part in (imported, *imported.further)]
        for project in projects:
            if project.part.suite is not None:
                require_readable_size(project.part.suite, project.files.suite)
        with all_or_nothing(_places(imported, projects, out), out, replace=force):
            return tr("{files} in {folder}", files=", ".join(_write(imported, projects, out)), folder=out)
    except OSError as failure:
        raise InputError(f"cannot be written ({failure.strerror}); name another place with --out", path=out) from None


def _write_alone(suite: Suite, out: Path, force: bool) -> str:
    """Writes cases that come without a prompt into the case file, or into the folder."""
    file = out / "prompt.cases.yaml" if out.is_dir() or not out.suffix else out
    require_readable_size(suite, file)
    if file is out:
        write_suite(file, suite)
    else:
        with all_or_nothing([file], out, replace=force):
            write_suite(file, suite)
    return tr("{files} in {folder}", files=_cases(suite.cases), folder=file)


def _refuse_odd_numbers(imported: Imported) -> None:
    for part in (imported, *imported.further):
        mappings: list[tuple[str, Mapping[str, object]]] = [
            (f"the case {case.id!r}", case.inputs) for case in (part.suite.cases if part.suite is not None else ())
        ]
        mappings += [("the front matter", part.prompt.front)] if part.prompt is not None else []
        if part.prompt is not None and nests_deeper(part.prompt.front, DEEPEST):
            raise InputError(f"the front matter nests more than {DEEPEST} deep; shorten it")
        for what, values in mappings:
            if not _is_finite(values):
                message = f"{what} contains a number that is not finite or too large to keep (NaN, 1e999)"
                raise InputError(f"{message}; write it as a text")


def _is_finite(value: object) -> bool:
    if isinstance(value, Mapping):
        return all(map(_is_finite, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def usable(imported: Imported) -> Imported:
    """The same without the checks and metrics that cannot be used as they are written there, which is noted."""
    from promptpex.assertions import check_time

    notes: dict[str, Note] = {}
    with check_time():
        first, *further = (_usable(part, notes) for part in (imported, *imported.further))
    first, of_metrics = with_usable_metrics(first)
    return replace(first, further=tuple(further), notes=(*imported.notes, *notes.values(), *of_metrics))


def _usable(part: Imported, notes: dict[str, Note]) -> Imported:
    if part.spec is None:
        return part
    rules = tuple(rule for rule in part.spec.rules if _is_usable(rule, part, notes))
    return replace(part, spec=part.spec.replace(rules=rules) if rules else None)


def _is_usable(rule: Rule, part: Imported, notes: dict[str, Note]) -> bool:
    from promptpex.assertions import compile_checks

    try:
        compile_checks([*rule.checks, *rule.when])
    except CheckError as failure:
        name, path, line = part.places.get(rule.id, (rule.id, "", None))
        notes[rule.id] = Note("left out", name, failure.message, path, line)
        return False
    return True


@dataclass(frozen=True, slots=True)
class _Project:
    """A prompt's part of an import, with the text of its file."""

    part: Imported
    files: Files
    text: str | None

    @classmethod
    def of(cls, part: Imported, out: Path) -> _Project:
        name, text = "prompt.md", None
        if part.prompt is not None:
            prompt = part.prompt
            part, front = _fitted(part, prompt)
            name, text = promptfile.file_of(prompt.name, prompt.messages, front, stem=prompt.stem)
        return cls(part, files_of(out / name), text)


def _fitted(part: Imported, prompt: ImportedPrompt) -> tuple[Imported, dict[str, Any]]:
    """The part with a value for each variable of its prompt in each case, and what its front matter says.

    A variable without a value is an empty text, as templates of most tools write it; an input that the prompt does not
    name is declared for checks alone.
    """
    try:
        name, text = promptfile.file_of(prompt.name, prompt.messages)
        variables = promptfile.parse(text, name).variables
    except PromptFileError as failure:  # of a file that nobody has seen
        raise InputError(f"the prompt {prompt.name[:60]!r}: {failure.message}") from None
    front: dict[str, Any] = {"description": prompt.description} if prompt.description else {}
    front |= prompt.front
    if part.suite is None:
        return part, front
    cases = tuple(_filled(case, variables) for case in part.suite.cases)
    others = dict.fromkeys(name for case in cases for name in case.inputs if name not in variables)
    if others:
        declared = front.get("inputs")
        declared_inputs = {name: {"type": "text"} for name in variables} | (
            declared if isinstance(declared, dict) else {}
        )
        front["inputs"] = declared_inputs | {
            name: {"checks_only": True} for name in others if name not in declared_inputs
        }
    return replace(part, suite=part.suite.replace(cases=cases)), front


def _filled(case: Case, variables: tuple[str, ...]) -> Case:
    lacking = {name: "" for name in variables if name not in case.inputs}
    return case.replace(inputs={**case.inputs, **lacking}) if lacking else case


def _places(imported: Imported, projects: list[_Project], out: Path) -> Iterator[Path]:
    for project in projects:
        part = project.part
        parts = (part.prompt, project.files.prompt), (part.spec, project.files.spec), (part.suite, project.files.suite)
        yield from (path for record, path in parts if record is not None)
        yield from (metric_file(project.files.prompt, metric) for metric in part.metrics)
    if imported.settings:
        yield out / SETTINGS
    yield from (runs.folder_for(out, run.prompt.name, run.manifest.run) for run in imported.runs)


def _write(imported: Imported, projects: list[_Project], out: Path) -> list[str]:
    """Writes all parts; says what they are."""
    written = []
    for project in projects:
        written += _write_project(project, out, several=len(projects) > 1)
    if imported.settings:
        write_text(out / SETTINGS, toml(imported.settings))
        written.append(tr("the settings"))
    for run in imported.runs:
        runs.finish(runs.folder_for(out, run.prompt.name, run.manifest.run), run)
    if imported.runs:
        written.append(tr_n("{count} run", "{count} runs", len(imported.runs)))
    return written


def _cases(cases: Sequence[Case]) -> str:
    return tr_n("{count} case", "{count} cases", len(cases))


def _write_project(project: _Project, out: Path, *, several: bool) -> list[str]:
    part, files, written = project.part, project.files, []
    if project.text is not None:
        write_text(files.prompt, project.text)
        written.append(files.prompt.name if several else tr("the prompt"))
    for metric in part.metrics:
        write_text(metric_file(files.prompt, metric), metric.text)
    if part.metrics:
        written.append(tr_n("{count} metric", "{count} metrics", len(part.metrics)))
    if part.spec is not None:
        write_spec(files.spec, part.spec.replace(prompt=files.prompt.name))
        written.append(tr_n("{count} rule", "{count} rules", len(part.spec.rules)))
    if part.suite is not None:
        suite = write_suite(
            files.suite, Suite(prompt=files.prompt.name, match=part.suite.match, cases=part.suite.cases)
        )
        written.append(_cases(part.suite.cases))
        if part.outputs:
            folder = _write_run(part, files, suite, out)
            outputs = tr_n("{count} output", "{count} outputs", len(part.outputs))
            written.append(tr("{outputs} as the run {name}", outputs=outputs, name=folder.name))
    return written


def _write_run(part: Imported, files: Files, suite: Suite, out: Path) -> Path:
    """Writes a part's outputs as a run of its prompt, without verdicts; gives the folder."""
    prompt = promptfile.read(files.prompt)
    spec = part.spec.replace(prompt=files.prompt.name) if part.spec is not None else Spec(prompt=files.prompt.name)
    models = tuple(dict.fromkeys(output.model for output in part.outputs))
    digests = [prompt.fingerprint, spec.digest, digest(suite.to_dict())]
    answers = [[*output.key, output.text, output.error] for output in part.outputs]
    manifest = Manifest(
        run=digest([*digests, models, answers], 10),
        prompt=prompt.name,
        prompt_fingerprint=prompt.fingerprint,
        spec_digest=spec.digest,
        suite_digest=digests[-1],
        models=models,
    )
    folder = runs.folder_for(out, prompt.name, manifest.run)
    run = Run(manifest=manifest, prompt=prompt, spec=spec, suite=suite, outputs=part.outputs)
    runs.finish(folder, run.replace(metrics=metrics_of_run(files.prompt, part.metrics)))
    return folder


def toml(settings: Mapping[str, object]) -> str:
    """Settings as TOML (1.0.0): values, then tables, then tables of tables."""
    lines = [f"{key} = {_toml_value(value)}" for key, value in settings.items() if not isinstance(value, Mapping)]
    for name, table in settings.items():
        if isinstance(table, Mapping):
            lines += _toml_table(name, table)
    return "\n".join(lines).lstrip("\n") + "\n"


def _toml_table(name: str, table: Mapping[str, object]) -> list[str]:
    plain = [f"{_toml_key(key)} = {_toml_value(value)}" for key, value in table.items() if not isinstance(value, dict)]
    lines = ["", f"[{name}]", *plain] if plain else []
    for key, value in table.items():
        if isinstance(value, dict):
            lines += _toml_table(f"{name}.{_toml_key(key)}", value)
    return lines


def _toml_key(key: str) -> str:
    bare = key.isascii() and all(letter.isalnum() or letter in "-_" for letter in key) and key
    return key if bare else _toml_value(key)


def _toml_value(value: object) -> str:
    """JSON's notation, which TOML shares for texts, numbers, truth values and lists of them, but for one sign."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("\x7f", "\\u007f")
