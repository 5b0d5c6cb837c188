"""The outputs of two runs in pairs, model by model and case by case: those that a reader wants to see."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from promptpex import tables
from promptpex.core.records import NOT_CONCERNED
from promptpex.core.texts import Key
from promptpex.report.metrics_in_words import scales
from promptpex.report.page.addresses import FirstTargets, Ids
from promptpex.report.page.asked import Inputs, named_inputs
from promptpex.report.page.cases import ShownOutput, after_of, right_text, shown_output, shown_scores, shown_verdicts
from promptpex.report.run_comparison import ComparedRun, RunComparison
from promptpex.tables import records
from promptpex.tables.counts_per_case import asked

if TYPE_CHECKING:
    import pandas as pd

CHANGES = {
    "new": Key("newly failing"),
    "fixed": Key("fixed"),
    "open": Key("unscored in one run"),
    "still": Key("still failing"),
}
"""What became of a case on a model, by its name in addresses, in the order of the page."""
LETTERS = {change: change[0] for change in CHANGES}
"""How the same of a single rule is written for the filters; ``-`` stands for none of it."""
SAME_TEXT = "same"
"""The mark of a pair whose outputs are the same to the letter, and their verdicts are not."""
MOST_OUTPUTS = 10_000
"""Outputs on the page at most."""

_COLUMNS = ["case", "model", "repeat", "output", "message", "verdict", "unscored", "error"]

Cell = tuple[str, str]
"""A model, as the comparison calls it, and a case."""
FailureCount = tuple[int, int, int]
"""How many outputs break a rule, how many have no verdict, and how many count, these among them."""
NOTHING: FailureCount = (0, 0, 0)


@dataclass(frozen=True, slots=True)
class ChangedVerdict:
    """A rule by which a pair has come out otherwise, or is still broken: one of ``CHANGES``; and its ids for links."""

    rule: str
    change: str
    ids: Ids = ("", "")


@dataclass(frozen=True, slots=True)
class OutputPair:
    """What a model answers to a case in both runs.

    Attributes:
        model, model_index: its name and its position.
        change: one of ``CHANGES``.
        letters: the same for each rule of the page, one of ``LETTERS`` or ``-``.
        rules: of the rules for which there is one.
        before, after: the outputs, one for each repeat.
        marks: ``SAME_TEXT`` where that holds.
        ids: by which links find it.
    """

    model: str
    model_index: int
    change: str
    letters: str
    rules: tuple[ChangedVerdict, ...]
    before: tuple[ShownOutput, ...]
    after: tuple[ShownOutput, ...]
    marks: tuple[str, ...] = ()
    ids: Ids = ("", "")


@dataclass(frozen=True, slots=True)
class ComparedCase:
    """A case with its pairs; ``counts`` by change, ``marks`` for filters without a script, ``place`` in the suite."""

    id: str
    aim: str | None
    inverse: bool
    inputs: Inputs
    expected: str | None
    pairs: tuple[OutputPair, ...]
    counts: Mapping[str, int]
    marks: tuple[str, ...]
    place: int


@dataclass(frozen=True, slots=True)
class ComparedCases:
    """The cases of the page, those with most newly failing outputs first.

    Attributes:
        addresses: fragments that lead to a pair.
        changes: how many pairs there are of each change, on the page and not.
        per_model: how many of these each model has.
        kept: pairs that keep all rules in both runs; they are not on the page.
        left_out: pairs that the page has no room for.
    """

    cases: tuple[ComparedCase, ...]
    addresses: frozenset[str]
    changes: Mapping[str, int]
    per_model: Mapping[str, int]
    kept: int
    left_out: int


def compared_cases(comparison: RunComparison, rules: Sequence[str]) -> ComparedCases:
    """The pairs of a comparison that failed in one of its runs, or were scored in one alone.

    Args:
        rules: those of the page in its order.
    """
    every = _changes(comparison)
    order = list(CHANGES)
    ranked = sorted((cell for cell, change in every.items() if change), key=lambda cell: order.index(every[cell]))
    shown = set(_within_bounds(ranked, comparison))
    pairs = _pairs(comparison, {cell: every[cell] for cell in ranked if cell in shown}, rules)
    targets = FirstTargets()
    cases = tuple(_targeted(case, targets) for case in _in_order(_cases(comparison, pairs)))
    return ComparedCases(
        cases=cases,
        addresses=frozenset(targets.addresses),
        changes=Counter(every[cell] for cell in ranked),
        per_model=Counter(model for model, _ in ranked),
        kept=sum(change == "" for change in every.values()),
        left_out=len(ranked) - len(shown),
    )


def _within_bounds(ranked: Sequence[Cell], comparison: RunComparison) -> Sequence[Cell]:
    repeats = max(int(one.run.manifest.settings.get("repeats") or 1) for one in (comparison.before, comparison.after))
    return ranked[: max(1, MOST_OUTPUTS // (2 * max(1, repeats)))]


def _changes(comparison: RunComparison) -> dict[Cell, str]:
    """What became of each case on each model: a change, or nothing where all rules are kept in both; not where neither
    run could be scored."""
    bounds = {row["model"] for row in records(comparison.models) if row["at_least"]}
    sides = [
        _failures(_common(comparison, at, one.outputs), ["model", "case"], bounds)
        for at, one in enumerate((comparison.before, comparison.after))
    ]
    cells = dict.fromkeys([*sides[1], *sides[0]])
    changes = {cell: _change(*(side.get(cell, NOTHING) for side in sides)) for cell in cells}
    return {(model, case): change for (model, case), change in changes.items() if change is not None}


def _common(comparison: RunComparison, at: int, frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of the models and cases that are in both runs, under the comparison's names of the models."""
    called = dict(zip((names[at] for names in comparison.names), comparison.models["model"].tolist(), strict=True))
    inside = frame["case"].isin(list(comparison.cases)) & frame["model"].isin(list(called))
    rows = frame[inside & asked(frame)]
    return rows.assign(model=rows["model"].map(called).astype("string"))


def _failures(rows: pd.DataFrame, keys: Sequence[str], bounds: set[Any]) -> dict[tuple[str, ...], FailureCount]:
    """How many outputs break a rule, by these columns.

    Args:
        bounds: the models, or rules and models, of which every usable output counts, also without a verdict.
    """
    counts: defaultdict[tuple[str, ...], list[int]] = defaultdict(lambda: [0, 0, 0])
    columns = (rows[name].tolist() for name in (*keys, "verdict"))
    for *key, verdict, unusable in zip(*columns, rows["error"].notna().tolist(), strict=True):
        cell = tuple(key)
        kind = cell[0] if len(keys) == 2 else cell[:2]
        if verdict in ("pass", "fail") or (kind in bounds and not unusable):
            counts[cell][0] += verdict == "fail"
            counts[cell][1] += verdict not in ("pass", "fail")
            counts[cell][2] += 1
    return {cell: (failed, open_, size) for cell, (failed, open_, size) in counts.items()}


def _change(before: FailureCount, after: FailureCount) -> str | None:
    """The change from one count to another, whatever missing verdicts would have been; empty where nothing is broken in
    either."""
    (old, old_open, old_size), (new, new_open, new_size) = before, after
    if old_open == old_size or new_open == new_size:
        return "open" if old_open < old_size or new_open < new_size else None
    if new * old_size > (old + old_open) * new_size:
        return "new"
    if (new + new_open) * old_size < old * new_size:
        return "fixed"
    if old_open or new_open:
        return "open"
    return "still" if new else ""


def _rule_changes(comparison: RunComparison) -> dict[Cell, dict[str, str]]:
    """By model and case the rules that came out otherwise, or are still broken; a rule without a score in one run only
    where the other breaks it."""
    bounds = {(row["rule"], row["model"]) for row in records(comparison.rules) if row["at_least"]}
    sides = []
    for at, one in enumerate((comparison.before, comparison.after)):
        outcomes = tables.rule_outcomes(one.verdicts)
        concerned = outcomes[~outcomes["status"].eq(NOT_CONCERNED)].rename(columns={"status": "verdict"})
        sides.append(_failures(_common(comparison, at, concerned), ["rule", "model", "case"], bounds))
    changes: defaultdict[Cell, dict[str, str]] = defaultdict(dict)
    for rule, model, case in dict.fromkeys([*sides[1], *sides[0]]):
        before, after = (side.get((rule, model, case), NOTHING) for side in sides)
        change = _change(before, after)
        if change and (change != "open" or before[0] or after[0]):
            changes[model, case][rule] = change
    return changes


def _pairs(comparison: RunComparison, shown: Mapping[Cell, str], rules: Sequence[str]) -> Mapping[Cell, OutputPair]:
    place = {name: index for index, name in enumerate(comparison.models["model"].tolist())}
    before, after = (_outputs(comparison, at, shown, place) for at in (0, 1))
    by_rule = _rule_changes(comparison)
    return {
        cell: _pair(cell, place, change, by_rule.get(cell, {}), rules, (before.get(cell, ()), after.get(cell, ())))
        for cell, change in shown.items()
    }


def _pair(
    cell: Cell,
    place: Mapping[str, int],
    change: str,
    by_rule: Mapping[str, str],
    rules: Sequence[str],
    sides: tuple[Sequence[ShownOutput], Sequence[ShownOutput]],
) -> OutputPair:
    texts = [[one.row["output"] for one in side] for side in sides]
    return OutputPair(
        model=cell[0],
        model_index=place[cell[0]],
        change=change,
        letters="".join(LETTERS[by_rule[rule]] if rule in by_rule else "-" for rule in rules),
        rules=tuple(ChangedVerdict(rule, by_rule[rule]) for rule in rules if rule in by_rule),
        before=tuple(sides[0]),
        after=tuple(sides[1]),
        marks=(SAME_TEXT,) if texts[0] == texts[1] and change != "still" else (),
    )


def _outputs(
    comparison: RunComparison, at: int, shown: Mapping[Cell, str], place: Mapping[str, int]
) -> Mapping[Cell, list[ShownOutput]]:
    """The outputs of one of the runs by model and case, with what is worth reading of their verdicts."""
    side: ComparedRun = (comparison.before, comparison.after)[at]
    called = dict(zip((names[at] for names in comparison.names), place, strict=True))
    cells = zip(side.outputs["model"].tolist(), side.outputs["case"].tolist(), strict=True)
    rows = side.outputs.loc[[(called.get(model, ""), case) in shown for model, case in cells], _COLUMNS]
    verdicts = shown_verdicts(side.verdicts, rows)
    scores = shown_scores(side.scores, {case for _, case in shown}, scales(side.run))
    by_cell: defaultdict[Cell, list[ShownOutput]] = defaultdict(list)
    after = after_of(side.run)
    for row in records(rows):
        key, name = (row["case"], row["model"], row["repeat"]), called[row["model"]]
        made = shown_output(row, place[name], verdicts.get(key, []), after)
        by_cell[name, row["case"]].append(replace(made, scores=tuple(scores.get(key, ()))))
    return by_cell


def _cases(comparison: RunComparison, pairs: Mapping[Cell, OutputPair]) -> Iterator[ComparedCase]:
    by_case: defaultdict[str, list[OutputPair]] = defaultdict(list)
    for (_, name), pair in pairs.items():
        by_case[name].append(pair)
    for place, case in enumerate(comparison.after.run.suite.cases):
        own = sorted(by_case.get(case.id, ()), key=lambda pair: pair.model_index)
        if own:
            counts = Counter(pair.change for pair in own)
            yield ComparedCase(
                id=case.id,
                aim=case.rule,
                inverse=case.inverse,
                inputs=named_inputs(case),
                expected=right_text(case),
                pairs=tuple(own),
                counts={name: counts[name] for name in CHANGES if counts[name]},
                marks=tuple(_marks(own)),
                place=place,
            )


def _marks(pairs: Iterable[OutputPair]) -> Iterator[str]:
    named = ((f"m{pair.model_index}", pair.change, f"m{pair.model_index}-{pair.change}") for pair in pairs)
    yield from sorted({mark for marks in named for mark in marks})


def _in_order(cases: Iterable[ComparedCase]) -> list[ComparedCase]:
    return sorted(cases, key=lambda case: [-case.counts.get(change, 0) for change in CHANGES])


def _targeted(case: ComparedCase, targets: FirstTargets) -> ComparedCase:
    return replace(case, pairs=tuple(_with_ids(pair, targets) for pair in case.pairs))


def _with_ids(pair: OutputPair, targets: FirstTargets) -> OutputPair:
    rules = (replace(one, ids=targets.of_changed_verdict(one.rule, pair.model, one.change)) for one in pair.rules)
    return replace(pair, ids=targets.of_changed_output(pair.model, pair.change), rules=tuple(rules))
