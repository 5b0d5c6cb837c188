"""Tidy DataFrames of a run: one row per output, one row per verdict, with columns and dtypes that never change.

Text is pandas' ``string``, counts are ``Int64``, measures ``Float64``, flags ``boolean``: all of them know a missing
value, so that an unknown price stays unknown.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from promptpex.core.outcomes import HEAVIEST_FIRST
from promptpex.core.records import (
    NOT_ASKED,
    NOT_CONCERNED,
    AnyRun,
    Case,
    Coded,
    Column,
    Columns,
    Output,
    Score,
    Verdict,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

OUTPUT_COLUMNS: Mapping[str, str] = {
    "case": "string",
    "rule": "string",
    "inverse": "boolean",
    "scenario": "string",
    "model": "string",
    "repeat": "Int64",
    "inputs": "string",
    "output": "string",
    "verdict": "string",
    "unscored": "string",
    "asked": "boolean",
    "broken_rules": "string",
    "contradicted": "boolean",
    "reasons": "string",
    "error": "string",
    "message": "string",
    "finish_reason": "string",
    "tokens_in": "Int64",
    "tokens_out": "Int64",
    "cost_usd": "Float64",
    "latency_ms": "Float64",
    "model_reported": "string",
    "request": "string",
}
"""Columns of ``outputs``: what was asked (``rule`` is the rule the case aims at), the answer, and how it was judged.

``verdict`` is ``pass``, ``fail`` or ``unscored``; ``asked`` is false where a budget, a deadline or a stop kept the
model or a judge from being asked; ``broken_rules`` are ids joined by blanks; ``contradicted`` is true
where it fails only by checks that a judge contradicts; ``reasons`` has a line
``id: reason`` for each; ``inputs`` is JSON.
"""

VERDICT_COLUMNS: Mapping[str, str] = {
    "case": "string",
    "aim": "string",
    "inverse": "boolean",
    "scenario": "string",
    "model": "string",
    "repeat": "Int64",
    "rule": "string",
    "status": "string",
    "reason": "string",
    "unscored": "string",
    "source": "string",
    "counts": "boolean",
    "turn": "Int64",
    "confidence": "Float64",
    "fingerprint": "string",
}
"""Columns of ``verdicts``, the cube: ``rule`` is the rule judged, ``aim`` the rule its case aims at."""


SCORE_COLUMNS: Mapping[str, str] = {
    "case": "string",
    "aim": "string",
    "inverse": "boolean",
    "scenario": "string",
    "model": "string",
    "repeat": "Int64",
    "name": "string",
    "value": "Float64",
    "reason": "string",
    "unscored": "string",
    "source": "string",
    "counts": "boolean",
    "turn": "Int64",
    "fingerprint": "string",
}
"""Columns of ``scores``: ``value`` is from 0 to 1, and missing where ``unscored`` says why there is none; ``aim`` is
the rule that the case aims at."""

RULE_OUTCOME_COLUMNS: Mapping[str, str] = {
    name: VERDICT_COLUMNS[name]
    for name in ("case", "aim", "inverse", "scenario", "model", "repeat", "rule", "status", "unscored")
} | {"error": "string", "asked": "boolean"}
"""Columns of ``rule_outcomes``: what became of one rule on one output, however many verdicts on it count. ``error`` and
``asked`` are as in ``outputs``."""


def outputs(run: AnyRun, cube: pd.DataFrame | None = None) -> pd.DataFrame:
    """A row per output of the run, in the run's order; columns ``OUTPUT_COLUMNS``.

    Args:
        cube: the run's ``verdicts``, where they are at hand already.
    """
    columns = Columns.of(run.outputs, Output)
    data = {**columns.coded, **columns.measures, **_of_cases(run, columns, _OUTPUT_CASE), "output": columns["text"]}
    return judged(framed(data, OUTPUT_COLUMNS), verdicts(run) if cube is None else cube)


def judged(rows: pd.DataFrame, cube: pd.DataFrame) -> pd.DataFrame:
    """A table of outputs with what the verdicts say of each: its columns ``ROW_COLUMNS`` are filled again."""
    import numpy as np
    import pandas as pd

    keyed = row_verdicts(cube)
    at = {key: place for place, key in enumerate(keys_of(keyed))}
    places = np.array([at.get(key, -1) for key in keys_of(rows)], dtype="int64")
    data = {name: _taken(keyed[name], places) for name in ROW_COLUMNS}
    error = rows["error"]
    data["verdict"] = data["verdict"].fillna("unscored")
    missing = data["unscored"].isna() & marked(data["verdict"], "unscored".__eq__)
    data["unscored"][missing] = error.array[missing].fillna("no-judge")
    data["contradicted"] = data["contradicted"].fillna(False)
    data["asked"] = data["asked"].fillna(True) & ~marked(error, NOT_ASKED.__contains__)
    made = pd.DataFrame({name: data[name] if name in data else rows[name].array for name in OUTPUT_COLUMNS})
    return with_plain_names(made)


def keys_of(frame: pd.DataFrame) -> Iterable[tuple[str, str, int]]:
    """The ``KEYS`` of each row."""
    return zip(*(frame[name].tolist() for name in KEYS), strict=True)


def verdicts(run: AnyRun) -> pd.DataFrame:
    """A row per verdict of the run, in the run's order; columns ``VERDICT_COLUMNS``."""
    columns = Columns.of(run.verdicts, Verdict)
    data = {**columns.coded, **columns.measures, **_of_cases(run, columns, _VERDICT_CASE)}
    return framed(data, VERDICT_COLUMNS)


def scores(run: AnyRun) -> pd.DataFrame:
    """A row per score of the run, in the run's order; columns ``SCORE_COLUMNS``."""
    columns = Columns.of(run.scores, Score)
    data = {**columns.coded, **columns.measures, **_of_cases(run, columns, _VERDICT_CASE)}
    return framed(data, SCORE_COLUMNS)


TEXT: Final = "string[python]"
"""Texts of Python also where pyarrow is installed, which refuses lone surrogates."""

KEYS = ("model", "case", "repeat")
"""What tells an output."""
ROW_COLUMNS = ("verdict", "unscored", "asked", "broken_rules", "contradicted", "reasons")


def row_verdicts(cube: pd.DataFrame) -> pd.DataFrame:
    """Per output that has a verdict that counts: ``model, case, repeat`` and ``ROW_COLUMNS``.

    The verdict is what ``core.outcomes.outcome_of`` gives of the same output.
    """
    import numpy as np

    group = grouped(cube, KEYS)
    count = int(group.max(initial=-1)) + 1
    counts, cut = cube["counts"].to_numpy(bool), _not_asked(cube)
    fails = counts & marked(cube["status"], "fail".__eq__)
    opens = counts & marked(cube["status"], "unscored".__eq__)
    first_open, first_cut = (_first_of_each(marks, group, count) for marks in (opens, cut))
    failing, asked = _first_of_each(fails, group, count) >= 0, first_cut < 0
    shown = np.where(asked & failing, "fail", np.where(asked & (first_open < 0), "pass", "unscored")).astype(object)
    stands = _first_of_each(fails & ~_contradicted(cube, group, fails), group, count) >= 0
    broken, reasons = _broken(cube.loc[fails, ["rule", "reason"]], group[fails], count)
    first = _first_of_each(counts, group, count)
    order = np.argsort(first)[np.count_nonzero(first < 0) :]
    data = {
        **{name: cube[name].array.take(first[order]) for name in KEYS},
        "verdict": shown[order],
        "unscored": _taken(cube["unscored"], np.where(asked, np.where(failing, -1, first_open), first_cut)[order]),
        "asked": asked[order],
        "broken_rules": broken[order],
        "contradicted": (failing & ~stands)[order],
        "reasons": reasons[order],
    }
    return framed(data, {name: OUTPUT_COLUMNS[name] for name in (*KEYS, *ROW_COLUMNS)})


def _first_of_each(marks: npt.NDArray[np.bool_], group: npt.NDArray[np.int64], count: int) -> npt.NDArray[np.int64]:
    """For each of ``count`` groups the position of its first row that is marked; -1: none is."""
    import numpy as np

    first = np.full(count, -1)
    (positions,) = np.nonzero(marks)
    first[group[positions[::-1]]] = positions[::-1]
    return first


def _taken(column: pd.Series[Any], positions: npt.NDArray[np.int64]) -> Any:
    """The values at these positions, missing where it is -1."""
    return column.array.take(positions, allow_fill=True)


def _contradicted(
    cube: pd.DataFrame, group: npt.NDArray[np.int64], fails: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Which failures a judge contradicts.

    A judge contradicts a check that fails a rule where it finds the rule kept or not concerned; of several judges their
    joint verdict does.

    Args:
        group: for each verdict the number of its output.
        fails: the failures.
    """
    import numpy as np

    by_check = fails & is_from(cube, "check").to_numpy(bool)
    if not by_check.any():
        return by_check
    by_judge = is_from(cube, "judge").to_numpy(bool) & cube["turn"].eq(0).to_numpy(bool)
    milder = (by_judge | is_from(cube, "judges").to_numpy(bool)) & marked(
        cube["status"], ("pass", NOT_CONCERNED).__contains__
    )
    if not milder.any():
        return milder
    rule, rules = numbered(cube["rule"])
    on_rule = group * len(rules) + rule
    looked_at, judges = np.unique(on_rule[by_judge], return_counts=True)
    milder &= ~(by_judge & np.isin(on_rule, looked_at[judges > 1]))
    contradicted: npt.NDArray[np.bool_] = by_check & np.isin(on_rule, on_rule[milder])
    return contradicted


def _not_asked(cube: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Where a verdict that would have decided its rule, alone or among several judges, was not asked for any more; as
    ``core.outcomes.not_asked``."""
    cut: npt.NDArray[np.bool_] = marked(cube["unscored"], NOT_ASKED.__contains__)
    if not cut.any():
        return cut
    counts = cube["counts"].to_numpy(bool)
    cut &= cube["turn"].eq(0).to_numpy(bool)
    joint = counts & is_from(cube, "judges").to_numpy(bool)
    return cut & (counts | _on_rules_of(cube, joint, cut))


def _on_rules_of(cube: pd.DataFrame, these: npt.NDArray[np.bool_], of: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which verdicts ``of`` some are on the same rule of the same output as one of ``these``."""
    import numpy as np

    if not these.any():
        return these
    near = these | of
    on_rule = grouped({name: cube[name].array[near] for name in (*KEYS, "rule")}, (*KEYS, "rule"))
    beside = np.zeros(len(near), dtype=bool)
    beside[near] = np.isin(on_rule, on_rule[these[near]])
    return beside & of


def is_failing(cube: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Where a verdict says that an output breaks a rule, and the counts of ``rule_outcomes`` have that failure."""
    fails: npt.NDArray[np.bool_] = cube["counts"].to_numpy(bool) & marked(cube["status"], "fail".__eq__)
    return fails & ~_on_rules_of(cube, _not_asked(cube), fails)


def rule_outcomes(cube: pd.DataFrame) -> pd.DataFrame:
    """A row per rule and output that have a verdict that counts, in the cube's order; ``RULE_OUTCOME_COLUMNS``.

    Its status and reason are those of the verdict that ``core.outcomes.decided_rules`` gives. Counts per rule are made
    of these: where a check and a judge both count, the output is one all the same.
    """
    import numpy as np
    import pandas as pd

    counts = cube["counts"].to_numpy(bool)
    (places,) = np.nonzero(counts)
    telling = {name: cube[name].array.take(places) for name in (*KEYS, "rule", "status")}
    group = grouped(telling, ["case", "model", "repeat", "rule"])
    weight = np.zeros(len(places), dtype="int8")
    for rank, status in enumerate(reversed(HEAVIEST_FIRST)):
        weight[marked(telling["status"], status.__eq__)] = rank
    heaviest = np.zeros(int(group.max(initial=-1)) + 1, dtype="int8")
    np.maximum.at(heaviest, group, weight)
    (deciding,) = np.nonzero(weight == heaviest[group])
    _, first = np.unique(group[deciding], return_index=True)
    cut = np.zeros(len(heaviest), dtype=bool)
    cut[group[_on_rules_of(cube, _not_asked(cube), counts)[counts]]] = True
    of_first = places[deciding[first]]
    data = {name: cube[name].array.take(of_first) for name in RULE_OUTCOME_COLUMNS if name in VERDICT_COLUMNS}
    data["asked"] = pd.array(~cut[group[deciding[first]]], dtype="boolean")
    data["error"] = data["unscored"].copy()
    data["error"][~marked(cube["source"].array.take(of_first), "none".__eq__)] = pd.NA
    return pd.DataFrame({name: data[name] for name in RULE_OUTCOME_COLUMNS}, copy=False)


def grouped(frame: pd.DataFrame | Mapping[str, Any], columns: Sequence[str]) -> npt.NDArray[np.int64]:
    """For each row the number of its group: rows that are equal in these columns, counted as they first appear."""
    import numpy as np

    groups: npt.NDArray[np.int64] = np.zeros(len(frame[columns[0]]), dtype="int64")
    for column in columns:
        codes, values = numbered(frame[column])
        codes[codes < 0] = len(values)
        groups, _ = numbered(groups * (len(values) + 1) + codes)
    return groups


def is_from(cube: pd.DataFrame, kind: str) -> pd.Series[bool]:
    """For each verdict whether its source is of a kind: ``check``, ``judge`` or ``judges``."""
    import pandas as pd

    return pd.Series(marked(cube["source"], lambda source: source.startswith(f"{kind}:")), index=cube.index)


def marked(texts: Any, of: Callable[[str], bool]) -> npt.NDArray[np.bool_]:
    """Where a text of a column is such that a function says so, which is asked once for each different text; not where
    it is missing."""
    import numpy as np

    codes, distinct = numbered(texts)
    return np.array([*map(of, distinct), False], dtype=bool)[codes]


SMALL = 300
"""Rows up to which Python numbers values sooner than pandas, which takes a tenth of a millisecond for any column."""


def numbered(values: Any) -> tuple[npt.NDArray[np.int64], list[Any]]:
    """What ``pandas.factorize`` gives: for each value its number among the different ones, -1 where it is missing; and
    these, in the order in which they first appear.

    Args:
        values: a column, or an array.
    """
    import numpy as np
    import pandas as pd

    if len(values) > SMALL:
        codes, known = pd.factorize(values)
        return codes.astype("int64"), list(known)
    numbers: dict[Any, int] = {}
    codes_of_rows = [
        -1 if value is None or value is pd.NA or value != value else numbers.setdefault(value, len(numbers))
        for value in values.tolist()
    ]
    return np.array(codes_of_rows, dtype="int64"), list(numbers)


def typed(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, str]) -> pd.DataFrame:
    """A DataFrame with exactly these columns and dtypes, also when there are no rows."""
    row_list = list(rows)
    return framed({name: [row.get(name) for row in row_list] for name in columns}, columns)


def dtypes(columns: Mapping[str, str]) -> dict[str, Any]:
    """The columns with their dtypes as ``astype`` takes them."""
    return {name: _dtype(kind) for name, kind in columns.items()}


def framed(data: Mapping[str, Column], columns: Mapping[str, str]) -> pd.DataFrame:
    """A DataFrame with exactly these columns and dtypes; those without data are missing throughout."""
    import pandas as pd

    nothing = [None] * len(next(iter(data.values())))
    if not nothing:
        return _empty(tuple(columns.items())).copy(deep=False)
    arrays = {name: _array(data.get(name, nothing), kind) for name, kind in columns.items()}
    return with_plain_names(pd.DataFrame(arrays, copy=False))


def with_plain_names(frame: pd.DataFrame) -> pd.DataFrame:
    """The DataFrame itself, its columns named by texts of Python: by those of pyarrow, each look at one takes longer,
    and the tables of a report are made of thousands."""
    frame.columns = _names(tuple(frame.columns))
    return frame


@cache
def _names(names: tuple[str, ...]) -> pd.Index[str]:
    import numpy as np
    import pandas as pd

    return pd.Index(names, dtype=pd.StringDtype("python", na_value=np.nan))


@cache
def _empty(columns: tuple[tuple[str, str], ...]) -> pd.DataFrame:
    """A DataFrame of no rows, as most tables of a small run are."""
    import pandas as pd

    return with_plain_names(pd.DataFrame({name: _array([], kind) for name, kind in columns}))


def _array(column: Column, kind: str) -> Any:
    """A column as pandas keeps it; of one that is coded, each different value is made once."""
    return made_array(column.values, kind).take(column.codes) if isinstance(column, Coded) else made_array(column, kind)


def made_array(values: Any, kind: str) -> Any:
    """What ``pandas.array`` makes of a column of this dtype.

    It looks for all that values may be, which takes most of the time of a small table; lists of the plain values that
    records have are handed to the arrays' own constructors.
    """
    import pandas as pd

    plain = _PLAIN.get(kind)
    if plain is None or not isinstance(values, list | tuple) or not plain.issuperset(map(type, values)):
        return pd.array(values, _dtype(kind))
    try:
        return _plain_array(values, kind)
    except OverflowError:
        return pd.array(values, _dtype(kind))


_PLAIN: Mapping[str, frozenset[type]] = {
    "Int64": frozenset((int, type(None))),
    "Float64": frozenset((float, int, type(None))),
    "boolean": frozenset((bool, type(None))),
}


def _plain_array(values: Sequence[Any], kind: str) -> Any:
    """An array of values whose types ``_PLAIN`` has.

    Raises:
        OverflowError: a number has no place in the dtype.
    """
    import numpy as np
    import pandas as pd

    missing = np.array([value is None or value != value for value in values], dtype=bool)
    filled = [0 if value is None else value for value in values]
    if kind == "boolean":
        return pd.arrays.BooleanArray(np.array(filled, dtype=bool), missing)
    if kind == "Int64":
        return pd.arrays.IntegerArray(np.array(filled, dtype=np.int64), missing)
    return pd.arrays.FloatingArray(np.array(filled, dtype=np.float64), missing)


@cache
def _dtype(kind: str) -> Any:
    """What pandas would look up again for each column."""
    from pandas.api.types import pandas_dtype

    return pandas_dtype(TEXT if kind == "string" else kind)


def _broken(
    failing: pd.DataFrame, group: npt.NDArray[np.int64], count: int
) -> tuple[npt.NDArray[np.object_], npt.NDArray[np.object_]]:
    """For each of ``count`` outputs the ids of the rules it breaks, and a line ``id: reason`` for each; None: none."""
    import numpy as np

    broken: dict[int, tuple[dict[str, None], list[str]]] = {}
    texts = failing["reason"].fillna("").tolist()
    for number, rule, reason in zip(group.tolist(), failing["rule"].tolist(), texts, strict=True):
        rules, lines = broken.setdefault(number, ({}, []))
        rules[rule] = None
        lines.append(f"{rule}: {reason}")
    ids, reasons = np.full(count, None, dtype=object), np.full(count, None, dtype=object)
    for number, (rules, lines) in broken.items():
        ids[number], reasons[number] = " ".join(rules), "\n".join(lines)
    return ids, reasons


def _of_cases(run: AnyRun, columns: Columns, facts: Mapping[str, Callable[[Case], Any]]) -> dict[str, Column]:
    """The columns of what is told of each record's case; nothing of a case that the suite has lost."""
    of_record = columns.coded["case"].map(run.suite.by_id.get)
    return {name: of_record.map(_unless_lost(fact)) for name, fact in facts.items()}


def _unless_lost(fact: Callable[[Case], Any]) -> Callable[[Case | None], Any]:
    return lambda case: None if case is None else fact(case)


def _inputs(case: Case) -> str:
    return json.dumps(case.inputs, ensure_ascii=False, default=str)


_CASE: Mapping[str, Callable[[Case], Any]] = {
    "inverse": lambda case: case.inverse,
    "scenario": lambda case: case.scenario,
}
_VERDICT_CASE = {**_CASE, "aim": lambda case: case.rule}
_OUTPUT_CASE = {**_CASE, "rule": lambda case: case.rule, "inputs": _inputs}
