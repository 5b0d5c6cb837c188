"""What becomes of old runs is said in the reader's language."""

from __future__ import annotations

from pathlib import Path

from promptpex.cli.commands.runs import pruned_lines
from promptpex.core.translation import reading_in
from promptpex.workflow.prune_runs import BLESSED, DAMAGED, FOREIGN, GRADED, NAMED, Prunable
from tests.marked_language import Marked, unmarked


def test_every_text_about_old_runs_is_of_the_catalogue() -> None:
    reasons = (
        NAMED.format(name="first"),
        BLESSED.format(file="p.blessed.yaml"),
        GRADED.format(file="p.jsonl"),
        DAMAGED,
    )
    old = [
        Prunable(Path("p/gone"), (), goes=True),
        Prunable(Path("p/busy"), (), goes=True),
        Prunable(Path("p/stays"), reasons, goes=False),
        Prunable(Path("p/other"), (FOREIGN,), goes=False),
    ]
    gone = [old[0].folder]
    with reading_in(Marked()):
        lines = [
            line
            for dry_run in (False, True)
            for line in pruned_lines(old, gone, [old[1].folder], {old[0].folder: 2_000}, dry_run=dry_run)
        ]
    assert len(lines) == 10
    assert not [
        rest for line in lines if (rest := unmarked(line, ("p/gone", "p/busy", "p/stays", "p/other", "KB", "kB")))
    ]
