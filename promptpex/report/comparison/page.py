"""The page of two runs side by side: one file that needs nothing else, as ``report.html``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from promptpex.core.translation import Key
from promptpex.report.comparison.output_pairs import CHANGES, SAME_TEXT, ComparedCase, ComparedCases, compared_cases
from promptpex.report.comparison.what_changed import WhatChanged, what_changed
from promptpex.report.comparison_sections import compared_sections
from promptpex.report.html_page import rendered
from promptpex.report.noise_in_words import noise_sentences
from promptpex.report.page.script import script, script_policy
from promptpex.report.percentages import points_apart
from promptpex.report.run_comparison import RunComparison
from promptpex.report.text_table import Section
from promptpex.report.view_model import Bar
from promptpex.tables import AnyRun, records

OPEN_PAIRS = 100
"""Up to so many pairs, a few screens, the cases are unfolded from the start."""
AXES = (0.1, 0.25, 0.5, 1.0)
"""Ends of the axis of differences, to either side: the first that all intervals fit in."""
ONLY = {SAME_TEXT: Key("same text, other verdict")}
"""What else pairs can be filtered by."""


@dataclass(frozen=True, slots=True)
class RunLink:
    """One of the two runs as the page names it: its address is empty where its report cannot be reached."""

    name: str
    address: str = ""


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A model, or a rule on a model: its figures under ``COMPARISON_COLUMNS`` or ``RULE_CHANGE_COLUMNS``, how far its
    shares are apart in words, and the same drawn on an axis from worse to better."""

    row: Mapping[str, Any]
    points: str
    bar: Bar | None


@dataclass(frozen=True, slots=True)
class ComparisonPage:
    """What the page shows, in its order.

    Attributes:
        axis: where the axis of the bars ends, to either side.
        rules: a row per rule and model where one of them is broken, or answers have no verdict; ``unbroken`` are the
            rules that no model breaks.
        gone, added: the rules that the first run alone has verdicts on, and the second alone: a case that breaks one
            fails no more, or newly, by that alone.
        texts: of the rules.
        compared: the cases.
        sections: the further tables.
        noise: what is known of the noise of the models, a sentence each; ``notes``: what else a reader has to know.
    """

    names: tuple[str, ...]
    changed: WhatChanged
    axis: float
    models: tuple[ChangeRow, ...]
    rules: tuple[ChangeRow, ...]
    unbroken: tuple[str, ...]
    gone: tuple[str, ...]
    added: tuple[str, ...]
    texts: Mapping[str, str]
    compared: ComparedCases
    sections: tuple[Section, ...]
    noise: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def cases(self) -> tuple[ComparedCase, ...]:
        """The cases of the page."""
        return self.compared.cases

    @property
    def addresses(self) -> frozenset[str]:
        """Fragments that lead to a pair of outputs."""
        return self.compared.addresses

    @property
    def total(self) -> int:
        """Pairs with a change or a failure, on the page and not."""
        return sum(self.compared.changes.values())

    @property
    def unfold(self) -> bool:
        """Whether the cases are unfolded from the start."""
        return self.total <= OPEN_PAIRS

    @property
    def rule_ids(self) -> tuple[str, ...]:
        """The rules that outputs can be filtered by."""
        return tuple(dict.fromkeys(row.row["rule"] for row in self.rules))

    @property
    def only(self) -> list[tuple[str, str]]:
        """What else pairs can be filtered by, and its words."""
        marks_present = {mark for case in self.cases for pair in case.pairs for mark in pair.marks}
        return [(mark, words) for mark, words in ONLY.items() if mark in marks_present]


def comparison_html(
    comparison: RunComparison,
    links: tuple[RunLink, RunLink],
    tabs: Sequence[tuple[str, str, bool]] = (),
    *,
    other_way: str = "",
) -> str:
    """The page of a comparison; the same comparison gives the same bytes.

    Args:
        links: how the runs are named, and where their reports are.
        tabs: as for the page of a run.
        other_way: the address of the comparison the other way round, where a server shows it.
    """
    return rendered(
        "comparison.html.jinja",
        tabs=tabs,
        comparison=comparison,
        links=links,
        runs=(comparison.before.run, comparison.after.run),
        other_way=other_way,
        page=comparison_page(comparison),
        verdict_names=list(CHANGES),
        change_names=CHANGES,
        script=Markup(script()),
        policy=Markup(script_policy()),
    )


def comparison_page(comparison: RunComparison) -> ComparisonPage:
    """What the page shows of a comparison."""
    models, rules = records(comparison.models), records(comparison.rules)
    axis = _axis(models)
    broken = [row for row in rules if row["before"] or row["after"] or row["at_least"]]
    counts = ("newly_failing", "fixed", "still_failing")
    broken.sort(key=lambda row: (row["decision"] == "undecided", *(-row[name] for name in counts)))
    broken_rules = dict.fromkeys(row["rule"] for row in broken)
    noise = noise_sentences(comparison.noise, models)
    old, new = comparison.before.rules, comparison.after.rules
    texts = _texts(comparison.before.run) | _texts(comparison.after.run)
    return ComparisonPage(
        names=tuple(row["model"] for row in models),
        changed=what_changed(comparison.before.run, comparison.after.run),
        axis=axis,
        models=tuple(_row(row, axis) for row in models),
        rules=tuple(_row(row, axis) for row in broken),
        unbroken=tuple(dict.fromkeys(row["rule"] for row in rules if row["rule"] not in broken_rules)),
        gone=tuple(rule for rule in old if rule not in new),
        added=tuple(rule for rule in new if rule not in old),
        texts=texts,
        compared=compared_cases(comparison, list(broken_rules)),
        sections=tuple(one for one in compared_sections(comparison) if one.id != "broken"),
        noise=tuple(noise),
        notes=tuple(note for note in comparison.notes if note not in noise),
    )


def _texts(run: AnyRun) -> dict[str, str]:
    return {rule.id: rule.rule for rule in run.spec.rules} | run.manifest.mode_rules


def _axis(rows: Iterable[Mapping[str, Any]]) -> float:
    ends = [abs(row[name] or 0.0) for row in rows for name in ("difference_low", "difference_high")]
    return next(end for end in AXES if max(ends, default=0.0) <= end or end == AXES[-1])


def _row(row: Mapping[str, Any], axis: float) -> ChangeRow:
    low, high = row["difference_low"], row["difference_high"]
    if low is None or row["difference"] is None:
        return ChangeRow(row, points_apart(row["difference"], low, high), None)
    bar = Bar.of(*(0.5 + end / axis / 2 for end in (low, row["difference"], high)))
    return ChangeRow(row, points_apart(row["difference"], low, high), bar)
