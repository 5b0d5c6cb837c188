"""``promptpex report``: the report of a run, or of a choice of assertions, once more."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options
from promptpex.cli.help import Command

if TYPE_CHECKING:
    from promptpex.core.records import Run


@click.command("report", cls=Command)
@options.RUN
@options.comparison_options
@options.min_agreement
@options.labelling
@options.results
@options.settings_options
@options.full
@options.open_report
@options.output_options
def command(run: Path | None, as_json: bool, full: bool, opened: bool, **flags: Any) -> int:
    """Print the report of a run and write its files again.

    Nothing is asked: the run's folder has all of it. RUN is a run's folder, id or name; by default the latest. Of a
    synthesis folder, such as prompt.synthesis, it is the report of the last choice of assertions. Where people
    graded outputs, the report corrects its figures by their grades.
    """
    from promptpex.cli.command_session import report_options, settings
    from promptpex.cli.output import show_run
    from promptpex.report import runs
    from promptpex.report.terminal.ending import PAGE
    from promptpex.synthesis.folder import is_synthesis_folder

    how = options.label_rules(flags)
    resolved = settings(flags)
    view = report_options(resolved)
    if run is not None and is_synthesis_folder(run):
        if view:
            names = ", ".join(f"--{name.replace('_', '-')}" for name in view)
            raise click.UsageError(f"{names} changes the report of a run; {run} is a synthesis folder")
        _open(_of_choice(run, as_json), opened)
        return 0
    folder = runs.resolve(run, Path(resolved.settings.results))
    least = resolved.settings.min_agreement if resolved.given("min_agreement") else None
    read = runs.read_columns(folder) if least is None else _weighed(folder, least)
    show_run(read, folder, as_json=as_json, view=view, label_rules=how, full=full)
    _open(folder / PAGE, opened)
    return 0


def _open(page: Path, opened: bool) -> None:
    from promptpex.cli.browser import open_report

    if opened:
        open_report(page)


def _weighed(folder: Path, least: float) -> Run:
    """The run of a folder with the judges that agree with people, by the calibrations of now."""
    from promptpex.cli.progress import notices
    from promptpex.report import runs
    from promptpex.workflow.grading.peoples_grades import with_calibrations_of_now
    from promptpex.workflow.reweighing import reweighed

    return reweighed(with_calibrations_of_now(runs.read(folder), notices(verbose=False)), least)


def _of_choice(folder: Path, as_json: bool) -> Path:
    """Writes the report of the choice that a synthesis folder keeps, says what it is, and gives its file."""
    from promptpex.cli.in_words.layout import wrapped
    from promptpex.cli.output import print_json, say
    from promptpex.synthesis.folder import SynthesisFolder
    from promptpex.synthesis.saved_choice import CHOICE
    from promptpex.workflow.synthesis.choice_report import report_of_folder

    page, path = report_of_folder(folder)
    if as_json:
        choice = CHOICE.read(SynthesisFolder(folder).selection)
        print_json({"choice": choice and choice.to_dict(), "report": str(path)})
        return path
    for line in wrapped(page.answer, *filter(None, [page.labels]), *page.notices):
        say(line)
    say(f"\nReport in {path}")
    return path
