"""``promptpex grade``: people's verdicts on outputs."""

from __future__ import annotations

import contextlib
import getpass
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options
from promptpex.cli.help import Command
from promptpex.cli.output import say
from promptpex.core.errors import ConfigError, SynthesisError
from promptpex.core.records import LONGEST_NAME
from promptpex.core.translation import tr, tr_n

if TYPE_CHECKING:
    from fractions import Fraction

    from promptpex.config import Resolved
    from promptpex.grading.labels import LabelRules
    from promptpex.web.interfaces import GradingPort
    from promptpex.workflow.grading_desk import GradingProject, GradingWishes


@click.command("grade", cls=Command)
@options.RUNS
@options.of_output("--terminal", is_flag=True, help="Grade in this terminal, by keys.")
@options.of_files("--import", "file", type=options.PATH, metavar="FILE", help="Merge grades that were given elsewhere.")
@options.prompt_of_runs
@options.of_judging("--as", "grader", metavar="NAME", help="Name of the grader [git's user, else the account].")
@options.of_judging("--rules", "all_rules", is_flag=True, help="Also grade every rule and criterion.")
@options.of_judging("--on", multiple=True, metavar="ID", help="Grade only this rule or criterion; may be repeated.")
@options.of_judging(
    "--policy",
    metavar="NAME",
    default="alternating",
    expert=True,
    help="What to grade next: alternating, highest, lowest or random [alternating].",
)
@options.of_judging(
    "--criteria-after",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    expert=True,
    help="Grade N outputs before writing criteria [0].",
)
@options.labelling
@options.of_judging(
    "--second-opinions",
    type=options.SHARE,
    metavar="SHARE",
    expert=True,
    help="Share of outputs that others have already graded, to measure agreement [10%].",
)
@options.page_address
@options.author
@options.of_judging("-j", "--judge", metavar="NAMES", help="Judges that answer candidates' questions.")
@options.request_options
@options.results
@options.settings_options
@options.output_options
def command(
    runs: tuple[Path, ...],
    terminal: bool,
    file: Path | None,
    prompt: Path | None,
    grader: str | None,
    all_rules: bool,
    on: tuple[str, ...],
    policy: str,
    criteria_after: int,
    second_opinions: Fraction | None,
    port: int | None,
    no_open: bool,
    as_json: bool,
    **flags: Any,
) -> int:
    """Grade outputs as good or bad.

    In a browser or in a terminal. RUN is a run's folder, id or name, several
    of one prompt, or the prompt's file for its latest run; by default the latest run of all. What `promptpex check
    --put-up` took from the prompt's logs is always put up as well. Grades go to PROMPT.grades.jsonl, each as soon
    as it is given.

    \b
      promptpex grade
      promptpex grade --terminal --rules --as ada
      promptpex grade --import ada.grades.jsonl
    """
    from promptpex.cli.command_session import settings
    from promptpex.workflow.grading_desk import GradingWishes

    _require_one_way(terminal, file, as_json=as_json)
    rules = options.label_rules(flags)
    resolved = settings(flags)
    wishes = GradingWishes(prompt, rules, policy, _asked(all_rules, on))
    if second_opinions is not None:
        wishes = replace(wishes, second_share=float(second_opinions))
    results = Path(resolved.settings.results)
    if file is not None:
        return _import(file, runs, results, wishes, as_json)
    project = _opened(runs, results, wishes, quiet=bool(flags.get("quiet")))
    if terminal:
        return _in_terminal(project, wishes, grader)
    page_port = port_of(project, grader, criteria_after)
    sources = runs or (project.file,)
    return serve_page(project, resolved, rules, page_port, sources=sources, number=port, no_open=no_open)


def _require_one_way(terminal: bool, file: Path | None, *, as_json: bool) -> None:
    if terminal and file is not None:
        raise click.UsageError("--terminal and --import are two ways: give one of them")
    if as_json and file is None:
        raise click.UsageError("--json says what became of the lines of --import; give that, too")


def _asked(all_rules: bool, on: tuple[str, ...]) -> tuple[str, ...]:
    """The subjects that are asked, as ``GradingWishes`` has them."""
    from promptpex.workflow.grading_desk import ALL_SUBJECTS

    if all_rules and on:
        raise click.UsageError("--rules asks for all rules, and --on for some: leave one out")
    return (ALL_SUBJECTS,) if all_rules else on


def _import(file: Path, runs: tuple[Path, ...], results: Path, wishes: GradingWishes, as_json: bool) -> int:
    """Merges the file and says what became of its lines; exit code 1 where one was refused."""
    from promptpex.cli.output import print_json
    from promptpex.workflow.grading_desk import import_into

    path, imported = import_into(file, runs, results, wishes)
    if as_json:
        problems = [problem.to_dict() for problem in imported.problems]
        print_json({"file": str(path), "new": len(imported.new), "known": imported.known, "problems": problems})
    else:
        for problem in imported.problems:
            say(f"promptpex: {problem.text()}", err=True)
        counts = tr_n(
            "{file}: {count} new grade, {known} known, {refused} refused",
            "{file}: {count} new grades, {known} known, {refused} refused",
            len(imported.new),
            file=path,
            known=imported.known,
            refused=imported.refused,
        )
        say(counts)
    return 1 if imported.refused else 0


def _opened(runs: tuple[Path, ...], results: Path, wishes: GradingWishes, *, quiet: bool) -> GradingProject:
    from promptpex.cli.command_session import listeners
    from promptpex.workflow.grading_desk import open_desk

    with listeners(quiet=quiet, verbose=False, log=None) as emit:
        return open_desk(runs, results, wishes, emit)


def _in_terminal(project: GradingProject, wishes: GradingWishes, grader: str | None) -> int:
    import contextlib
    import sys

    from promptpex.cli.command_session import interrupts
    from promptpex.cli.grading_keys import keys_of
    from promptpex.cli.grading_terminal import TerminalGrading, show_end, show_head, show_outlook

    name = grader_name(grader, project.file.parent)
    show_head(project.prompt.name, name, wishes.rules)
    with contextlib.suppress(KeyboardInterrupt), interrupts(), keys_of(sys.stdin.buffer) as keys:
        TerminalGrading(project.desk, name, keys).run()
    show_end(project.desk.progress(name), str(project.grades))
    show_outlook(project.desk)
    return 0


def serve_page(
    project: GradingProject,
    resolved: Resolved,
    rules: LabelRules,
    port: GradingPort,
    *,
    sources: Sequence[Path],
    number: int | None,
    no_open: bool,
) -> int:
    """Serves grading, criteria and the report card until Ctrl-C, says how far grading is, and gives the exit code.

    Args:
        rules: how grades become labels.
        sources: the runs whose report card is shown, or the prompt's file for its latest one.
        number: of the port on 127.0.0.1; None for the usual one.
        no_open: whether the link is only printed.
    """
    from promptpex.cli.browser import serve
    from promptpex.cli.command_session import listeners
    from promptpex.cli.grading_terminal import graded_so_far
    from promptpex.promptfile import renderer
    from promptpex.web.interfaces import Ports
    from promptpex.web.server import require_extra
    from promptpex.workflow.comparison.compare_runs import ComparisonsOfRuns
    from promptpex.workflow.criteria.page import criteria_beside
    from promptpex.workflow.peoples_grades import GradesOfRuns
    from promptpex.workflow.report_card import CardOfRuns, CardWishes

    require_extra()
    say(tr("Grades go to {file}", file=project.grades))
    results, grades = Path(resolved.settings.results), GradesOfRuns()
    card = CardOfRuns(sources, results, CardWishes(project.file, rules))
    with (
        listeners(quiet=True, verbose=False, log=None) as emit,
        contextlib.closing(criteria_beside(project, resolved, rules, emit=emit)) as criteria,
    ):
        ports = Ports(results, start="/grade", grades=grades, renderer=renderer)
        pages = replace(
            ports, comparing=ComparisonsOfRuns(resolved, grades), grading=port, criteria=criteria, card=card
        )
        code = serve(pages, port=number, no_open=no_open)
    project.desk.refresh()
    progress = project.desk.progress(port.grader)
    say(tr("{what}; the grades are in {file}", what=graded_so_far(progress), file=project.grades))
    return code


def port_of(project: GradingProject, grader: str | None, first: int) -> GradingPort:
    """What the page shows.

    Args:
        grader: who grades; None: the page asks, and proposes git's user or the account's name.
        first: how many outputs are graded before criteria are written down; 0: as many as people like.
    """
    from promptpex.web.interfaces import GradingPort

    folder, prompt = project.file.parent, project.prompt
    name = suggested = ""
    if grader is not None:
        name = grader_name(grader, folder)
    else:
        with contextlib.suppress(ConfigError):
            suggested = grader_name(None, folder)
    return GradingPort(project.desk, prompt.name, name, suggested, first, prompt.variables)


def grader_name(given: str | None, folder: Path) -> str:
    """The name that is given, else git's user in this folder, else the name of the account."""
    if given is None:
        name = _of_git(folder) or _of_account()
        if not name:
            raise ConfigError("it is not known who grades; say it with --as NAME")
        return name[:LONGEST_NAME]
    name = " ".join(given.split())
    if not 0 < len(name) <= LONGEST_NAME:
        raise ConfigError(f"--as takes a name of 1 to {LONGEST_NAME} characters")
    return name


def _of_git(folder: Path) -> str:
    from promptpex.synthesis.history.git import git

    try:
        answer = git(folder, "config", "--get", "user.name", limit=10_000, seconds=5.0)
    except SynthesisError:
        return ""
    return " ".join(answer.line.split()) if answer.code == 0 else ""


def _of_account() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
