"""``promptpex synthesize``: candidate assertions from a prompt's history and its spec."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options
from promptpex.cli.help import Command
from promptpex.cli.output import say
from promptpex.codecs.wording import named, plural

if TYPE_CHECKING:
    from promptpex.core.records import History, Synthesis
    from promptpex.workflow.files import Files
    from promptpex.workflow.synthesizing import SynthesisWishes


@click.command("synthesize", cls=Command)
@options.PROMPT
@options.author
@options.of_cases(
    "--versions",
    type=options.PATH,
    multiple=True,
    metavar="PATH",
    help="Folder of versions, or a file; several in the order given [git].",
)
@options.of_cases("--since", type=click.DateTime(), metavar="DATE", help="Look at git's history from this date on.")
@options.of_cases("--spec-rules/--no-spec-rules", default=True, help="Count the rules of the spec as criteria too.")
@options.of_cases("--dry-run", is_flag=True, help="Show versions, changes and price; ask nothing.")
@options.of_output("--tagged", is_flag=True, help="Print the prompt with the words that show its categories.")
@options.request_options
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
    dry_run: bool,
    tagged: bool,
    as_json: bool,
    **flags: Any,
) -> int:
    """Find candidate assertions in what a prompt's versions added.

    Each version is compared with the one before it, sentence by sentence. The author says what the changes are
    about, writes criteria for what was added, and candidates for the criteria: checks by code, Python, questions.
    They go to PROMPT.synthesis/candidates.yaml, which is yours to edit; a new version adds its own.

    \b
      promptpex synthesize prompt.md --dry-run
      promptpex synthesize prompt.md --versions versions/ --author gpt-4.1
    """
    from promptpex.workflow.files import files_of, require_files
    from promptpex.workflow.synthesizing import SynthesisWishes

    require_files(spec, cases)
    if versions and since is not None:
        raise click.UsageError("--since looks into git, and --versions names files: leave one out")
    wishes = SynthesisWishes(versions, since, spec_rules)
    files = files_of(prompt, spec=spec, suite=cases)
    return _dry(files, wishes, as_json, flags) if dry_run else _synthesize(files, wishes, tagged, as_json, flags)


def _dry(files: Files, wishes: SynthesisWishes, as_json: bool, flags: dict[str, Any]) -> int:
    from promptpex.cli.command_session import work
    from promptpex.cli.commands.estimate import show
    from promptpex.cli.history_in_words import history_lines, plain_history
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
        say("There is nothing new to ask about.")
    return 0


def _synthesize(files: Files, wishes: SynthesisWishes, tagged: bool, as_json: bool, flags: dict[str, Any]) -> int:
    from promptpex.cli.command_session import work
    from promptpex.cli.history_in_words import category_lines, history_lines, plain_history
    from promptpex.cli.output import print_json
    from promptpex.synthesis import tagged_prompt
    from promptpex.synthesis.folder import SynthesisFolder
    from promptpex.workflow.synthesizing import synthesize

    made = work(flags, lambda session: synthesize(session, files, wishes), start=files.prompt.parent)
    segments = tagged_prompt.tagged(_text(made.history), made.history.deltas)
    file = SynthesisFolder.of(files.prompt).candidates
    if as_json:
        new = {"new_criteria": list(made.criteria), "new_candidates": list(made.candidates)}
        synthesis = made.synthesis.to_dict()
        print_json({**plain_history(made.history, segments), **synthesis, **new, "dropped": dict(made.dropped)})
        return 0
    for line in (*history_lines(made.history), *category_lines(made.history.deltas)):
        say(line)
    if tagged:
        say(tagged_prompt.as_text(segments))
    _say_candidates(made.synthesis)
    total = plural(len(made.synthesis.candidates), "candidate")
    criteria = plural(len(made.synthesis.criteria), "criterion", "criteria")
    say(f"{total} for {criteria} in {file} ({len(made.candidates)} new)")
    return 0


def _text(history: History) -> str:
    """The last version as one text."""
    messages = history.versions[-1].messages
    if len(messages) == 1:
        return messages[0].content
    return "\n\n".join(f"{message.role}:\n{message.content}" for message in messages)


def _say_candidates(synthesis: Synthesis) -> None:
    """The criteria with the candidates that decide them, and those that none does."""
    kinds = Counter(candidate.check.kind.removeprefix("not-") for candidate in synthesis.candidates)
    for criterion in synthesis.criteria:
        mine = [one for one in synthesis.candidates if criterion.id in one.criteria]
        origin = criterion.version or (f"rule {criterion.rule}" if criterion.rule else "yours")
        say(f"{criterion.id} ({origin}, {criterion.category}): {criterion.text}")
        for candidate in mine:
            say(f"    {candidate.id} ({candidate.check.kind})")
        if not mine:
            say("    no candidate")
    if kinds:
        say(f"Kinds: {named([f'{kind} {times}' for kind, times in kinds.most_common()])}")
