"""The report card for the local page: made anew when a file has changed that it is made from."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from pathlib import Path

from promptpex.codecs.files.ordinary_files import state_of
from promptpex.core.events import ignore_events
from promptpex.core.records import ReportCard
from promptpex.core.shares import share
from promptpex.promptfile import sibling
from promptpex.report import runs
from promptpex.report.runs.listing import FILES
from promptpex.workflow.alignment.report_card import CardWishes, align


class CardOfRuns:
    """The card of some runs, or of a prompt's latest one.

    Args:
        sources, results, wishes: as for ``align``.
    """

    def __init__(self, sources: Sequence[Path], results: Path, wishes: CardWishes) -> None:
        self._sources, self._results, self._wishes = tuple(sources), results, wishes
        self._files: tuple[Path, ...] = ()

    def stamp(self) -> Hashable:
        """What changes whenever a file does that the card is made from; the latest run is one of them.

        Raises:
            RunError: there is no run.
        """
        named: Sequence[Path | None] = self._sources or (None,)
        folders = [runs.resolve(one, self._results) for one in named if one is None or not one.is_file()]
        files = [folder / name for folder in folders for name in FILES]
        return (*folders, len(self._files), *map(state_of, (*self._files, *files)))

    def card(self, limit: str = "", against: Path | None = None) -> ReportCard:
        """The card.

        Args:
            limit: as a person writes it: ``25%``; empty: the kept choice.
            against: the folder of a run of other words.

        Raises:
            InputError: a file that cannot be used, or it is not a limit.
        """
        wishes = replace(self._wishes, ffr=share(limit)) if limit.strip() else self._wishes
        wishes = wishes if against is None else replace(wishes, against=against)
        alignment = align(self._sources, self._results, wishes, ignore_events)
        project = alignment.project
        self._files = (
            project.file,
            project.grades,
            sibling(project.file, "spec"),
            *(project.folder.path / name for name in ("candidates.yaml", "examples.jsonl", "matrix.jsonl")),
            project.folder.selection,
        )
        return alignment.card
