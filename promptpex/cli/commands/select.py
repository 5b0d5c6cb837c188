"""``promptpex select``: which of the candidate assertions to keep."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options
from promptpex.cli.help import Command
from promptpex.cli.output import say
from promptpex.core.errors import ConfigError
from promptpex.core.translation import from_data, tr
from promptpex.synthesis.selection.methods import METHODS

if TYPE_CHECKING:
    from fractions import Fraction

    from promptpex.synthesis.selection.methods import Selection
    from promptpex.synthesis.selection.problem import SelectionLimits, SelectionProblem
    from promptpex.workflow.choosing import Choice

ALIGNED = "aligned"


@click.command("select", cls=Command)
@click.argument("source", type=options.PATH)
@options.of_statistics(
    "--method", type=click.Choice((ALIGNED, *METHODS)), default="sub", help="Method of selection [sub]."
)
@options.of_statistics(
    "--coverage", type=options.SHARE, metavar="SHARE", help="Catch at least this share of bad outputs [60%]."
)
@options.of_statistics(
    "--ffr",
    type=options.SHARE,
    metavar="SHARE",
    help="Flag at most this share of good outputs [25%]; aligned: per assertion [20%].",
)
@options.of_statistics(
    "--graders", metavar="WHICH", help="aligned: whose grades count where graders differ [majority]."
)
@options.of_statistics(
    "--screen", is_flag=True, expert=True, help="topological: skip candidates that fail every output."
)
@options.of_statistics(
    "--weigh-questions", is_flag=True, expert=True, help="Count each question to a judge as one more candidate."
)
@options.of_statistics("--curve", is_flag=True, help="Also show the highest coverage at each FFR.")
@options.of_statistics("--transitive", is_flag=True, expert=True, help="Follow chains of implications.")
@options.of_limits(
    "--time-limit", type=click.IntRange(0), default=60, metavar="SECONDS", help="Time limit of the search [60]."
)
@options.of_files("--into-spec", is_flag=True, help="Add the chosen ones to the prompt's spec as rules.")
@options.of_files("--allow-over-limit", is_flag=True, help="--into-spec: do so though the FFR limit is not kept.")
@options.of_files(
    "-o",
    "--out",
    type=options.PATH,
    metavar="FILE",
    help="Write the chosen ones to FILE: .yaml, .py, or promptfooconfig.yaml.",
)
@options.of_files("--pipeline", metavar="NAME", expert=True, help="Which problem to solve, if the file has several.")
@options.output_options
@options.report_language
def command(
    source: Path,
    method: Any,
    coverage: Fraction | None,
    ffr: Fraction | None,
    graders: str | None,
    screen: bool,
    weigh_questions: bool,
    curve: bool,
    transitive: bool,
    time_limit: int,
    into_spec: bool,
    allow_over_limit: bool,
    out: Path | None,
    pipeline: str | None,
    as_json: bool,
    **flags: Any,
) -> int:
    """Choose the few assertions that are worth having.

    SOURCE is the folder that `promptpex synthesize` wrote, or a JSON file with a matrix of results. Exit code 1: no
    set keeps the limits.

    \b
      promptpex select problem.json --method cov --coverage 60% --ffr 25%
      promptpex select prompt.synthesis --method aligned --ffr 20%
    \f
    The JSON file has n, m, y, M and K: the numbers of outputs and candidates, a label per output (1 is good), a row
    of 0 and 1 per output (1: the candidate passes it), and the pairs [a, b] in which a implies b. cov is the smallest
    set that keeps both limits; sub also counts each candidate that is neither chosen nor implied by a chosen one;
    baseline takes all that flag little by themselves, topological all that no other implies, all every candidate, for
    reference. aligned takes for each criterion the candidate that agrees best with people.
    """
    from promptpex.cli.choices_in_words import ffr_not_kept
    from promptpex.cli.command_session import settings

    settings({"report_language": flags["report_language"]}, start=source.parent)
    if method != ALIGNED and not source.is_dir():
        if into_spec or out is not None:
            raise click.UsageError("--into-spec and --out need the folder that `promptpex synthesize` wrote")
        return _from_file(source, pipeline, transitive, method, _limits(coverage, ffr), time_limit, screen, as_json)
    curve_seconds = time_limit if curve else 0
    if method == ALIGNED:
        choice = _by_grades(source, coverage, ffr, graders, curve_seconds)
    else:
        choice = _by_labels(source, method, _limits(coverage, ffr), time_limit, weigh_questions, curve_seconds)
    _show_choice(choice, as_json)
    _write_tables(source, choice, as_json)
    _use(source, choice, into_spec and _goes_in(ffr_not_kept(choice), allow_over_limit), out)
    return 0 if choice.selection.chosen is not None else 1


def _goes_in(not_kept: Sequence[str], allowed: bool) -> bool:
    """Whether the chosen candidates go into the spec: the user is asked where an FFR limit is not kept."""
    if allowed or not not_kept:
        return True
    if not sys.stdin.isatty():
        raise ConfigError(
            "the FFR limit is not kept, so nothing is written: label more outputs, choose by another --method, or add "
            "--allow-over-limit to write the set into the spec all the same"
        )
    for sentence in not_kept:
        say(sentence, err=True)
    return click.confirm(tr("Add the chosen ones to the spec all the same?"), err=True)


def _by_labels(
    source: Path, method: Any, limits: SelectionLimits, seconds: int, weigh_questions: bool, curve_seconds: int
) -> Choice:
    from promptpex.workflow.choosing import choose_by_labels

    return choose_by_labels(
        source, method, limits, seconds=seconds, weigh_questions=weigh_questions, curve_seconds=curve_seconds
    )


def _by_grades(
    source: Path, coverage: Fraction | None, ffr: Fraction | None, graders: str | None, curve_seconds: int
) -> Choice:
    from promptpex.alignment.choose import FFR_LIMIT
    from promptpex.grading.labels import LabelRules
    from promptpex.workflow.choosing import choose_by_grades

    if coverage is not None:
        raise click.UsageError("--coverage is a limit of sets; aligned has one on the FFR of each assertion, --ffr")
    if not source.is_dir():
        raise click.UsageError("aligned needs the folder that `promptpex synthesize` wrote, with its criteria")
    rules = LabelRules(graders=graders) if graders else LabelRules()
    return choose_by_grades(source, FFR_LIMIT if ffr is None else ffr, graders=rules, curve_seconds=curve_seconds)


def _limits(coverage: Fraction | None, ffr: Fraction | None) -> SelectionLimits:
    from promptpex.synthesis.selection.problem import COVERAGE, FFR, SelectionLimits

    return SelectionLimits(COVERAGE if coverage is None else coverage, FFR if ffr is None else ffr)


def _from_file(
    source: Path,
    pipeline: str | None,
    transitive: bool,
    method: Any,
    limits: SelectionLimits,
    seconds: int,
    screened: bool,
    as_json: bool,
) -> int:
    """Chooses from a file with a matrix, prints the choice, and gives the exit code."""
    from promptpex.synthesis.choice.choose import choose_from_matrix
    from promptpex.synthesis.selection.problem_file import read_problem

    problem = read_problem(source, pipeline)
    problem = problem.transitive() if transitive else problem
    selection = choose_from_matrix(problem, method, limits, seconds=seconds, screened=screened)
    _show(problem, selection, as_json)
    return 0 if selection.chosen is not None else 1


def _show(problem: SelectionProblem, selection: Selection, as_json: bool) -> None:
    from promptpex.cli.choices_in_words import lines
    from promptpex.cli.output import print_json

    if as_json:
        print_json(selection.to_dict())
        return
    for line in lines(problem, selection):
        say(line)


def _show_choice(choice: Choice, as_json: bool) -> None:
    from promptpex.cli.choices_in_words import folder_lines
    from promptpex.cli.output import print_json

    if as_json:
        print_json(choice.to_dict())
        return
    for line in folder_lines(choice):
        say(line)


def _write_tables(folder: Path, choice: Choice, as_json: bool) -> None:
    """Writes the tables of a choice, or of what there is to choose from, and says where they are."""
    from promptpex.workflow.choice_report import report_of, write_tables

    report = report_of(folder, choice.source, choice.kept)
    tables = write_tables(report, folder)
    if not as_json:
        say(f"\n{tr('Tables: {files}', files=', '.join(map(str, tables)))}")


def _use(folder: Path, choice: Choice, into_spec: bool, out: Path | None) -> None:
    """Puts the chosen candidates where they were asked for, and says where that is."""
    if choice.selection.chosen is None or not (into_spec or out is not None):
        return
    from promptpex.synthesis.folder import SynthesisFolder, read_candidates
    from promptpex.workflow.use_selection import put_into_spec, write_chosen

    source = choice.source
    chosen = {source.problem.name(number) for number in choice.selection.chosen}
    synthesis = read_candidates(SynthesisFolder(folder).candidates)
    written: list[Path] = []
    if out is not None:
        written_paths = write_chosen(folder, out, synthesis, source.matrix, chosen)
        written += written_paths.paths
        for sentence in written_paths.left_out:
            say(f"promptpex: {from_data(sentence)}", err=True)
    for path in (*written, *([put_into_spec(folder, synthesis, chosen)] if into_spec else [])):
        say(f"promptpex: {tr('wrote {file}', file=path)}", err=True)
