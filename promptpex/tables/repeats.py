"""What repeats and identical outputs say of the verdicts: how often they flip."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from promptpex.stats import flaky as find_flickers
from promptpex.stats import flip_rate, pass_at_k, pass_hat_k, variance_split
from promptpex.tables.counts_per_case import counted
from promptpex.tables.frames import grouped, is_from, marked, typed

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

STABILITY_COLUMNS: Mapping[str, str] = {
    "model": "string",
    "repeats": "Int64",
    "cases": "Int64",
    "flaky": "Int64",
    "flip_rate": "Float64",
    "flip_low": "Float64",
    "flip_high": "Float64",
    "pass_at_k": "Float64",
    "pass_at_low": "Float64",
    "pass_at_high": "Float64",
    "pass_hat_k": "Float64",
    "pass_hat_low": "Float64",
    "pass_hat_high": "Float64",
    "between": "Float64",
    "within": "Float64",
    "repeat_worth": "Float64",
}
"""Columns of ``repeats``: of the ``cases`` with two scored repeats or more, ``flaky`` both pass and fail;
``flip_rate`` is the chance that two repeats of a case disagree, ``pass_at_k`` that at least one of ``repeats`` passes,
``pass_hat_k`` that all do. ``between`` and ``within`` are the variance of an outcome between cases and within one, and
``repeat_worth`` how many more cases, asked once, a second repeat of these is worth. No place and no gate rests on
these. Where usable answers have no verdict there is no rate: only failures may be left."""

FLAKY_COLUMNS: Mapping[str, str] = {
    "model": "string",
    "case": "string",
    "passed": "Int64",
    "failed": "Int64",
    "flip": "Float64",
}
"""Columns of ``flaky``: a case that a model both keeps and breaks, the least decided first."""

INCONSISTENT_COLUMNS: Mapping[str, str] = {
    "source": "string",
    "rule": "string",
    "output": "string",
    "passed": "Int64",
    "failed": "Int64",
    "cases": "string",
}
"""Columns of ``inconsistent_verdicts``: identical outputs that one judge passed and failed by one rule; ``cases`` are
ids joined by blanks."""

PassCounts = Mapping[str, Mapping[str, tuple[int, int]]]


def pass_counts(rows: pd.DataFrame) -> PassCounts:
    """Per model and case of a table of outputs, how many repeats passed and failed; the unscored are in neither."""
    import numpy as np

    group = grouped(rows, ("model", "case"))
    _, first = np.unique(group, return_index=True)
    passed, failed = _passed_and_failed(rows["verdict"], group)
    counts: dict[str, dict[str, tuple[int, int]]] = {}
    columns = (rows["model"].array[first], rows["case"].array[first], passed.tolist(), failed.tolist())
    for model, case, good, bad in zip(*columns, strict=True):
        counts.setdefault(model, {})[case] = (good, bad)
    return counts


def _passed_and_failed(
    statuses: pd.Series[Any], group: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """For each group, by its number, how many of its rows passed, and how many failed."""
    import numpy as np

    count = int(group.max(initial=-1)) + 1
    passed, failed = (np.bincount(group[marked(statuses, one.__eq__)], minlength=count) for one in ("pass", "fail"))
    return passed, failed


def repeats(rows: pd.DataFrame, *, confidence: float = 0.95) -> pd.DataFrame:
    """A row per model whose cases were asked more than once, from a table of outputs; columns ``STABILITY_COLUMNS``."""
    repeats_by_model = rows.groupby("model", sort=False, observed=True)["repeat"].max().add(1)
    repeated_models = [(str(model), int(times)) for model, times in repeats_by_model.items() if times > 1]
    if not repeated_models:
        return typed((), STABILITY_COLUMNS)
    counts = pass_counts(rows)
    incomplete_models = set(counted(rows).incomplete)
    return typed(
        (
            {name: value for name, value in row.items() if name in _COUNTED or row["model"] not in incomplete_models}
            for row in (_flip_row(model, times, counts[model], confidence) for model, times in repeated_models)
        ),
        STABILITY_COLUMNS,
    )


def flaky(rows: pd.DataFrame) -> pd.DataFrame:
    """A row per model and case whose scored repeats disagree; columns ``FLAKY_COLUMNS``."""
    cells = [
        {"model": model, "case": one.unit, "passed": one.passed, "failed": one.failed, "flip": one.flip}
        for model, cases in pass_counts(rows).items()
        for one in find_flickers(cases)
    ]
    return typed(sorted(cells, key=lambda row: -float(str(row["flip"]))), FLAKY_COLUMNS)


def inconsistent_verdicts(
    rows: pd.DataFrame, cube: pd.DataFrame, *, hang_on_input: Collection[str] = ()
) -> pd.DataFrame:
    """Identical outputs with different verdicts of the same judge by the same rule; columns ``INCONSISTENT_COLUMNS``.

    Checks are left out: what they ask may rightly hang on the inputs. So may the verdict of a judge that
    is shown the input; of rules that ``hang_on_input`` outputs are compared within a case.
    """
    judged = _judged(cube)
    by_rule = grouped(judged, ("source", "rule"))
    passed, failed = _passed_and_failed(judged["status"], by_rule)
    both = (passed > 0) & (failed > 0)
    if not both.any():
        return typed([], INCONSISTENT_COLUMNS)
    verdicts = _with_texts(rows, judged[both[by_rule]])
    within = verdicts["case"].where(verdicts["rule"].isin(list(hang_on_input)))
    group = grouped(verdicts.assign(within=within), ("source", "rule", "output", "within"))
    passed, failed = _passed_and_failed(verdicts["status"], group)
    counts = VerdictsOnEqualTexts(hang_on_input)
    counts.count(verdicts[((passed > 0) & (failed > 0))[group]])
    return counts.table()


def _judged(cube: pd.DataFrame) -> pd.DataFrame:
    by_judge = is_from(cube, "judge").to_numpy(bool) & marked(cube["status"], ("pass", "fail").__contains__)
    return cube[by_judge & cube["turn"].eq(0).to_numpy(bool)]


def _with_texts(rows: pd.DataFrame, judged: pd.DataFrame) -> pd.DataFrame:
    return judged[[*_PLACE, "source", "rule", "status"]].merge(rows[[*_PLACE, "output"]].dropna(), on=_PLACE)


class VerdictsOnEqualTexts:
    """What ``inconsistent_verdicts`` lists, from outputs and verdicts that come part by part; an output is in one part.

    It grows with the different texts that are added, and their judges and rules.
    """

    def __init__(self, hang_on_input: Collection[str] = ()) -> None:
        self._hang_on_input = hang_on_input
        self._groups: dict[tuple[str, str, str, str | None], dict[str, Any]] = {}

    def add(self, rows: pd.DataFrame, cube: pd.DataFrame) -> None:
        """Adds some outputs and the verdicts on them."""
        self.count(_with_texts(rows, _judged(cube)))

    def count(self, verdicts: pd.DataFrame) -> None:
        """Adds verdicts that have the texts of their outputs."""
        for case, source, rule, output, status in zip(*(verdicts[name].tolist() for name in _TWIN), strict=True):
            within = case if rule in self._hang_on_input else None
            group = self._groups.setdefault((source, rule, output, within), {"pass": 0, "fail": 0, "in": {}})
            group[status] += 1
            group["in"][case] = None

    def table(self) -> pd.DataFrame:
        """The table; columns ``INCONSISTENT_COLUMNS``."""
        with_texts = (
            {
                **dict(zip(("source", "rule", "output"), key, strict=False)),
                "passed": group["pass"],
                "failed": group["fail"],
                "cases": " ".join(group["in"]),
            }
            for key, group in self._groups.items()
            if group["pass"] and group["fail"]
        )
        return typed(sorted(with_texts, key=lambda row: -min(row["passed"], row["failed"])), INCONSISTENT_COLUMNS)


class EqualTexts:
    """Which texts more than one output has, or may have, from outputs that come part by part: eight bytes for each.

    The hash of a text stands for it; two texts of one hash only cost time.
    """

    def __init__(self) -> None:
        self._hashes: list[npt.NDArray[np.int64]] = []

    def add(self, rows: pd.DataFrame, cube: pd.DataFrame) -> None:
        """Adds some outputs and the verdicts on them; a text on which one judge contradicts itself counts twice."""
        judged = _judged(cube)
        if judged.empty:
            return
        of_rule = [*_PLACE, "source", "rule"]
        again = judged.drop_duplicates([*of_rule, "status"])
        twice = _with_texts(rows, again[again.duplicated(of_rule)])
        self._hashes += [_hashes(rows["output"].dropna()), _hashes(twice["output"])]

    def chosen(self) -> npt.NDArray[np.int64]:
        """The hashes of the texts that are there more than once."""
        import numpy as np

        hashes, counts = np.unique(np.concatenate([*self._hashes, np.empty(0, np.int64)]), return_counts=True)
        self._hashes = [hashes[counts > 1].repeat(2)]
        return self._hashes[0][::2]


def with_texts_of(rows: pd.DataFrame, hashes: npt.NDArray[np.int64]) -> pd.DataFrame:
    """The outputs whose texts have one of these hashes."""
    import numpy as np

    texts = rows.loc[rows["output"].notna().to_numpy(bool)]
    return texts.loc[np.isin(_hashes(texts["output"]), hashes)]


def _hashes(texts: pd.Series[Any]) -> npt.NDArray[np.int64]:
    import numpy as np

    return np.fromiter(map(hash, texts), np.int64, len(texts))


_PLACE = ["model", "case", "repeat"]
_TWIN = ("case", "source", "rule", "output", "status")

_COUNTED = ("model", "repeats", "cases", "flaky")
"""What is said of repeats where verdicts are missing: what was seen, and no rate."""


def _flip_row(model: str, times: int, cases: Mapping[str, tuple[int, int]], confidence: float) -> dict[str, Any]:
    flips = flip_rate(cases, confidence)
    row: dict[str, Any] = {"model": model, "repeats": times, "cases": flips.units, "flaky": flips.flaky}
    if flips.units:
        rate = flips.flip_rate
        row |= {"flip_rate": rate.estimate, "flip_low": rate.low, "flip_high": rate.high}
    for name, chance in (
        ("pass_at", pass_at_k(cases, times, confidence)),
        ("pass_hat", pass_hat_k(cases, times, confidence)),
    ):
        if chance.n:
            row |= {f"{name}_k": chance.estimate, f"{name}_low": chance.low, f"{name}_high": chance.high}
    split = variance_split(cases)
    if split is not None:
        row |= {"between": split.between, "within": split.within, "repeat_worth": split.repeat_worth}
    return row
