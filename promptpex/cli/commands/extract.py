"""``promptpex extract``: the author model writes down what a prompt promises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options
from promptpex.cli.help import Command
from promptpex.cli.output import say
from promptpex.codecs.wording import plural

if TYPE_CHECKING:
    from promptpex.specs.groundedness import Groundedness
    from promptpex.workflow.files import Files


@click.command("extract", cls=Command)
@options.PROMPT
@options.author
@options.of_cases("--force", is_flag=True, help="Overwrite a spec that exists.")
@options.of_cases("--update", "bring", is_flag=True, help="Adapt it to a changed prompt; your edits stay.")
@options.of_cases("--more", is_flag=True, help="Ask for the rules that it lacks; your edits stay.")
@options.extraction
@options.inverse_cases
@options.samples_shown
@options.request_options
@options.prompt_files
@options.results
@options.settings_options
@options.session_output_options
def command(
    prompt: Path,
    spec: Path | None,
    cases: Path | None,
    force: bool,
    bring: bool,
    more: bool,
    as_json: bool,
    **flags: Any,
) -> int:
    """Write down what a prompt promises: PROMPT.spec.yaml.

    The author model extracts the intent, the input spec, the output rules and their inverses. Edit the file
    as you like before you generate cases: what you change or add stays yours.
    """
    from promptpex.cli.command_session import work
    from promptpex.cli.output import print_json
    from promptpex.core.errors import SpecError
    from promptpex.workflow.files import files_of, require_files
    from promptpex.workflow.pipeline import extract

    require_files(None, cases)
    files = files_of(prompt, spec=spec, suite=cases)
    if bring or more:
        return _update(files, as_json, flags, more)
    if files.spec.exists() and not force:
        message = (
            "exists already; edit it, adapt it to a changed prompt with --update, ask for further rules with --more, "
            "or overwrite it with --force"
        )
        raise SpecError(message, path=files.spec)
    extracted = work(flags, lambda session: extract(session, files), start=prompt.parent)
    if as_json:
        groundedness = [asdict(rule) for rule in extracted.groundedness]
        print_json({**extracted.spec.to_dict(), "groundedness": groundedness, "uncited": list(extracted.uncited)})
        return 0
    say(f"{plural(len(extracted.spec.rules), 'rule')} in {files.spec}")
    for line in grounds(extracted.groundedness):
        say(line)
    return 0


def grounds(groundedness: Sequence[Groundedness]) -> list[str]:
    """How many rules the prompt says, by their quotes or by a judge, and which it does not or remain unclear."""
    status: dict[str, list[Groundedness]] = {"yes": [], "no": [], "unknown": []}
    for rule in groundedness:
        status[rule.status].append(rule)
    by_quotes = sum(rule.how in ("quote", "near-quote") for rule in status["yes"])
    count, total = len(status["yes"]), plural(len(groundedness), "rule")
    verb = "is" if count == 1 else "are"
    lines = [f"{count} of {total} {verb} backed by the prompt's text ({by_quotes} by a quote)."]
    lines += [f"Not in the prompt: {rule.rule}: {rule.reason}" for rule in status["no"]]
    asked = [rule for rule in status["unknown"] if rule.how != "none"]
    lines += [f"Unclear: {rule.rule}; {rule.how.removeprefix('judge:')} was asked: {rule.reason}" for rule in asked]
    left = ", ".join(rule.rule for rule in status["unknown"] if rule.how == "none")
    return [*lines, f"Unclear: {left} (--verify asks a model)."] if left else lines


def _update(files: Files, as_json: bool, flags: dict[str, Any], more: bool) -> int:
    from promptpex.cli.command_session import work
    from promptpex.cli.output import print_json
    from promptpex.workflow.pipeline import update

    done = work(flags, lambda session: update(session, files, more=more), start=files.prompt.parent)
    changes = {
        "added": done.added,
        "stale": done.stale,
        "back": done.back,
        "yours without a source in the prompt": done.yours,
    }
    if as_json:
        ids_by_change = {name: list(ids) for name, ids in changes.items()}
        groundedness = [asdict(rule) for rule in done.groundedness]
        print_json({**ids_by_change, "groundedness": groundedness, "uncited": list(done.uncited)})
        return 0
    for name, ids in changes.items():
        if ids:
            say(f"{name}: {', '.join(ids)}")
    say(f"{plural(len(done.spec.rules), 'rule')} in {files.spec}")
    for line in grounds(done.groundedness) if done.groundedness else ():
        say(line)
    return 0
