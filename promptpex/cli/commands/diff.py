"""``promptpex diff``: two versions of a prompt, and what the changes touch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options
from promptpex.cli.help import Command
from promptpex.cli.output import say

if TYPE_CHECKING:
    from promptpex.specs.prompt_diff import PromptDiff


@click.command("diff", cls=Command)
@click.argument("old", type=options.PATH)
@click.argument("new", type=options.PATH)
@options.of_files("--spec", type=options.PATH, metavar="FILE", help="Spec [the one of NEW, else of OLD].")
@options.of_files("--old-spec", type=options.PATH, metavar="FILE", help="Spec of OLD, to compare rules.")
@options.of_files("--cases", type=options.PATH, metavar="FILE", help="Cases [those of NEW, else of OLD].")
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
    as well. Nothing is asked and nothing written.

    \b
      git show HEAD~1:prompt.md > old.md && promptpex diff old.md prompt.md
    """
    from promptpex.cli.output import print_json
    from promptpex.workflow.compare_prompts import compare_files

    diff, warnings = compare_files(old, new, spec=spec, old_spec=old_spec, suite=cases)
    for warning in warnings if not quiet else ():
        say(f"warning: {warning}", err=True)
    if as_json:
        print_json(diff.model_dump(mode="json"))
        return 0
    for line in sentences(diff):
        say(line)
    return 0


def sentences(diff: PromptDiff) -> list[str]:
    """The differences, a paragraph each."""
    if diff.same:
        return ["No difference."]
    lines: list[str] = []
    for change in diff.sentences:
        lines += _entry(change.kind, change.old, change.new)
        if change.rules:
            lines += [f"    rule {name}: {_flat(diff.rule_texts.get(name, ''))}" for name in change.rules]
        lines += _cases(change.cases)
    for rule in diff.rules:
        lines += _entry(f"rule {rule.rule} {rule.kind}", rule.old, rule.new if rule.new != rule.old else None)
        lines += _cases(rule.cases)
    lines += [f"variable added: {name}" for name in diff.variables_added]
    lines += [f"variable removed: {name}" for name in diff.variables_removed]
    if diff.roles:
        lines.append(f"turns: {', '.join(diff.roles[0])} -> {', '.join(diff.roles[1])}")
    count = {kind: sum(change.kind == kind for change in diff.sentences) for kind in ("added", "removed", "changed")}
    rules = {name for change in diff.sentences for name in change.rules}
    touched = {name for change in diff.sentences for name in change.cases}
    touched |= {name for rule in diff.rules for name in rule.cases}
    sums = ", ".join(f"{number} {kind}" for kind, number in count.items())
    return [*lines, f"Sentences: {sums}. Rules touched: {len(rules)}. Cases touched: {len(touched)}."]


def _entry(title: str, old: str | None, new: str | None) -> list[str]:
    return [title, *([f"  - {_flat(old)}"] if old else []), *([f"  + {_flat(new)}"] if new else [])]


def _cases(ids: Sequence[str]) -> list[str]:
    return [f"    cases: {', '.join(ids)}"] if ids else []


def _flat(text: str) -> str:
    return " ".join(text.split())
