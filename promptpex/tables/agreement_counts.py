"""How often code and judges agree, counted case by case from parts of a run: what tables of agreement rest on."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

from promptpex.core.records import NOT_CONCERNED
from promptpex.stats import clustered_agreement
from promptpex.tables.frames import is_from, numbered, typed
from promptpex.tables.mergeable_counts import Numbering, Renumbering, Tally

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    Ints = npt.NDArray[np.int64]

AGREEMENT_COLUMNS: Mapping[str, str] = {
    "kind": "string",
    "first": "string",
    "second": "string",
    "rule": "string",
    "n": "Int64",
    "both_not_concerned": "Int64",
    "one_not_concerned": "Int64",
    "both_pass": "Int64",
    "first_fails": "Int64",
    "second_fails": "Int64",
    "both_fail": "Int64",
    "agreed": "Float64",
    "agreed_low": "Float64",
    "agreed_high": "Float64",
    "agreed_interval": "string",
    "kappa": "Float64",
    "kappa_low": "Float64",
    "kappa_high": "Float64",
    "kappa_interval": "string",
    "fail_rate_first": "Float64",
    "fail_rate_second": "Float64",
    "adjusted": "Float64",
}
"""Columns of ``agreements``. ``kind`` is ``code-judge``, ``judges`` or ``again`` (a judge's first answer and its later
ones); ``rule`` is missing in the row of all rules together; ``n`` are outputs and rules that both passed or failed, of
which ``first_fails`` only the first fails, and all figures are of these; ``both_not_concerned`` and
``one_not_concerned`` count beside them what both, or only one of the two, found not concerned; ``agreed`` is the raw
share; ``kappa`` is Cohen's, missing where both say one thing throughout; ``adjusted`` is kappa without prevalence and
bias (PABAK). The verdicts of one case are correlated, and both intervals allow for it: ``agreed_interval`` and
``kappa_interval`` say how each was made."""

KEYS = ["model", "case", "repeat", "rule"]

CELLS = 4
"""Cells of the fourfold table of fail and pass; its number is 2 if the first passes, and 1 if the second does."""

_Pair = tuple[str, str, str]
"""The kind of a pair, its first and its second."""


@dataclass(slots=True)
class _RuleCells:
    """One rule of a pair: a row of ``CELLS`` for each case, and what neither, or one alone, finds concerned."""

    cells: Tally = field(default_factory=lambda: Tally(CELLS))
    neither: int = 0
    one: int = 0


@dataclass(slots=True)
class _PairCells:
    """A pair: its cases as it meets them, and its rules."""

    cases: Renumbering = field(default_factory=Renumbering)
    rules: dict[str, _RuleCells] = field(default_factory=dict)


class AgreementCounts:
    """What ``agreements`` counts, from verdicts that come part by part; an output is in one part.

    It grows with pairs of sources, rules and cases: eight bytes for each.

    Args:
        partly: rules that code decides in part only: of those, a pass by code is not a verdict on the rule.
        cases: numbers the cases, for others too.
    """

    def __init__(self, partly: Collection[str] = (), cases: Numbering | None = None) -> None:
        self._partly = partly
        self._cases = Numbering() if cases is None else cases
        self._judges: dict[str, None] = {}
        self._again: dict[str, None] = {}
        self._pairs: dict[_Pair, _PairCells] = {}

    def add(self, cube: pd.DataFrame) -> None:
        """Adds the verdicts on some outputs."""
        if not is_from(cube, "judge").any():
            return
        scored = cube.loc[cube["status"].ne("unscored"), [*KEYS, "status", "source", "turn"]]
        judges, later = _judges(scored), scored[scored["turn"].gt(0)]
        again = {str(name): group for name, group in later.groupby("source", sort=False, observed=True)}
        self._judges |= dict.fromkeys(judges)
        self._again |= dict.fromkeys(again)
        if not judges:
            return
        code = code_of(scored, self._partly)
        for name, verdicts in judges.items():
            self._add(("code-judge", "code", name), code, verdicts)
            if name in again:
                self._add(("again", name, name), verdicts, again[name])
        for one, two in combinations([name for name in self._judges if name in judges], 2):
            self._add(("judges", one, two), judges[one], judges[two])

    def table(self, confidence: float) -> pd.DataFrame:
        """The table; columns ``AGREEMENT_COLUMNS``."""
        judges = list(self._judges)
        order: list[_Pair] = [("code-judge", "code", name) for name in judges]
        order += [("judges", one, two) for one, two in combinations(judges, 2)]
        order += [("again", name, name) for name in self._again if name in self._judges]
        rows = (row for pair in order if pair in self._pairs for row in self._rows(pair, confidence))
        return typed(rows, AGREEMENT_COLUMNS)

    def _add(self, name: _Pair, one: pd.DataFrame, two: pd.DataFrame) -> None:
        both = one[[*KEYS, "status"]].merge(two[[*KEYS, "status"]], on=KEYS, suffixes=("_one", "_two"))
        if both.empty:
            return
        pair = self._pairs.setdefault(name, _PairCells())
        codes, cases = numbered(both["case"])
        places = pair.cases.of(self._cases.of([str(case) for case in cases]))
        cells, left_out = _cells(both), _left_out(both)
        rules, names = numbered(both["rule"])
        for number, rule in enumerate(names):
            of_rule = rules == number
            _add_rule(
                pair.rules.setdefault(str(rule), _RuleCells()),
                places,
                codes[of_rule],
                cells[of_rule],
                left_out[of_rule],
            )

    def _rows(self, name: _Pair, confidence: float) -> Iterator[dict[str, Any]]:
        import numpy as np

        pair = self._pairs[name]
        named, count = dict(zip(("kind", "first", "second"), name, strict=True)), len(pair.cases)
        rules = pair.rules.values()
        cells = np.zeros((count, CELLS), dtype=np.int64)
        for rule in rules:
            cells += rule.cells.rows(count)
        left_out = sum(rule.neither for rule in rules), sum(rule.one for rule in rules)
        yield {**named, **_figures(cells, *left_out, confidence)}
        for words, rule in pair.rules.items():
            yield {**named, "rule": words, **_figures(rule.cells.rows(count), rule.neither, rule.one, confidence)}


def code_of(scored: pd.DataFrame, partly: Collection[str]) -> pd.DataFrame:
    """The verdicts of code on rules, without passes of those that it decides in part."""
    code = scored[is_from(scored, "check")]
    return code[~(code["rule"].isin(list(partly)) & code["status"].eq("pass"))]


def _judges(scored: pd.DataFrame) -> dict[str, pd.DataFrame]:
    first = scored[is_from(scored, "judge") & scored["turn"].eq(0)]
    return {str(name): group for name, group in first.groupby("source", sort=False, observed=True)}


def _add_rule(rule: _RuleCells, places: Ints, codes: Ints, cells: Ints, left_out: Ints) -> None:
    """Adds items of one rule, by the code of their case, their cell, and how many found them not concerned."""
    import numpy as np

    concerned = left_out == 0
    counts = np.bincount(CELLS * codes[concerned] + cells[concerned], minlength=CELLS * len(places))
    rows = counts.reshape(-1, CELLS)
    (row_numbers,) = np.nonzero(rows.any(axis=1))
    rule.cells.add(places[row_numbers], rows[row_numbers])
    rule.neither += int((left_out == 2).sum())
    rule.one += int((left_out == 1).sum())


def _cells(both: pd.DataFrame) -> Ints:
    """Per item, the number of its cell."""
    one, two = (both[name].eq("pass").to_numpy(dtype="int64") for name in ("status_one", "status_two"))
    cells: Ints = 2 * one + two
    return cells


def _left_out(both: pd.DataFrame) -> Ints:
    """Per item, how many of the two found that the rule does not concern the output."""
    import numpy as np

    one, two = (both[name].eq(NOT_CONCERNED).to_numpy(bool) for name in ("status_one", "status_two"))
    left_out: Ints = np.add(one, two, dtype="int64")
    return left_out


def _figures(cells: Ints, neither: int, one: int, confidence: float) -> dict[str, Any]:
    """The figures of items by their cases and cells, of those that neither found not concerned."""
    row: dict[str, Any] = {"n": int(cells.sum()), "both_not_concerned": neither, "one_not_concerned": one}
    return row | (_fourfold(cells, confidence) if row["n"] else {})


def _fourfold(cells: Ints, confidence: float) -> dict[str, Any]:
    agreement = clustered_agreement(cells.reshape(-1, 2, 2), confidence)
    (both_fail, first_fails), (second_fails, both_pass) = agreement.table
    row: dict[str, Any] = {
        "both_pass": both_pass,
        "first_fails": first_fails,
        "second_fails": second_fails,
        "both_fail": both_fail,
        "agreed": agreement.raw.estimate,
        "agreed_low": agreement.raw.low,
        "agreed_high": agreement.raw.high,
        "agreed_interval": agreement.raw.method,
        "fail_rate_first": agreement.base_first[0],
        "fail_rate_second": agreement.base_second[0],
        "adjusted": agreement.adjusted,
    }
    kappa = agreement.kappa
    if kappa.estimate is None:
        return row
    ends = {"kappa_low": kappa.low, "kappa_high": kappa.high, "kappa_interval": kappa.method}
    return {**row, "kappa": kappa.estimate, **ends}
