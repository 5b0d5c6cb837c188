"""``promptpex generate``: cases for what is missing or outdated."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options
from promptpex.cli.help import Command
from promptpex.cli.output import say
from promptpex.codecs.text.wording import named
from promptpex.core.translation import tr, tr_n

if TYPE_CHECKING:
    from promptpex.cases.plan import Plan
    from promptpex.workflow.generating import Generated, Quality, Wishes
    from promptpex.workflow.project_files import Files


@click.command("generate", cls=Command)
@options.PROMPT
@options.author
@options.generation
@options.rounds
@options.effort
@options.of_cases("--dry-run", is_flag=True, help="Show what would be made and its price; ask no model.")
@options.of_cases(
    "--more",
    type=click.IntRange(1, 100),
    metavar="N",
    help="Add N cases for each rule and inverse, unlike the existing ones.",
)
@options.of_cases("--replace", is_flag=True, help="Retire all that is outdated or too many; else at most a tenth.")
@options.of_cases("--rate", is_flag=True, help="Have the author rate cases by severity, importance and repetition.")
@options.of_cases(
    "--keep-best",
    type=click.IntRange(1),
    metavar="N",
    help="Keep the N most valuable cases by rating and coverage, and put the others aside.",
)
@options.of_models("--expected", metavar="MODEL", help="Take expected outputs from MODEL, scored by the judges.")
@options.of_judging("-j", "--judge", metavar="NAMES", help="Judges that score expected outputs.")
@options.sampling
@options.request_options
@options.prompt_files
@options.settings_options
@options.session_output_options
def command(
    prompt: Path,
    spec: Path | None,
    cases: Path | None,
    dry_run: bool,
    more: int | None,
    replace: bool,
    rate: bool,
    keep_best: int | None,
    as_json: bool,
    **flags: Any,
) -> int:
    """Generate cases for each rule and its inverse.

    They go to PROMPT.cases.yaml. Only what is missing is asked for. A case is outdated, and made again, when its
    rule or the input spec changed. Cases that you wrote or edited are never touched; unusable ones stay, marked
    with the reason.
    """
    from promptpex.workflow.generating import Wishes
    from promptpex.workflow.project_files import files_of

    files = files_of(prompt, spec=spec, suite=cases)
    wishes = Wishes(more or 0, rate, keep_best, replace)
    return _dry(files, wishes, as_json, flags) if dry_run else _generate(files, wishes, as_json, flags)


def _generate(files: Files, wishes: Wishes, as_json: bool, flags: dict[str, Any]) -> int:
    from promptpex.cli.command_session import work
    from promptpex.cli.output import print_json
    from promptpex.workflow.authoring import generate

    generated = work(flags, lambda session: generate(session, files, wishes), start=files.prompt.parent)
    kept_count, retired = len(generated.plan.keep), len(generated.plan.retire)
    new = len(generated.suite.cases) - kept_count
    if as_json:
        lost_rules = {"lost": generated.choice.lost} if generated.choice is not None else {}
        print_json(
            {"made": new, "kept": kept_count, "retired": retired, "quality": asdict(generated.quality), **lost_rules}
        )
        return 0
    line = tr_n(
        "{count} case in {file} ({new} made, {kept} kept, {retired} retired)",
        "{count} cases in {file} ({new} made, {kept} kept, {retired} retired)",
        len(generated.suite.cases),
        file=files.suite,
        new=new,
        kept=kept_count,
        retired=retired,
    )
    say(line)
    for line in (*quality_lines(generated.quality), *_choice_lines(generated, wishes.keep)):
        say(line)
    return 0


def _choice_lines(made: Generated, keep: int | None) -> list[str]:
    """What the ratings say, and what putting cases aside has cost, in sentences."""
    choice = made.choice
    ratings = [case.rating for case in made.suite.valid() if case.rating is not None]
    repeats = sum(rating.redundant_with is not None for rating in ratings)
    lines = []
    if ratings:
        rated = tr_n(
            "Rated: {count} case; {repeats} of them test what another one does.",
            "Rated: {count} cases; {repeats} of them test what another one does.",
            len(ratings),
            repeats=repeats,
        )
        lines.append(rated)
    if choice is not None and keep is not None and choice.own >= keep:
        lines.append(tr_n("{count} is yours and stays.", "{count} are yours and stay.", choice.own))
    if choice is None or not choice.aside:
        return lines
    aside = tr_n(
        "{count} case put aside; `generate --keep-best {valid}` brings it back.",
        "{count} cases put aside; `generate --keep-best {valid}` brings them back.",
        choice.aside,
        valid=choice.valid,
    )
    lines.append(aside)
    if choice.lost:
        lines.append(tr("No kept case tests {rules}.", rules=", ".join(choice.lost)))
    return [*lines, *([made.resolution] if made.resolution else [])]


def quality_lines(quality: Quality) -> list[str]:
    """How good a suite is, in sentences."""
    usable = quality.cases - quality.excluded - quality.aside
    lines = [
        tr_n(
            "Independent: {number} of {count} usable case ({pairs}).",
            "Independent: {number} of {count} usable cases ({pairs}).",
            usable,
            number=quality.independent,
            pairs=tr_n("{count} near-duplicate pair", "{count} near-duplicate pairs", quality.duplicates),
        )
    ]
    if quality.excluded:
        excluded = tr_n(
            "Excluded: {count} case, with the reason under 'invalid'.",
            "Excluded: {count} cases, with the reason under 'invalid'.",
            quality.excluded,
        )
        lines.append(excluded)
    if quality.lint:
        codes = (f"{len(ids)} {code} ({named(ids)})" for code, ids in sorted(quality.lint.items()))
        lines.append(tr("Lint: {codes}.", codes=", ".join(codes)))
    if quality.untriggered:
        unmet = tr_n(
            "In the latest run {count} case did not meet the condition of the rule that it is for: {ids}.",
            "In the latest run {count} cases did not meet the condition of the rule that they are for: {ids}.",
            len(quality.untriggered),
            ids=named(list(quality.untriggered)),
        )
        lines.append(unmet)
    if quality.bare:
        lines.append(tr("No case tests {rules}.", rules=", ".join(quality.bare)))
    return lines


def _dry(files: Files, wishes: Wishes, as_json: bool, flags: dict[str, Any]) -> int:
    from promptpex.cli.command_session import work
    from promptpex.cli.commands.estimate import show
    from promptpex.cli.output import print_json
    from promptpex.workflow.authoring import planned

    async def job(session: Any) -> Any:
        return planned(session, files, wishes)

    todo, lines = work(flags, job, start=files.prompt.parent)
    if as_json:
        print_json({**_plain(todo), "requests": [asdict(line) for line in lines]})
        return 0
    for aim, count in _made_of(todo).items():
        say(tr("make {count}: {aim}", count=count, aim=aim))
    for case in todo.retire:
        say(tr("retire: {case}", case=case.id))
    say(tr_n("keep: {count} case", "keep: {count} cases", len(todo.keep)))
    show(lines)
    return 0


def _made_of(todo: Plan) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for target, count in todo.make:
        counts[target.stem] += count
    return dict(counts)


def _plain(todo: Plan) -> dict[str, Any]:
    return {
        "make": _made_of(todo),
        "retire": [case.id for case in todo.retire],
        "keep": len(todo.keep),
        "orphans": [case.id for case in todo.orphans],
    }
