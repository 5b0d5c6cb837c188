"""``promptpex synthesize``: candidate assertions from a prompt's history and its spec."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options
from promptpex.cli.help import Command
from promptpex.cli.output import NO_ANSWER, say
from promptpex.codecs.text.wording import cut, named, quoted, sentence
from promptpex.core.records import Delta, History
from promptpex.core.translation import from_data, tr, tr_n
from promptpex.synthesis.history.categories import TAXONOMY, Segment, as_line, info_of

if TYPE_CHECKING:
    from promptpex.core.records import Criterion, Synthesis
    from promptpex.workflow.project_files import Files
    from promptpex.workflow.synthesizing import Synthesised, SynthesisWishes
    from promptpex.workflow.trying_candidates import Trial, TrialWishes


@click.command("synthesize", cls=Command)
@options.PROMPT
@options.author
@options.of_cases(
    "--versions",
    type=options.PATH,
    multiple=True,
    metavar="PATH",
    help="Folder or file of versions; may be repeated [git].",
)
@options.of_cases(
    "--since", type=click.DateTime(), metavar="DATE", expert=True, help="Start at this date of git's history."
)
@options.of_cases(
    "--spec-rules/--no-spec-rules", default=True, expert=True, help="Use the rules of the spec as criteria, too."
)
@options.of_cases("--infer", is_flag=True, help="Have the author suggest criteria, too.")
@options.of_cases("--from-notes", is_flag=True, help="Make criteria from notes on bad outputs, too.")
@options.of_cases("--dry-run", is_flag=True, help="Show versions, changes and price; ask no model.")
@options.of_cases(
    "--run", "run_", type=options.PATH, metavar="RUN", help="Run whose outputs are the examples [the latest]."
)
@options.of_cases(
    "--labels", type=options.PATH, metavar="FILE", help="CSV or JSON lines with labels or labelled outputs."
)
@options.labelling
@options.of_judging("-j", "--judge", metavar="NAMES", help="Judges that answer candidates' questions.")
@options.of_output(
    "--tagged", is_flag=True, expert=True, help="Print the prompt with the words that show its categories marked."
)
@options.request_options
@options.engine_options
@options.prompt_files
@options.results
@options.settings_options
@options.session_output_options
def command(
    prompt: Path,
    spec: Path | None,
    cases: Path | None,
    versions: tuple[Path, ...],
    since: datetime | None,
    spec_rules: bool,
    infer: bool,
    from_notes: bool,
    dry_run: bool,
    run_: Path | None,
    labels: Path | None,
    tagged: bool,
    as_json: bool,
    **flags: Any,
) -> int:
    """Find candidate assertions in what a prompt's versions added.

    The author writes criteria for what was added, and candidates for the criteria, into
    PROMPT.synthesis/candidates.yaml. With --labels, or people's grades, each is run on labelled outputs, and
    `promptpex select PROMPT.synthesis` chooses among them.

    \b
      promptpex synthesize prompt.md --dry-run
      promptpex synthesize prompt.md --infer --author gpt-4.1
      promptpex synthesize prompt.md --labels labels.csv --judge gpt-4.1-mini
    \f
    Each version is compared with the one before it, sentence by sentence, and the author says what the changes are
    about. Candidates are checks by code, Python or questions; their file is yours to edit, and a new version adds its
    own. With --infer the author also suggests criteria from the prompt alone, and with --from-notes from people's
    notes on bad outputs. With --author none candidates are only run, on the outputs of the latest run, or of --run or
    --labels, with labels from PROMPT.grades.jsonl or --labels.
    """
    from promptpex.workflow.project_files import named_files
    from promptpex.workflow.synthesizing import SynthesisWishes
    from promptpex.workflow.trying_candidates import TrialWishes

    if versions and since is not None:
        raise click.UsageError("--since looks into git, and --versions names files: leave one out")
    how = options.label_rules(flags)
    wishes = SynthesisWishes(versions, since, spec_rules, infer, from_notes, how)
    files = named_files(prompt, spec=spec, suite=cases)
    if dry_run:
        return _dry(files, wishes, as_json, flags)
    return _synthesize(files, wishes, TrialWishes(run_, labels, how), tagged, as_json, flags)


def _dry(files: Files, wishes: SynthesisWishes, as_json: bool, flags: dict[str, Any]) -> int:
    from promptpex.cli.command_session import work
    from promptpex.cli.commands.estimate import show
    from promptpex.cli.output import print_json
    from promptpex.workflow.synthesizing import planned

    async def job(session: Any) -> Any:
        return planned(session, files, wishes)

    plan = work(flags, job, start=files.prompt.parent)
    if as_json:
        print_json({**plain_history(plan.history, ()), "requests": [asdict(line) for line in plan.lines]})
        return 0
    for line in history_lines(plan.history):
        say(line)
    if plan.lines:
        show(plan.lines)
    else:
        say(sentence(from_data(plan.why_unasked)) if plan.why_unasked else tr("There is nothing new to ask about."))
    return 0


def _synthesize(
    files: Files, wishes: SynthesisWishes, trial: TrialWishes, tagged: bool, as_json: bool, flags: dict[str, Any]
) -> int:
    from promptpex.cli.command_session import work
    from promptpex.cli.output import print_json
    from promptpex.promptfile import messages_text
    from promptpex.synthesis.folder import SynthesisFolder
    from promptpex.synthesis.history import categories
    from promptpex.workflow.synthesizing import synthesize
    from promptpex.workflow.trying_candidates import require_sources, try_candidates

    async def job(session: Any) -> Any:
        require_sources(session, files, trial)
        return await synthesize(session, files, wishes), await try_candidates(session, files, trial)

    synthesised, tried = work(flags, job, start=files.prompt.parent)
    segments = categories.tagged(messages_text(synthesised.history.versions[-1].messages), synthesised.history.deltas)
    file = SynthesisFolder.of(files.prompt).candidates
    if as_json:
        new = {"new_criteria": list(synthesised.criteria), "new_candidates": list(synthesised.candidates)}
        synthesis = synthesised.synthesis.to_dict()
        about = {"dropped": dict(synthesised.dropped), "trial": tried and asdict(tried)}
        print_json({**plain_history(synthesised.history, segments), **synthesis, **new, **about})
        return _code(synthesised)
    for line in (*history_lines(synthesised.history), *category_lines(synthesised.history.deltas)):
        say(line)
    if tagged:
        say(categories.as_text(segments))
    _say_candidates(synthesised.synthesis)
    total = tr(
        "{candidates} for {criteria} in {file} ({new} new)",
        candidates=tr_n("{count} candidate", "{count} candidates", len(synthesised.synthesis.candidates)),
        criteria=tr_n("{count} criterion", "{count} criteria", len(synthesised.synthesis.criteria)),
        file=file,
        new=len(synthesised.candidates),
    )
    say(total)
    if tried is not None:
        _say_trial(tried, file.parent)
    return _code(synthesised)


def _code(made: Synthesised) -> int:
    """The exit code, and on stderr what the author gave nothing usable for.

    That is a failure only where there is no candidate at all: else those that there are were run, and a folder whose
    author goes on giving nothing would never be up to date.
    """
    if not made.unanswered:
        return 0
    lacking, candidate_count = named(made.unanswered), len(made.synthesis.candidates)
    if not candidate_count:
        message = tr("the author gave nothing usable for {names}; another --author may", names=lacking)
        say(f"promptpex: {message}", err=True)
        return NO_ANSWER
    message = tr_n(
        "the author gave nothing usable for {names}; another --author may, and --author none goes on with the {count} "
        "candidate on file",
        "the author gave nothing usable for {names}; another --author may, and --author none goes on with the {count} "
        "candidates on file",
        candidate_count,
        names=lacking,
    )
    say(f"promptpex: {message}", err=True)
    return 0


def _say_trial(tried: Trial, folder: Path) -> None:
    """What the candidates say of the examples, and what comes next."""
    implied = tr_n(
        "{count} implication ({new} new)", "{count} implications ({new} new)", tried.implications, new=tried.judged
    )
    if not tried.examples:
        say(tr("no examples; {implications}", implications=implied))
        say(tr("To choose without any: {command}", command=f"promptpex select {folder} --method topological"))
        return
    line = tr_n(
        "{good} good and {bad} bad of {count} example; results: {results} ({new} new); {implications}",
        "{good} good and {bad} bad of {count} examples; results: {results} ({new} new); {implications}",
        tried.examples,
        good=tried.good,
        bad=tried.bad,
        results=", ".join(f"{count} {from_data(name)}" for name, count in tried.results.items()),
        new=tried.cells,
        implications=implied,
    )
    say(line)
    if tried.good and tried.bad:
        say(tr("To choose: {command}", command=f"promptpex select {folder}"))


def _origin(criterion: Criterion) -> str:
    if criterion.version or criterion.rule:
        return criterion.version or tr("rule {rule}", rule=criterion.rule)
    if criterion.origin != "extracted":
        return tr("yours")
    return tr("from notes") if criterion.notes else tr("inferred")


def _say_candidates(synthesis: Synthesis) -> None:
    """The criteria with the candidates that decide them, and those that none does."""
    kinds = Counter(candidate.check.kind.removeprefix("not-") for candidate in synthesis.candidates)
    for criterion in synthesis.criteria:
        of_criterion = [one for one in synthesis.candidates if criterion.id in one.criteria]
        about = [_origin(criterion), criterion.category]
        about += [] if criterion.selected else [tr("set aside")]
        say(f"{criterion.id} ({', '.join(about)}): {criterion.text}")
        for candidate in of_criterion:
            say(f"    {candidate.id} ({candidate.check.kind})")
        if not of_criterion:
            say("    " + tr("no candidate"))
    if kinds:
        kinds_text = named([f"{kind} {times}" for kind, times in kinds.most_common()])
        say(tr("Kinds: {kinds}", kinds=kinds_text))


_LONGEST = 200
"""Characters of a sentence."""


def history_lines(history: History) -> Iterator[str]:
    """A paragraph per version: its changes, a sentence on a line, and its categories with the words that show them."""
    about = {version.name: version for version in history.versions}
    for delta in history.deltas:
        version = about[delta.version]
        yield "  ".join(part for part in (delta.version, (version.time or "")[:10], version.note) if part)
        yield from (f"  {as_line(one.replace(text=cut(one.text, _LONGEST)))}" for one in delta.changes)
        if delta.moved or not delta.changes:
            yield f"  = {_unchanged(delta)}"
        yield from (f"    {from_data(info_of(one.category).title)}: {quoted(one.source)}" for one in delta.categories)


def category_lines(deltas: Sequence[Delta]) -> Iterator[str]:
    """How many changes of the history each category has, in the order of the taxonomy."""
    counts = Counter(category for delta in deltas for category in {one.category for one in delta.categories})
    rows = [(info, counts[info.name]) for info in TAXONOMY if counts[info.name]]
    width = max((len(from_data(info.title)) for info, _ in rows), default=0)
    for info, times in rows:
        versions = tr_n("{count} version", "{count} versions", times)
        yield f"  {from_data(info.title):<{width}}  {from_data(info.group):<10}  {versions}"


def plain_history(history: History, segments: Iterable[Segment]) -> dict[str, Any]:
    """The history as data for ``--json``, without the texts of the versions."""
    versions: list[Mapping[str, Any]] = [
        {"name": one.name, "time": one.time, "note": one.note, "fingerprint": one.fingerprint}
        for one in history.versions
    ]
    return {
        "versions": versions,
        "deltas": [_plain_delta(delta) for delta in history.deltas],
        "tagged_prompt": [{"text": one.text, "categories": list(one.categories)} for one in segments],
    }


def _plain_delta(delta: Delta) -> dict[str, Any]:
    categories = [{**one.to_dict(), "group": info_of(one.category).group} for one in delta.categories]
    return {**delta.model_dump(mode="json"), "categories": categories}


def _unchanged(delta: Delta) -> str:
    if delta.moved:
        return tr_n("{count} sentence moved", "{count} sentences moved", delta.moved)
    return tr("the same words, in another form")
