"""``promptpex extract``: what a prompt promises, written down by the author model."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options
from promptpex.cli.plain import say

if TYPE_CHECKING:
    from promptpex.project import Extracted, Files
    from promptpex.specs.groundedness import Groundedness


@click.command("extract")
@options.PROMPT
@options.author
@options.files
@click.option("--force", is_flag=True, help="Write over a spec that exists.")
@click.option("--update", "bring", is_flag=True, help="Bring a spec up to date with a changed prompt; your edits stay.")
@options.generation
@options.asking
@options.config
@options.manners
def command(
    prompt: Path, spec: Path | None, cases: Path | None, force: bool, bring: bool, as_json: bool, **flags: Any
) -> int:
    """Extract intent, input spec, output rules and inverse rules into PROMPT.spec.yaml.

    Edit the file as you like before you generate cases: what you change or add stays yours.
    """
    from promptpex.cli.showing import print_json
    from promptpex.cli.work import work
    from promptpex.errors import SpecError
    from promptpex.project import extract, files_of

    files = files_of(prompt, spec=spec, suite=cases)
    if bring:
        return _update(files, as_json, flags)
    if files.spec.exists() and not force:
        told = "exists already; edit it, bring it up to date with --update, or write over it with --force"
        raise SpecError(told, path=files.spec)
    found = work(flags, lambda session: extract(session, files), start=prompt.parent)
    if as_json:
        said = [asdict(one) for one in found.groundedness]
        print_json({**found.spec.plain(), "groundedness": said})
        return 0
    say(f"{len(found.spec.rules)} rules in {files.spec}")
    for line in _grounds(found):
        say(line)
    return 0


def _grounds(found: Extracted) -> list[str]:
    """How many rules the prompt says, by their words or by a judge, and which it does not or nobody knows of."""
    status: dict[str, list[Groundedness]] = {"yes": [], "no": [], "unknown": []}
    for one in found.groundedness:
        status[one.status].append(one)
    by_words = sum(one.how in ("quote", "near-quote") for one in status["yes"])
    told = f"Grounded: {len(status['yes'])} of {len(found.groundedness)} rules, {by_words} by the words they quote."
    lines = [told, *(f"Not in the prompt: {one.rule}: {one.reason}" for one in status["no"])]
    if status["unknown"]:
        ids = ", ".join(one.rule for one in status["unknown"])
        lines.append(f"Open: {ids}; their words do not settle it (--verify asks a model).")
    return lines


def _update(files: Files, as_json: bool, flags: dict[str, Any]) -> int:
    from promptpex.cli.showing import print_json
    from promptpex.cli.work import work
    from promptpex.project import update

    done = work(flags, lambda session: update(session, files), start=files.prompt.parent)
    told = {"added": done.added, "gone": done.gone, "back": done.back, "yours without words in the prompt": done.yours}
    if as_json:
        print_json({name: list(ids) for name, ids in told.items()})
        return 0
    for name, ids in told.items():
        if ids:
            say(f"{name}: {', '.join(ids)}")
    say(f"{len(done.spec.rules)} rules in {files.spec}")
    return 0
