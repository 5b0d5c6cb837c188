"""``promptpex extract``: what a prompt promises, written down by the author model."""

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
@options.extraction
@options.inverse_cases
@options.request_options
@options.prompt_files
@options.results
@options.settings_options
@options.session_output_options
def command(
    prompt: Path, spec: Path | None, cases: Path | None, force: bool, bring: bool, as_json: bool, **flags: Any
) -> int:
    """Write down what a prompt promises: PROMPT.spec.yaml.

    The author model extracts the intent, the input spec, the output rules and their inverses. Edit the file
    as you like before you generate cases: what you change or add stays yours.
    """
    from promptpex.cli.output import print_json
    from promptpex.cli.runner import work
    from promptpex.core.errors import SpecError
    from promptpex.workflow.files import files_of, require_files
    from promptpex.workflow.project import extract

    require_files(None, cases)
    files = files_of(prompt, spec=spec, suite=cases)
    if bring:
        return _update(files, as_json, flags)
    if files.spec.exists() and not force:
        told = "exists already; edit it, bring it up to date with --update, or write over it with --force"
        raise SpecError(told, path=files.spec)
    found = work(flags, lambda session: extract(session, files), start=prompt.parent)
    if as_json:
        said = [asdict(one) for one in found.groundedness]
        print_json({**found.spec.to_dict(), "groundedness": said})
        return 0
    say(f"{plural(len(found.spec.rules), 'rule')} in {files.spec}")
    for line in grounds(found.groundedness):
        say(line)
    return 0


def grounds(found: Sequence[Groundedness]) -> list[str]:
    """How many rules the prompt says, by their words or by a judge, and which it does not or nobody knows of."""
    status: dict[str, list[Groundedness]] = {"yes": [], "no": [], "unknown": []}
    for one in found:
        status[one.status].append(one)
    by_words = sum(one.how in ("quote", "near-quote") for one in status["yes"])
    rules = plural(len(found), "rule")
    told = f"Grounded: {len(status['yes'])} of {rules}, {by_words} by the words they quote."
    lines = [told, *(f"Not in the prompt: {one.rule}: {one.reason}" for one in status["no"])]
    asked = [one for one in status["unknown"] if one.how != "none"]
    lines += [f"Open: {one.rule}; {one.how.removeprefix('judge:')} was asked: {one.reason}" for one in asked]
    left = ", ".join(one.rule for one in status["unknown"] if one.how == "none")
    if left:
        lines.append(f"Open: {left}; their words do not settle it (--verify asks a model).")
    return lines


def _update(files: Files, as_json: bool, flags: dict[str, Any]) -> int:
    from promptpex.cli.output import print_json
    from promptpex.cli.runner import work
    from promptpex.workflow.project import update

    done = work(flags, lambda session: update(session, files), start=files.prompt.parent)
    told = {
        "added": done.added,
        "stale": done.stale,
        "back": done.back,
        "yours without words in the prompt": done.yours,
    }
    if as_json:
        print_json(
            {**{name: list(ids) for name, ids in told.items()}, "groundedness": list(map(asdict, done.groundedness))}
        )
        return 0
    for name, ids in told.items():
        if ids:
            say(f"{name}: {', '.join(ids)}")
    say(f"{plural(len(done.spec.rules), 'rule')} in {files.spec}")
    for line in grounds(done.groundedness) if done.groundedness else ():
        say(line)
    return 0
