"""Executing a run into its folder: every output is written as it comes, and what was there before is honoured."""

from __future__ import annotations

from pathlib import Path

from promptpex.core.errors import RunError
from promptpex.core.events import Notice
from promptpex.core.records import Manifest, Output, Run
from promptpex.core.translation import stored
from promptpex.report import runs
from promptpex.workflow.execution import early_stopping
from promptpex.workflow.session import Session


async def execute_into_folder(session: Session, begun: Run) -> tuple[Manifest, Path]:
    """The manifest of the finished run, and its folder, which has its outputs, verdicts and scores.

    Raises:
        RunError: the folder cannot be written.
    """
    now, failures, results = begun.manifest.created, list[RunError](), Path(session.settings.results)
    with (
        runs.RunPlace(results, begun, fresh=session.settings.fresh) as place,
        early_stopping.records_for(session, results) as records,
    ):

        def keep_output(at: int, output: Output) -> None:
            """A folder that cannot be written ends the run as the user would: requests in flight are paid, so they may
            finish."""
            try:
                records.outputs.put(at, [output])
                place.add(output)
            except RunError as error:
                failures.append(error)
                session.client.cancel()

        manifest = await early_stopping.fill(session, place.begun, records, keep_output)
        if failures:
            raise failures[0]
        if manifest.asked:
            manifest = manifest.replace(created=now)
        finished, folder = place.finish(place.begun.replace(manifest=manifest), records)
        verdicts = len(records.verdicts)
    if runs.lacks_parquet(folder, verdicts):
        session.emit(Notice(_as_lines(verdicts)))
    if place.before is not None and (sentence := _beside(place.before, folder, finished.manifest)):
        session.emit(Notice(sentence))
    return finished.manifest, folder


def _as_lines(verdicts: int) -> str:
    """What would keep the verdicts of a large run in less room."""
    return stored(
        "{verdicts} verdicts are kept as JSON lines; after {command} the next run keeps them as a Parquet file a "
        "tenth of the size",
        verdicts=f"{verdicts:,}",
        command="pip install 'promptpex[parquet]'",
    )


def _beside(before: Path, folder: Path, manifest: Manifest) -> str:
    """What became of a run beside the complete one that was made from the same."""
    if folder != before:
        names = f"{before.name} {folder.name}"
        command = f"promptpex compare {names}"
        return stored("the earlier run {run} is kept; to compare the two: {command}", run=before.name, command=command)
    if manifest.asked:
        return ""
    return stored(
        "nothing has changed since {time}: this is that run again; --fresh asks the models anew",
        time=f"{manifest.created[:16].replace('T', ' ')} UTC",
    )


def keep(results: Path, run: Run) -> Path:
    """Writes a run that was made elsewhere into the folder that it would have been executed into, and gives the folder.

    Raises:
        RunError: the folder cannot be written.
    """
    begun = run.replace(outputs=(), verdicts=(), scores=())
    with runs.RunPlace(results, begun, fresh=bool(run.manifest.settings.get("fresh"))) as place:
        earlier = place.begun.manifest
        manifest = run.manifest.replace(author=earlier.author, name=earlier.name)
        if not run.manifest.asked:
            notices = tuple(dict.fromkeys((*earlier.notices, *manifest.notices)))
            manifest = manifest.replace(created=earlier.created, notices=notices)
        return place.finish(run.replace(manifest=manifest))[1]
