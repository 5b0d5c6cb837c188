"""The scores of the owner's metrics, added up per model and case from parts of a run: what their tables rest on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from promptpex.core.records import EXPECTED, METRIC_NAME, NOT_ASKED
from promptpex.tables.counts_per_case import Weights, weighed
from promptpex.tables.frames import is_from, marked
from promptpex.tables.mergeable_counts import Cases, Renumbering, Tally

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

DIGITS = 12
"""To which means of cases are rounded, so that those that are equal are so."""

COUNTING = ""
"""Stands for the scores that count, where a source would for those of one judge of several."""

_OUTPUT = ["case", "model", "repeat"]
_SCORED, _ASKED = range(2)
_HALF = 26
"""Bits of either half of a score as a whole number: sums of those do not hang on their order."""


@dataclass(slots=True)
class _OfModel:
    """A model's scores: for each case how many outputs were scored and asked for, and the halves of their sum; and how
    often each reason for none is there, by the rule and the side of the case."""

    counts: Tally = field(default_factory=lambda: Tally(2))
    sums: Tally = field(default_factory=lambda: Tally(2))
    reasons: Counter[tuple[str | None, bool, str]] = field(default_factory=Counter)


@dataclass(slots=True)
class _Scores:
    """A metric's scores of one kind, those that count or those of one judge: their cases as they meet them."""

    cases: Renumbering = field(default_factory=Renumbering)
    models: dict[str, _OfModel] = field(default_factory=dict)

    def add(self, rows: pd.DataFrame, cases: Cases) -> None:
        import numpy as np
        import pandas as pd

        for model in rows["model"].unique():
            self.models.setdefault(str(model), _OfModel())
        asked_rows = rows[~marked(rows["unscored"], NOT_ASKED.__contains__)]
        once = asked_rows.drop_duplicates(_OUTPUT)
        codes, names = pd.factorize(once["case"])
        places, of_rows = self.cases.of(cases.of(list(names))), once["model"].to_numpy(object)
        has_value = once["value"].notna().to_numpy(bool)
        values = np.rint(once["value"].fillna(0.0).to_numpy(float) * 2.0 ** (2 * _HALF)).astype(np.int64)
        for model in once["model"].unique():
            own = of_rows == model
            columns = (has_value[own], np.ones(own.sum()), values[own] >> _HALF, values[own] & (2**_HALF - 1))
            sums = np.stack([np.bincount(codes[own], each, len(names)) for each in columns], axis=1).astype(np.int64)
            (row_numbers,) = np.nonzero(sums[:, _ASKED])
            self.models[str(model)].counts.add(places[row_numbers], sums[row_numbers, :2])
            self.models[str(model)].sums.add(places[row_numbers], sums[row_numbers, 2:])
        without = asked_rows[asked_rows["unscored"].notna().to_numpy(bool)]
        aims = cases.aims(without["case"].tolist())
        for model, reason, aim in zip(without["model"].tolist(), without["unscored"].tolist(), aims, strict=True):
            self.models[model].reasons[*aim, reason] += 1


@dataclass(slots=True)
class _Metric:
    """One metric: what counts, what each judge of several gave, and what no judge was asked about."""

    source: str = "none"
    fingerprints: set[str] = field(default_factory=set)
    counting: _Scores = field(default_factory=_Scores)
    judges: dict[str, _Scores] = field(default_factory=dict)
    unusable: _Scores = field(default_factory=_Scores)

    def add(self, own: pd.DataFrame, cases: Cases) -> None:
        counting = counting_scores(own)
        by_somebody = counting[~counting["source"].isin(["none"]).to_numpy(bool)]
        if self.source == "none" and len(by_somebody):
            self.source = str(by_somebody["source"].iloc[0])
        self.fingerprints |= set(by_somebody["fingerprint"])
        self.counting.add(counting, cases)
        judged = of_judges(own)
        unusable = own["counts"].fillna(False).to_numpy(bool) & own["source"].isin(["none"]).to_numpy(bool)
        for source in own.loc[judged, "source"].unique():
            if source not in self.judges:
                self.judges[source] = deepcopy(self.unusable)
        for source, scores in self.judges.items():
            scores.add(own[(judged & own["source"].isin([source]).to_numpy(bool)) | unusable], cases)
        self.unusable.add(own[unusable], cases)

    def kinds(self) -> Iterator[tuple[str, _Scores]]:
        yield COUNTING, self.counting
        yield from self.judges.items()


class MetricCounts:
    """The scores of each metric, added up part by part; an output is in one part.

    It grows with metrics, judges, models and cases, and not with repeats: twenty bytes for each.

    Args:
        cases: numbers the cases, for others too.
    """

    def __init__(self, cases: Cases | None = None) -> None:
        self._cases = Cases() if cases is None else cases
        self._metrics: dict[str, _Metric] = {}

    @classmethod
    def of(cls, scores: pd.DataFrame | MetricCounts) -> MetricCounts:
        """The counts of a table of scores; counts are returned as they are."""
        if isinstance(scores, MetricCounts):
            return scores
        counts = cls()
        counts.add(scores)
        return counts

    def add(self, scores: pd.DataFrame) -> None:
        """Adds the scores of some outputs."""
        names = metric_names(scores)
        if not names:
            return
        self._cases.add(scores)
        for name in names:
            own = scores[scores["name"].isin([name]).to_numpy(bool)]
            self._metrics.setdefault(name, _Metric()).add(own, self._cases)

    @property
    def names(self) -> tuple[str, ...]:
        """The metrics, as they first appear."""
        return tuple(self._metrics)

    def fingerprints(self, name: str) -> frozenset[str]:
        """By what a metric's scores that count were made."""
        return frozenset(self._metrics[name].fingerprints) if name in self._metrics else frozenset()

    def kinds(self, name: str) -> list[tuple[str, str, list[str]]]:
        """A metric's scores by who gave them: ``COUNTING`` or a judge, the source, and the models that have any."""
        metric = self._metrics[name]
        return [(kind, kind or metric.source, list(scores.models)) for kind, scores in metric.kinds()]

    def means(self, name: str, kind: str = COUNTING) -> pd.DataFrame:
        """Per model and case of a metric, what the mean over its outputs is: columns ``low`` and ``high`` if all that
        are missing were 0, or 1, ``mean`` of the scored ones, how many are ``scored`` and ``asked``, and what the case
        is for, ``aim`` and ``inverse``."""
        import numpy as np
        import pandas as pd

        scores = dict(self._metrics[name].kinds()).get(kind, _Scores()) if name in self._metrics else _Scores()
        parts = [_means(model, own, len(scores.cases)) for model, own in scores.models.items()]
        table = pd.concat(parts or [_means("", _OfModel(), 0)], ignore_index=True)
        cases = np.array(list(self._cases), dtype=object)[scores.cases.numbers()][table.pop("place")]
        aims, sides = zip(*self._cases.aims(cases.tolist()), strict=True) if len(cases) else ((), ())
        return table.assign(case=cases, aim=pd.array(aims, dtype=object), inverse=np.array(sides, dtype=bool))

    def reasons(self, name: str, kind: str, model: str, weights: Weights) -> Counter[str]:
        """Why outputs of a model have no score, with how many, of cases that have a weight."""
        counts: Counter[str] = Counter()
        for (aim, inverse, reason), count in dict(self._metrics[name].kinds())[kind].models[model].reasons.items():
            if any(weighed([aim], [inverse], weights)):
                counts[reason] += count
        return counts


def _means(model: str, own: _OfModel, cases: int) -> pd.DataFrame:
    """The cases of a model, by their places."""
    import numpy as np
    import pandas as pd

    counts, halves = own.counts.rows(cases), own.sums.rows(cases)
    (place,) = np.nonzero(counts[:, _ASKED])
    scored, asked = counts[place, _SCORED], counts[place, _ASKED]
    total = halves[place, 0] * 2.0**-_HALF + halves[place, 1] * 2.0 ** (-2 * _HALF)
    low = np.clip(total / asked, 0.0, 1.0).round(DIGITS)
    mean = np.divide(total, scored, out=np.full(len(place), np.nan), where=scored > 0)
    return pd.DataFrame(
        {
            "model": pd.array([model] * len(place), dtype=object),
            "place": place,
            "scored": scored,
            "asked": asked,
            "low": low,
            "high": np.clip(low + (asked - scored) / asked, 0.0, 1.0).round(DIGITS),
            "mean": np.clip(mean, 0.0, 1.0).round(DIGITS),
        }
    )


def weights_of(cases: pd.DataFrame, weights: Weights) -> list[int]:
    """How many times each row of ``MetricCounts.means`` counts."""
    return weighed(cases["aim"].tolist(), cases["inverse"].tolist(), weights)


def metric_names(scores: pd.DataFrame) -> tuple[str, ...]:
    """The metrics that a table of scores is about, as they first appear; what cannot be a metric's name is left out."""
    names = map(str, scores["name"].dropna().unique())
    return tuple(name for name in names if name != EXPECTED and re.fullmatch(METRIC_NAME, name))


def counting_scores(scores: pd.DataFrame) -> pd.DataFrame:
    """The scores that count."""
    return scores[(scores["counts"] & scores["turn"].eq(0)).fillna(False).to_numpy(bool)]


def of_judges(scores: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Where a score is that of one judge of several."""
    beside = ~scores["counts"].fillna(True).to_numpy(bool) & scores["turn"].eq(0).fillna(False).to_numpy(bool)
    judged: npt.NDArray[np.bool_] = beside & is_from(scores, "judge").to_numpy(bool)
    return judged
