"""Executing a run into its folder: every output is written as it comes, and what was there before is honoured."""

from __future__ import annotations

from pathlib import Path

from promptpex.core.errors import InputError, RunError
from promptpex.core.records import Manifest, Output, Run
from promptpex.report import runs
from promptpex.workflow import early_stopping
from promptpex.workflow.session import Session


async def execute_into_folder(session: Session, begun: Run) -> tuple[Run, Path]:
    """The finished run and its folder.

    Raises:
        RunError: the folder cannot be written.
    """
    folder = runs.folder_for(Path(session.settings.results), begun.prompt.name, begun.manifest.run)
    now = begun.manifest.created
    begun = begun.replace(manifest=_as_first_made(folder, begun.manifest))
    runs.begin(folder, begun)
    failures: list[RunError] = []
    with runs.RecordWriter(folder / "outputs.jsonl") as outputs:

        def append(output: Output) -> None:
            """A folder that cannot be written ends the run as the user would: requests in flight are paid, so they may
            finish."""
            try:
                outputs.add(output)
            except RunError as error:
                failures.append(error)
                session.client.cancel()

        finished = await early_stopping.execute(session, begun, on_output=append)
    if failures:
        raise failures[0]
    if finished.manifest.asked:
        finished = finished.replace(manifest=finished.manifest.replace(created=now))
    runs.finish(folder, finished)
    return finished, folder


def _as_first_made(folder: Path, manifest: Manifest) -> Manifest:
    """The manifest with the date, the author and the notices of the run's earlier execution, so that a repetition that
    sends no request changes nothing."""
    try:
        first = runs.read_manifest(folder)
    except InputError:
        return manifest
    return manifest.replace(created=first.created, author=manifest.author or first.author, notices=first.notices)
