"""``promptpex extract``: the author model writes down what a prompt promises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options
from promptpex.cli.help import Command
from promptpex.cli.output import say
from promptpex.core.translation import Key, from_data, tr, tr_n

if TYPE_CHECKING:
    from promptpex.specs.groundedness import Groundedness
    from promptpex.workflow.project_files import Files


JUDGED = "judge:"
"""What a judge's label follows where it says how it is known whether the prompt says a rule."""


@click.command("extract", cls=Command)
@options.PROMPT
@options.author
@options.of_cases("--force", is_flag=True, help="Overwrite an existing spec.")
@options.of_cases("--update", "bring", is_flag=True, help="Adapt the spec to a changed prompt; your edits stay.")
@options.of_cases("--more-rules", is_flag=True, help="Ask for rules that are missing; your edits stay.")
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
    more_rules: bool,
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
    from promptpex.workflow.authoring import extract
    from promptpex.workflow.project_files import named_files

    files = replace(named_files(prompt, suite=cases), **({"spec": spec} if spec else {}))
    if bring or more_rules:
        return _update(files, as_json, flags, more_rules)
    if files.spec.exists() and not force:
        message = (
            "exists already; edit it, adapt it to a changed prompt with --update, ask for further rules with "
            "--more-rules, or overwrite it with --force"
        )
        raise SpecError(message, path=files.spec)
    extracted = work(flags, lambda session: extract(session, files), start=prompt.parent)
    if as_json:
        groundedness = [asdict(rule) for rule in extracted.groundedness]
        print_json({**extracted.spec.to_dict(), "groundedness": groundedness, "uncited": list(extracted.uncited)})
        return 0
    _say_rules(len(extracted.spec.rules), files)
    for line in grounds(extracted.groundedness):
        say(line)
    return 0


def grounds(groundedness: Sequence[Groundedness]) -> list[str]:
    """How many rules the prompt says, by their quotes or by a judge, and which it does not or remain unclear."""
    status: dict[str, list[Groundedness]] = {"yes": [], "no": [], "unknown": []}
    for rule in groundedness:
        status[rule.status].append(rule)
    lines = [
        tr_n(
            "{count} of {all} is backed by the prompt's text ({quoted} by a quote).",
            "{count} of {all} are backed by the prompt's text ({quoted} by a quote).",
            len(status["yes"]),
            all=tr_n("{count} rule", "{count} rules", len(groundedness)),
            quoted=sum(rule.how in ("quote", "near-quote") for rule in status["yes"]),
        )
    ]
    lines += [tr("Not in the prompt: {rule}: {reason}", rule=rule.rule, reason=_why(rule)) for rule in status["no"]]
    lines += [
        tr(
            "Unclear: {rule}; {judge} was asked: {reason}",
            rule=rule.rule,
            judge=rule.how.removeprefix(JUDGED),
            reason=_why(rule),
        )
        for rule in status["unknown"]
        if rule.how != "none"
    ]
    left = ", ".join(rule.rule for rule in status["unknown"] if rule.how == "none")
    return [*lines, tr("Unclear: {rules} (--verify asks a model).", rules=left)] if left else lines


def _why(rule: Groundedness) -> str:
    """The reason in the reader's language; what a judge wrote stays as it is."""
    from promptpex.specs.groundedness import UNREAD

    wrote = rule.how.startswith(JUDGED) and rule.reason != UNREAD
    return rule.reason if wrote else from_data(rule.reason)


def _say_rules(count: int, files: Files) -> None:
    say(tr_n("{count} rule in {file}", "{count} rules in {file}", count, file=files.spec))


def _update(files: Files, as_json: bool, flags: dict[str, Any], more: bool) -> int:
    from promptpex.cli.command_session import work
    from promptpex.cli.output import print_json
    from promptpex.workflow.authoring import update

    updated = work(flags, lambda session: update(session, files, more=more), start=files.prompt.parent)
    changes = {
        Key("added"): updated.added,
        Key("stale"): updated.stale,
        Key("back"): updated.back,
        Key("yours without a source in the prompt"): updated.yours,
    }
    if as_json:
        ids_by_change = {str(name): list(ids) for name, ids in changes.items()}
        groundedness = [asdict(rule) for rule in updated.groundedness]
        print_json({**ids_by_change, "groundedness": groundedness, "uncited": list(updated.uncited)})
        return 0
    for name, ids in changes.items():
        if ids:
            say(f"{name.tr()}: {', '.join(ids)}")
    _say_rules(len(updated.spec.rules), files)
    for line in grounds(updated.groundedness) if updated.groundedness else ():
        say(line)
    return 0
