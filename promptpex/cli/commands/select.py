"""``promptpex select``: which of the candidate assertions to keep."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options
from promptpex.cli.help import Command
from promptpex.cli.output import say
from promptpex.synthesis.selection.methods import METHODS

if TYPE_CHECKING:
    from promptpex.synthesis.folder_choice import FolderChoice
    from promptpex.synthesis.folder_problem import FolderProblem
    from promptpex.synthesis.selection.problem import SelectionProblem
    from promptpex.synthesis.selection.result import Selection


@click.command("select", cls=Command)
@click.argument("source", type=click.Path(path_type=Path))
@options.of_statistics("--method", type=click.Choice(METHODS), default="sub", help="How to choose [sub].")
@options.of_statistics("--coverage", default=".6", metavar="SHARE", help="Least share of bad outputs caught [.6].")
@options.of_statistics("--ffr", default=".25", metavar="SHARE", help="Highest share of good outputs flagged [.25].")
@options.of_statistics("--screen", is_flag=True, help="topological: pass over what fails every output.")
@options.of_statistics(
    "--weigh-questions", is_flag=True, help="A candidate counts 1, and 1 for each question to a judge."
)
@options.of_statistics("--curve", is_flag=True, help="Also the most coverage at each FFR.")
@options.of_statistics("--bootstrap", is_flag=True, help="Bootstrap intervals too, for comparison.")
@options.of_statistics("--transitive", is_flag=True, help="Count what follows from several implications, too.")
@options.of_limits("--time-limit", type=click.IntRange(0), default=60, metavar="S", help="Seconds to search [60].")
@options.of_files("--into-spec", is_flag=True, help="Make the chosen ones rules of the prompt's spec.")
@options.of_files(
    "-o", "--out", type=options.PATH, metavar="FILE", help="Write the chosen ones: .yaml for check, or a .py module."
)
@options.of_files("--pipeline", metavar="NAME", help="Which problem of a file that holds several.")
@options.output_options
def command(
    source: Path,
    method: Any,
    coverage: str,
    ffr: str,
    screen: bool,
    weigh_questions: bool,
    curve: bool,
    bootstrap: bool,
    transitive: bool,
    time_limit: int,
    into_spec: bool,
    out: Path | None,
    pipeline: str | None,
    as_json: bool,
    **flags: Any,
) -> int:
    """Choose the few assertions that are worth having.

    SOURCE is the folder that `promptpex synthesize` wrote, or a JSON file with n, m, y, M and K: the numbers of
    outputs and candidates, a label per output (1 is good), a row of 0 and 1 per output (1: the candidate passes
    it), and the pairs [a, b] in which a implies b.

    cov is the smallest set that keeps both limits; sub also counts each candidate that is neither chosen nor
    implied by a chosen one; baseline takes all that flag little by themselves, topological all that no other
    implies, all every candidate, for reference. Exit code 1: no set keeps both limits.

    \b
      promptpex select problem.json --method cov --coverage 60% --ffr 25%
    """
    from promptpex.synthesis.selection.limits import SelectionLimits
    from promptpex.synthesis.selection.methods import select

    limits = SelectionLimits(_share(coverage, "--coverage"), _share(ffr, "--ffr"))
    if source.is_dir():
        choice = _from_folder(source, method, limits, time_limit, weigh_questions=weigh_questions, full_curve=curve)
        selection = choice.selection
        _show_choice(choice, as_json, with_curve=curve, with_bootstrap=bootstrap)
        if selection.chosen is not None:
            names = {choice.source.problem.name(number) for number in selection.chosen}
            _use(source, choice.source, names, into_spec, out)
        _report(source, choice, as_json)
    else:
        if into_spec or out is not None:
            raise click.UsageError("--into-spec and --out need the folder that `promptpex synthesize` wrote")
        problem = _from_file(source, pipeline, transitive)
        selection = select(problem, method, limits, seconds=time_limit, screened=screen)
        _show(problem, selection, as_json)
    return 0 if selection.chosen is not None else 1


def _from_file(source: Path, pipeline: str | None, transitive: bool) -> SelectionProblem:
    from promptpex.synthesis.selection.problem_file import read_problem

    problem = read_problem(source, pipeline)
    return problem.transitive() if transitive else problem


def _show(problem: SelectionProblem, selection: Selection, as_json: bool) -> None:
    from promptpex.cli.output import print_json
    from promptpex.cli.selection_in_words import lines

    if as_json:
        print_json(selection.to_dict())
        return
    for line in lines(problem, selection):
        say(line)


def _from_folder(
    source: Path, method: Any, limits: Any, seconds: int, *, weigh_questions: bool, full_curve: bool
) -> FolderChoice:
    """Chooses from a synthesis folder, whose candidates are screened and whose implications are closed."""
    from promptpex.synthesis.folder import SynthesisFolder
    from promptpex.synthesis.folder_choice import choose_from
    from promptpex.synthesis.folder_problem import read_folder

    given = read_folder(source, limits, weigh_questions=weigh_questions)
    return choose_from(given, SynthesisFolder(source), method, limits, seconds=seconds, full_curve=full_curve)


def _show_choice(choice: FolderChoice, as_json: bool, *, with_curve: bool, with_bootstrap: bool) -> None:
    from promptpex.cli.choice_in_words import folder_lines
    from promptpex.cli.output import print_json

    if as_json:
        print_json(choice.to_dict())
        return
    for line in folder_lines(choice, with_curve=with_curve, with_bootstrap=with_bootstrap):
        say(line)


def _report(folder: Path, choice: FolderChoice, as_json: bool) -> None:
    """Writes the page of a choice, or of why there is none, and says where it is."""
    from promptpex.cli.selection_in_words import no_selection_sentences
    from promptpex.synthesis.folder import SynthesisFolder
    from promptpex.synthesis.folder_choice import saved_points
    from promptpex.synthesis.saved_choice import CHOICE
    from promptpex.workflow.choice_report import NoChoice, write_report

    source, selection = choice.source, choice.selection
    if selection.chosen is None:
        sentences = tuple(no_selection_sentences(source.problem, selection))
        made = NoChoice(selection.limits, sentences, saved_points(choice.points, source))
        _, page = write_report(folder, source, made)
    else:
        _, page = write_report(folder, source, CHOICE.read(SynthesisFolder(folder).selection))
    if not as_json:
        say(f"\nReport in {page}")


def _use(folder: Path, given: FolderProblem, chosen: set[str], into_spec: bool, out: Path | None) -> None:
    """Puts the chosen candidates where they were asked for, and says where that is."""
    if not (into_spec or out is not None):
        return
    from promptpex.synthesis.candidate_file import read_candidates
    from promptpex.synthesis.folder import SynthesisFolder
    from promptpex.workflow.use_selection import put_into_spec, write_chosen

    synthesis = read_candidates(SynthesisFolder(folder).candidates)
    written = write_chosen(out, synthesis, given.matrix, chosen) if out is not None else []
    for path in (*written, *([put_into_spec(folder, synthesis, chosen)] if into_spec else [])):
        say(f"promptpex: wrote {path}", err=True)


def _share(text: str, flag: str) -> Any:
    from promptpex.core.errors import InputError
    from promptpex.synthesis.selection.limits import share

    try:
        return share(text)
    except InputError as error:
        raise click.BadParameter(error.message, param_hint=flag) from None
