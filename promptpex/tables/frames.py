"""Tidy DataFrames of a run: one row per output, one row per verdict, with columns and dtypes that never change.

Text is pandas' ``string``, counts are ``Int64``, measures ``Float64``, flags ``boolean``: all of them know a missing
value, so that an unknown price stays unknown.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from promptpex.records import NOT_ASKED, AnyRun, Columns, Output, Verdict

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
model or a judge from being asked; ``broken_rules`` are ids joined by blanks; ``reasons`` has a line
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
    said = Columns.of(run.outputs, Output)
    asked = set(said["case"])
    cases = [case for case in run.suite.cases if case.id in asked]
    inputs = {case.id: json.dumps(case.inputs, ensure_ascii=False, default=str) for case in cases}
    data = {
        **said.values,
        **_of_case(run, said["case"], aim="rule"),
        "inputs": list(map(inputs.get, said["case"])),
        "output": said["text"],
    }
    return judged(_framed(data, OUTPUT_COLUMNS), verdicts(run) if cube is None else cube)


def judged(rows: pd.DataFrame, cube: pd.DataFrame) -> pd.DataFrame:
    """A table of outputs with what the verdicts say of each: its columns ``ROW_COLUMNS`` are filled anew."""
    keys = ["model", "case", "repeat"]
    frame = rows.drop(columns=list(ROW_COLUMNS)).merge(row_verdicts(cube), on=keys, how="left")
    frame["verdict"] = frame["verdict"].fillna("unscored")
    missing = frame["verdict"].eq("unscored") & frame["unscored"].isna()
    frame.loc[missing, "unscored"] = frame.loc[missing, "error"].fillna("no-judge")
    frame["asked"] = frame["asked"].fillna(True) & ~frame["error"].isin(NOT_ASKED)
    return frame[list(OUTPUT_COLUMNS)]


def verdicts(run: AnyRun) -> pd.DataFrame:
    """A row per verdict of the run, in the run's order; columns ``VERDICT_COLUMNS``."""
    said = Columns.of(run.verdicts, Verdict)
    return _framed({**said.values, **_of_case(run, said["case"], aim="aim")}, VERDICT_COLUMNS)


ROW_COLUMNS = ("verdict", "unscored", "asked", "broken_rules", "reasons")


def row_verdicts(cube: pd.DataFrame) -> pd.DataFrame:
    """Per output that has a verdict that counts: ``model, case, repeat`` and ``ROW_COLUMNS``.

    Fail when a verdict that counts fails, else unscored when one could not judge, else pass.
    """
    keys = ["model", "case", "repeat"]
    counting = cube.loc[cube["counts"], [*keys, "rule", "status", "unscored", "reason"]]
    failing = counting["status"].eq("fail")
    open_ = counting["status"].eq("unscored")
    cut = counting["unscored"].isin(NOT_ASKED)
    marks = counting[keys].assign(fails=failing.astype("int8"), opens=open_.astype("int8"), cuts=cut.astype("int8"))
    rows = marks.groupby(keys, sort=False, as_index=False, observed=True).max()
    rows["asked"] = rows["cuts"].eq(0)
    rows["verdict"] = "pass"
    rows.loc[rows["opens"].eq(1), "verdict"] = "unscored"
    rows.loc[rows["fails"].eq(1), "verdict"] = "fail"
    reasons = counting[open_].drop_duplicates(keys)[[*keys, "unscored"]]
    rows = rows.merge(reasons, on=keys, how="left").merge(_broken(counting[failing], keys), on=keys, how="left")
    rows.loc[rows["verdict"].ne("unscored"), "unscored"] = None
    shape = {name: OUTPUT_COLUMNS[name] for name in (*keys, *ROW_COLUMNS)}
    return rows[list(shape)].astype(shape)


def rule_outcomes(cube: pd.DataFrame) -> pd.DataFrame:
    """A row per rule and output that have a verdict that counts, in the cube's order; ``RULE_OUTCOME_COLUMNS``.

    Fail when a verdict that counts fails, else unscored when one could not judge, with the first one's reason, else
    pass. Counts per rule are made of these: where a check and a judge both count, the output is one all the same.
    """
    import numpy as np
    import pandas as pd

    said = [name for name in RULE_OUTCOME_COLUMNS if name in VERDICT_COLUMNS]
    counting = cube.loc[cube["counts"].to_numpy(bool), [*said, "source"]]
    group = grouped(counting, ["case", "model", "repeat", "rule"])
    failing, open_ = (counting["status"].eq(status).to_numpy("int8") for status in ("fail", "unscored"))
    weight = 2 * failing + open_
    heaviest = np.zeros(int(group.max(initial=-1)) + 1, dtype="int8")
    np.maximum.at(heaviest, group, weight)
    (deciding,) = np.nonzero(weight == heaviest[group])
    _, first = np.unique(group[deciding], return_index=True)
    cut = np.zeros(len(heaviest), dtype=bool)
    np.logical_or.at(cut, group, counting["unscored"].isin(NOT_ASKED).to_numpy(bool))
    found = counting.iloc[deciding[first]].reset_index(drop=True)
    found["asked"] = pd.array(~cut[group[deciding[first]]], dtype="boolean")
    found["error"] = found["unscored"].where(found["source"].eq("none"))
    return found[list(RULE_OUTCOME_COLUMNS)]


def grouped(frame: pd.DataFrame, columns: Sequence[str]) -> npt.NDArray[np.int64]:
    """For each row the number of its group: rows that are equal in these columns, counted as they first appear."""
    import numpy as np
    import pandas as pd

    found: npt.NDArray[np.int64] = np.zeros(len(frame), dtype="int64")
    for column in columns:
        codes, values = pd.factorize(frame[column], use_na_sentinel=False)
        found, _ = pd.factorize(found * max(1, len(values)) + codes)
    return found.astype("int64")


def said_by(cube: pd.DataFrame, kind: str) -> pd.Series[bool]:
    """For each verdict whether its source is of a kind: ``check``, ``judge`` or ``judges``."""
    sources = [source for source in cube["source"].dropna().unique() if source.startswith(f"{kind}:")]
    return cube["source"].isin(sources)


def typed(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, str]) -> pd.DataFrame:
    """A DataFrame with exactly these columns and dtypes, also when there are no rows."""
    listed = list(rows)
    return _framed({name: [row.get(name) for row in listed] for name in columns}, columns)


def _framed(data: Mapping[str, Sequence[Any]], columns: Mapping[str, str]) -> pd.DataFrame:
    """A DataFrame with exactly these columns and dtypes; those without data are missing throughout."""
    import pandas as pd

    count = len(next(iter(data.values())))
    nothing = [None] * count
    made = {name: pd.array(data.get(name, nothing), dtype=kind) for name, kind in columns.items()}  # type: ignore[call-overload]
    return pd.DataFrame(made, columns=list(columns))


def _broken(failing: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Per output that fails, the ids of the rules it breaks, and a line ``id: reason`` for each."""
    found: dict[tuple[Any, ...], tuple[dict[str, None], list[str]]] = {}
    told = failing["reason"].fillna("").tolist()
    columns = (failing[name].tolist() for name in (*keys, "rule"))
    for *key, rule, reason in zip(*columns, told, strict=True):
        rules, lines = found.setdefault(tuple(key), ({}, []))
        rules[rule] = None
        lines.append(f"{rule}: {reason}")
    rows = (
        {**dict(zip(keys, key, strict=True)), "broken_rules": " ".join(rules), "reasons": "\n".join(lines)}
        for key, (rules, lines) in found.items()
    )
    return typed(rows, {name: OUTPUT_COLUMNS[name] for name in (*keys, "broken_rules", "reasons")})


def _of_case(run: AnyRun, cases: Sequence[str], *, aim: str) -> dict[str, list[Any]]:
    """For each id what is known of that case, its rule under the name ``aim``; nothing of a case that is gone."""
    suite = run.suite.cases
    known: Mapping[str, Mapping[str, Any]] = {
        aim: {case.id: case.rule for case in suite},
        "inverse": {case.id: case.inverse for case in suite},
        "scenario": {case.id: case.scenario for case in suite},
    }
    return {name: list(map(of_case.get, cases)) for name, of_case in known.items()}
