"""The outputs of two runs in pairs, model by model and case by case: those that a reader wants to see."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

from promptpex import tables
from promptpex.core.translation import Key
from promptpex.report.metrics_in_words import scales
from promptpex.report.page.addresses import FirstTargets, Ids
from promptpex.report.page.asked import Inputs, named_inputs
from promptpex.report.page.cases import ShownOutput, after_of, right_text, shown_output, shown_scores, shown_verdicts
from promptpex.report.run_comparison import RunComparison
from promptpex.report.run_tables import RunTables
from promptpex.tables import records
from promptpex.tables.paired_cells import changes_of

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

Cell = tuple[str, str]
"""A model, as the comparison calls it, and a case."""


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
    changes, models = _Changes.of(comparison), comparison.models.column("model")
    ranked, all_changes = changes.ranked, list(CHANGES)
    shown_outputs = {
        (models[model], case): all_changes[change]
        for model, case, change in zip(*changes.at(ranked[: _most(comparison)]), strict=True)
    }
    pairs = _pairs(comparison, shown_outputs, rules)
    targets = FirstTargets()
    cases = tuple(_targeted(case, targets) for case in _in_order(_cases(comparison, pairs)))
    of_models, _, of_changes = changes.at(ranked)
    return ComparedCases(
        cases=cases,
        addresses=frozenset(targets.addresses),
        changes=Counter(all_changes[change] for change in of_changes),
        per_model=Counter(models[model] for model in of_models),
        kept=changes.kept,
        left_out=len(ranked) - len(shown_outputs),
    )


def _most(comparison: RunComparison) -> int:
    """How many pairs the page has room for."""
    repeats = max(int(one.run.manifest.settings.get("repeats") or 1) for one in (comparison.before, comparison.after))
    return max(1, MOST_OUTPUTS // (2 * max(1, repeats)))


class _Changes(NamedTuple):
    """What became of each case on each model: the number of the model, the case, and the change (``changes_of``)."""

    models: Sequence[int]
    cases: Sequence[str]
    changes: Sequence[int]

    @classmethod
    def of(cls, comparison: RunComparison) -> _Changes:
        """Those of a comparison."""
        cells = tables.cells_of_both(comparison.before.rows, comparison.after.rows, comparison.names, comparison.cases)
        at_least = [bool(bound) for bound in comparison.models.column("at_least")]
        bounds = [at_least[model] for model in cells.models]
        return cls(cells.models, cells.cases, changes_of(*cells.counts, bounds).tolist())

    @property
    def kept(self) -> int:
        """How many keep all rules in both runs."""
        return self.changes.count(len(CHANGES))

    @property
    def ranked(self) -> Sequence[int]:
        """The places of all others that are known, in the order of ``CHANGES``."""
        places = (place for place, change in enumerate(self.changes) if change in range(len(CHANGES)))
        return sorted(places, key=self.changes.__getitem__)

    def at(self, places: Sequence[int]) -> tuple[list[int], list[str], list[int]]:
        """The models, cases and changes at some places."""
        models, cases = [self.models[place] for place in places], [self.cases[place] for place in places]
        return models, cases, [self.changes[place] for place in places]


def _rule_changes(
    comparison: RunComparison, shown: Iterable[Cell], rules: Sequence[str]
) -> Mapping[Cell, Mapping[str, str]]:
    """By model and case the rules that came out otherwise, or are still broken; a rule without a score in one run only
    where the other breaks it.

    Args:
        shown: the models and cases that are wanted.
        rules: the rules that are.
    """
    bounds = {(row["rule"], row["model"]) for row in records(comparison.rules) if row["at_least"]}
    by_model: defaultdict[str, list[str]] = defaultdict(list)
    for model, case in shown:
        by_model[model].append(case)
    called = dict(zip(comparison.models.column("model"), comparison.names, strict=True))
    by_cell: defaultdict[Cell, dict[str, str]] = defaultdict(dict)
    for (model, cases), rule in product(by_model.items(), rules):
        sides = [
            one.rule_counts.of_cases(rule, name, cases)
            for one, name in zip((comparison.before, comparison.after), called[model], strict=True)
        ]
        changes = changes_of(sides[0][:, :3], sides[1][:, :3], bounds=(rule, model) in bounds).tolist()
        fails = (sides[0][:, 0] + sides[1][:, 0]).tolist()
        for case, change, failed in zip(cases, changes, fails, strict=True):
            name = list(CHANGES)[change] if 0 <= change < len(CHANGES) else ""
            if name and (name != "open" or failed):
                by_cell[model, case][rule] = name
    return by_cell


def _pairs(comparison: RunComparison, shown: Mapping[Cell, str], rules: Sequence[str]) -> Mapping[Cell, OutputPair]:
    place = {name: index for index, name in enumerate(comparison.models.column("model"))}
    before, after = (_outputs(comparison, at, shown, place) for at in (0, 1))
    by_rule = _rule_changes(comparison, shown, rules)
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
    side: RunTables = (comparison.before, comparison.after)[at]
    called = dict(zip((names[at] for names in comparison.names), place, strict=True))
    cells = side.rows.query("t.place, m.name, c.id")
    chosen = side.chosen([place for place, model, case in cells if (called.get(model, ""), case) in shown])
    verdicts, scores = shown_verdicts(chosen.verdicts), shown_scores(chosen.scores, scales(side.run))
    by_cell: defaultdict[Cell, list[ShownOutput]] = defaultdict(list)
    after = after_of(side.run)
    for row in chosen.outputs.records():
        key, name = (row["case"], row["model"], row["repeat"]), called[row["model"]]
        output_shown = shown_output(row, place[name], verdicts.get(key, []), after)
        by_cell[name, row["case"]].append(replace(output_shown, scores=tuple(scores.get(key, ()))))
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
