"""``promptpex diff``: two versions of a prompt, and what the changes touch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options
from promptpex.cli.help import Command
from promptpex.cli.output import say
from promptpex.core.sentences import on_one_line
from promptpex.core.translation import Key, from_data, tr

if TYPE_CHECKING:
    from promptpex.specs.prompt_diff import PromptDiff


KINDS = {"added": Key("added"), "removed": Key("removed"), "changed": Key("changed")}
RULES = {
    "added": Key("rule {rule} added"),
    "removed": Key("rule {rule} removed"),
    "changed": Key("rule {rule} changed"),
}


@click.command("diff", cls=Command)
@click.argument("old", type=options.PATH)
@click.argument("new", type=options.PATH)
@options.of_files("--spec", type=options.PATH, metavar="FILE", help="Spec [the one of NEW, else of OLD].")
@options.of_files("--old-spec", type=options.PATH, metavar="FILE", help="Spec of OLD, to compare rules.")
@options.of_files("--cases", type=options.PATH, metavar="FILE", help="Cases [those of NEW, else of OLD].")
@options.report_language
@options.output_options
def command(
    old: Path,
    new: Path,
    spec: Path | None,
    old_spec: Path | None,
    cases: Path | None,
    as_json: bool,
    quiet: bool,
    **flags: Any,
) -> int:
    """Compare two versions of a prompt, sentence by sentence.

    Each change names the rules and cases that it touches. Where both versions have a spec, rules are compared
    as well. No model is asked and nothing is written.

    \b
      git show HEAD~1:prompt.md > old.md && promptpex diff old.md prompt.md
    """
    from promptpex.cli.command_session import settings
    from promptpex.cli.output import print_json
    from promptpex.workflow.comparison.compare_prompts import compare_files

    settings(flags, start=new.parent)
    diff, warnings = compare_files(old, new, spec=spec, old_spec=old_spec, suite=cases)
    for warning in warnings if not quiet else ():
        say(tr("warning: {message}", message=from_data(warning)), err=True)
    if as_json:
        print_json(diff.model_dump(mode="json"))
        return 0
    for line in sentences(diff):
        say(line)
    return 0


def sentences(diff: PromptDiff) -> list[str]:
    """The differences, a paragraph each."""
    if diff.same:
        return [tr("No difference.")]
    lines: list[str] = []
    for change in diff.sentences:
        lines += _entry(KINDS[change.kind].tr(), change.old, change.new)
        for name in change.rules:
            lines.append(
                "    " + tr("rule {name}: {words}", name=name, words=on_one_line(diff.rule_texts.get(name, "")))
            )
        lines += _cases(change.cases)
    for rule in diff.rules:
        title = RULES[rule.kind].tr(rule=rule.rule)
        lines += _entry(title, rule.old, rule.new if rule.new != rule.old else None)
        lines += _cases(rule.cases)
    lines += [tr("variable added: {name}", name=name) for name in diff.variables_added]
    lines += [tr("variable removed: {name}", name=name) for name in diff.variables_removed]
    if diff.roles:
        lines.append(tr("turns: {before} -> {after}", before=", ".join(diff.roles[0]), after=", ".join(diff.roles[1])))
    return [*lines, _sum(diff)]


def _sum(diff: PromptDiff) -> str:
    """How many sentences, rules and cases are touched."""
    rules = {name for change in diff.sentences for name in change.rules}
    touched = {name for change in diff.sentences for name in change.cases}
    touched |= {name for rule in diff.rules for name in rule.cases}
    return tr(
        "Sentences: {added} added, {removed} removed, {changed} changed. Rules touched: {rules}. Cases touched: "
        "{cases}.",
        **{kind: sum(change.kind == kind for change in diff.sentences) for kind in KINDS},
        rules=len(rules),
        cases=len(touched),
    )


def _entry(title: str, old: str | None, new: str | None) -> list[str]:
    return [title, *([f"  - {on_one_line(old)}"] if old else []), *([f"  + {on_one_line(new)}"] if new else [])]


def _cases(ids: Sequence[str]) -> list[str]:
    return ["    " + tr("cases: {ids}", ids=", ".join(ids))] if ids else []
