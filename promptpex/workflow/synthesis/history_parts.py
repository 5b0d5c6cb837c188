"""A prompt's history as the page of a choice shows it: its versions, its words, and how much each category has."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import get_args

from promptpex.core.records import Category, Delta, History, Synthesis
from promptpex.report.choices.records import CategoryCount, PageVersion, PromptPiece
from promptpex.synthesis.history.prompt_with_categories import tagged
from promptpex.synthesis.history.taxonomy import TAXONOMY, Group, info_of


def page_versions(history: History) -> tuple[PageVersion, ...]:
    """What each version changed, in order."""
    about = {version.name: version for version in history.versions}
    return tuple(
        PageVersion(
            name=delta.version,
            time=(version.time or "") if (version := about.get(delta.version)) else "",
            note=version.note if version else "",
            added=tuple(change.text for change in delta.changes if change.tag == "added"),
            removed=tuple(change.text for change in delta.changes if change.tag == "removed"),
            moved=delta.moved,
            categories=tuple((info_of(one.category).title, one.source) for one in delta.categories),
        )
        for delta in history.deltas
    )


def page_pieces(text: str, deltas: Sequence[Delta]) -> tuple[PromptPiece, ...]:
    """The prompt with the words that show its categories."""
    return tuple(
        PromptPiece(one.text, tuple(info_of(category).title for category in one.categories))
        for one in tagged(text, deltas)
    )


def category_counts(
    deltas: Sequence[Delta], synthesis: Synthesis, chosen: Collection[str]
) -> tuple[CategoryCount, ...]:
    """How much there is of each category, below its group; without those of which there is nothing."""
    categories: dict[str, Category] = {one.id: one.category for one in synthesis.criteria}
    of_delta = [{one.category for one in delta.categories} for delta in deltas]
    of_criterion: list[set[Category]] = [{category} for category in categories.values()]
    of_candidate = {
        one.id: {categories[name] for name in one.criteria if name in categories} for one in synthesis.candidates
    }
    counts = []
    for group in get_args(Group):
        members = [info for info in TAXONOMY if info.group == group]
        rows = [({info.name}, info.title) for info in members]
        rows.insert(0, ({info.name for info in members}, ""))
        for kind, title in rows if group != "other" else rows[:1]:
            one = _count(group, title, kind, (of_delta, of_criterion), of_candidate, chosen)
            if one.versions or one.criteria or one.candidates:
                counts.append(one)
    return tuple(counts)


def _count(
    group: str,
    title: str,
    wanted: Collection[Category],
    histories: tuple[Sequence[set[Category]], Sequence[set[Category]]],
    of_candidate: Mapping[str, set[Category]],
    chosen: Collection[str],
) -> CategoryCount:
    versions, criteria = (sum(not one.isdisjoint(wanted) for one in each) for each in histories)
    candidates = [name for name, its in of_candidate.items() if not its.isdisjoint(wanted)]
    return CategoryCount(group, title, versions, criteria, len(candidates), sum(name in chosen for name in candidates))
