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


async def execute_into_folder(session: Session, begun: Run) -> tuple[Run, Path | None]:
    """The finished run without its outputs, verdicts and scores, and its folder, which has them. Where no model gave
    an answer there is no folder, and the run has all of it.

    Raises:
        RunError: the folder cannot be written.
    """
    now, failures, results = begun.manifest.created, list[RunError](), Path(session.settings.results)
    with (
        early_stopping.records_for(session, results) as records,
        runs.RunPlace(results, begun, records, fresh=session.settings.fresh) as place,
    ):

        def keep_output(at: int, output: Output) -> None:
            """A folder that cannot be written ends the run as the user would: requests in flight are paid, so they may
            finish."""
            try:
                records.outputs.put(at, [output])
                place.written(output)
            except RunError as error:
                failures.append(error)
                session.client.cancel()

        manifest = await early_stopping.fill(session, begun, records, keep_output)
        if failures:
            raise failures[0]
        if manifest.asked:
            manifest = manifest.replace(created=now)
        finished, folder = place.finish(begun.replace(manifest=manifest))
        if folder is None:
            return records.of_run(finished), None
    if place.before is not None and (sentence := _beside(place.before, folder, finished.manifest)):
        session.emit(Notice(sentence))
    return finished, folder


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


def keep(results: Path, run: Run) -> Path | None:
    """Writes a run that was made elsewhere into the folder that it would have been executed into, and gives the folder;
    None where no model gave an answer.

    Raises:
        RunError: the folder cannot be written.
    """
    fresh = bool(run.manifest.settings.get("fresh"))
    with runs.RunRecords.of(run) as records, runs.RunPlace(results, run, records, fresh=fresh) as place:
        return place.finish(run)[1]
