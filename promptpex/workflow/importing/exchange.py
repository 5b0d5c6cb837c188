"""What is exported, and which format is imported: between our files and runs and the formats of other tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from promptpex import promptfile
from promptpex.assertions import check_inputs, check_time
from promptpex.cases.file import ENDINGS, read_suite
from promptpex.codecs.files.ordinary_files import inside
from promptpex.core.errors import InputError, SuiteError
from promptpex.core.records import Run, Spec, Suite
from promptpex.interchange.format import Format, Project
from promptpex.report import runs
from promptpex.specs.file import read_spec
from promptpex.workflow.project_files import files_of


class FileSource:
    """A run, or a case file with the prompt and the spec in its folder, as a source of exports.

    Args:
        path: the case file, or the folder or id of a run.
        results: gives the folder of the runs; called only if the path is a run's.
    """

    def __init__(self, path: Path, results: Callable[[], Path]) -> None:
        self._path = path
        self._results = results
        self._is_suite = path.is_file() and path.suffix.lower() in ENDINGS

    def suite(self) -> Suite:
        return read_suite(self._path) if self._is_suite else self.run().suite

    def project(self) -> Project:
        """A run's own prompt, spec, suite and models; of a case file what its folder holds, and no models."""
        if not self._is_suite:
            run = self.run()
            concerned = _concerned(run.spec, run.suite)
            return Project(run.prompt, run.spec, run.suite, _models(run), concerned, promptfile.renderer(run.prompt))
        suite = read_suite(self._path)
        files = files_of(inside(self._path.parent, suite.prompt, error=SuiteError, what="prompt", path=self._path))
        has_spec = files.spec.exists() or any(case.rule for case in suite.cases)
        spec = read_spec(files.spec) if has_spec else Spec()
        prompt = promptfile.read(files.prompt)
        return Project(prompt, spec, suite, concerned=_concerned(spec, suite), rendered=promptfile.renderer(prompt))

    def run(self) -> Run:
        if self._is_suite:
            message = "this is a case file, and has no outputs; name a run: its folder, id or name"
            raise InputError(message, path=self._path)
        return runs.read(runs.resolve(self._path, self._results()))


def _models(run: Run) -> tuple[str, ...]:
    """The run's models as one would write them: names with what they stand for, or that alone where a name has
    parameters of its own."""
    written = {label: text if "?" in label else f"{label}={text}" for label, text in run.manifest.named.items()}
    return tuple(written.get(label, label) for label in run.manifest.models)


def _concerned(spec: Spec, suite: Suite) -> dict[str, frozenset[str]]:
    with check_time():
        return {
            rule.id: frozenset(case.id for case in suite.cases if not check_inputs(rule.when, case.inputs))
            for rule in spec.rules
            if rule.when
        }


def guessed_format(path: Path, formats: Mapping[str, Format]) -> Format:
    """The format that a file, or folder, looks like."""
    if not path.exists():
        raise InputError("there is no such file or folder", path=path)
    like = [format_ for format_ in formats.values() if format_.recognise is not None and format_.recognise(path)]
    if not like and path.is_file():
        ending = path.suffix.lower()
        like = [format_ for format_ in formats.values() if format_.otherwise and ending in format_.extensions]
    if len(like) == 1:
        return like[0]
    names = ", ".join(format_.name for format_ in like) or "none that is known"
    raise InputError(
        f"the format is not clear (it looks like {names}); name it: promptpex import FORMAT PATH", path=path
    )


def whole_of(path: Path, formats: Mapping[str, Format]) -> Path:
    """The folder that a file is a part of, in a format of folders; else the path itself."""
    if not path.is_file():
        return path
    of_parts = [format_.recognise for format_ in formats.values() if path.name in format_.members]
    is_part = any(recognise is not None and recognise(path.parent) for recognise in of_parts)
    return path.parent if is_part else path


def require_extension(path: Path, format_: Format) -> None:
    if format_.extensions and path.suffix.lower() not in format_.extensions:
        raise InputError(
            f"a file in the format {format_.name} must end in {' or '.join(format_.extensions)}", path=path
        )
