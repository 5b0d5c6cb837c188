"""What is exported, and where what was imported goes: between our files and runs and the formats of other tools."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from promptpex import promptfile
from promptpex.assertions import check_inputs, check_time
from promptpex.cases.file import ENDINGS, read_suite, write_suite
from promptpex.codecs.atomic import write_text
from promptpex.codecs.ordinary_files import inside
from promptpex.codecs.wording import plural
from promptpex.core.errors import InputError, SuiteError
from promptpex.core.records import Run, Spec, Suite
from promptpex.interchange.format import Format, Imported, Project
from promptpex.report import runs
from promptpex.specs.file import read_spec, write_spec
from promptpex.workflow.files import files_of


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
        """The cases."""
        return read_suite(self._path) if self._is_suite else self.run().suite

    def project(self) -> Project:
        """A run's own prompt, spec, suite and models; of a case file what its folder holds, and no models."""
        if not self._is_suite:
            run = self.run()
            concerned = _concerned(run.spec, run.suite)
            return Project(run.prompt, run.spec, run.suite, _models(run), concerned)
        suite = read_suite(self._path)
        files = files_of(inside(self._path.parent, suite.prompt, error=SuiteError, what="prompt", path=self._path))
        spec = read_spec(files.spec)
        return Project(promptfile.read(files.prompt), spec, suite, concerned=_concerned(spec, suite))

    def run(self) -> Run:
        """The run."""
        return runs.read(runs.resolve(self._path, self._results()))


def _models(run: Run) -> tuple[str, ...]:
    """The run's models as one would write them: names with what they stand for, or that alone where a name has
    parameters of its own."""
    named = run.manifest.named
    written = {label: text if "?" in label else f"{label}={text}" for label, text in named.items()}
    return tuple(written.get(label, label) for label in run.manifest.models)


def _concerned(spec: Spec, suite: Suite) -> dict[str, frozenset[str]]:
    """Of rules with ``when``, the ids of the cases for which it holds."""
    with check_time():
        return {
            rule.id: frozenset(case.id for case in suite.cases if not check_inputs(rule.when, case.inputs))
            for rule in spec.rules
            if rule.when
        }


def require_extension(path: Path, format_: Format) -> None:
    """Refuses a file whose name says that it is in another format.

    Raises:
        InputError: it does.
    """
    if format_.extensions and path.suffix.lower() not in format_.extensions:
        raise InputError(
            f"a file in the format {format_.name} must end in {' or '.join(format_.extensions)}", path=path
        )


def write_imported(imported: Imported, out: Path) -> str:
    """Writes what was imported; gives the sentence that says what is where.

    A suite that comes alone goes into the case file ``out``; everything else into the folder ``out``: prompt, spec and
    cases under the names that a project has, runs under their prompts and ids.

    Raises:
        InputError: it cannot be written, or a file that is there is broken.
    """
    try:
        if imported.is_suite and imported.suite is not None:
            write_suite(out, imported.suite)
            return f"{plural(len(imported.suite.cases), 'case')} in {out}"
        return f"{', '.join(_write_parts(imported, out))} in {out}"
    except OSError as failure:
        raise InputError(f"cannot be written ({failure.strerror}); name another place with --out", path=out) from None


def _write_parts(imported: Imported, out: Path) -> list[str]:
    """Writes the parts into a folder; says what each is."""
    written = []
    name = "prompt.md"
    if imported.prompt is not None:
        name, text = promptfile.file_of(imported.prompt.name, imported.prompt.messages)
        write_text(out / name, text)
        written.append("the prompt")
    files = files_of(out / name)
    if imported.spec is not None:
        write_spec(files.spec, imported.spec.replace(prompt=name))
        written.append(plural(len(imported.spec.rules), "rule"))
    if imported.suite is not None:
        write_suite(files.suite, imported.suite.replace(prompt=name))
        written.append(plural(len(imported.suite.cases), "case"))
    for run in imported.runs:
        runs.finish(runs.folder_for(out, run.prompt.name, run.manifest.run), run)
    if imported.runs:
        written.append(plural(len(imported.runs), "run"))
    return written
