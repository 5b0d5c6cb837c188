"""How long it takes to summarise many verdicts, and how much memory: ``python scripts/bench_tables.py [VERDICTS]``.

Makes a cube of verdicts with its outputs as DataFrames (5 models, 10 rules, 10 repeats; one output in fifty is an
error; a judge beside code on every tenth verdict), then times each table that a report is made of, by the clock and in
CPU time. The aim is 10 s and 2 GB for 1,000,000 verdicts on two cores.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from promptpex import tables
from promptpex.report.answer import answer
from promptpex.report.summary import records

MODELS, RULES, REPEATS = 5, 10, 10


def made(verdicts: int, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Outputs that are not judged yet, and the cube of their verdicts."""
    rng = np.random.default_rng(seed)
    per_model = max(1, verdicts * 10 // 11 // (MODELS * RULES * REPEATS))
    count = MODELS * REPEATS * per_model
    model = np.repeat(np.arange(MODELS), REPEATS * per_model)
    repeat = np.tile(np.repeat(np.arange(REPEATS), per_model), MODELS)
    case = np.tile(np.arange(per_model), MODELS * REPEATS)
    error = rng.random(count) < 0.02
    keys = {
        "case": named("case-", case),
        "model": named("provider/model-", model),
        "repeat": pd.array(repeat, dtype="Int64"),
    }
    blank = {name: pd.array([None] * count, dtype=kind) for name, kind in tables.OUTPUT_COLUMNS.items()}  # type: ignore[call-overload]
    rows = pd.DataFrame(
        {
            **blank,
            **keys,
            "rule": named("r", case % RULES),
            "inverse": pd.array(case % 3 == 0, dtype="boolean"),
            "output": named("an answer of some words, number ", rng.integers(0, per_model, count)),
            "tokens_in": pd.array(rng.integers(50, 500, count), dtype="Int64"),
            "tokens_out": pd.array(rng.integers(5, 200, count), dtype="Int64"),
            "cost_usd": pd.array(rng.random(count) / 1000, dtype="Float64"),
            "latency_ms": pd.array(rng.random(count) * 1000, dtype="Float64"),
        },
        columns=list(tables.OUTPUT_COLUMNS),
    )
    rows["error"] = only_where(error, "timed-out")
    return rows, cube_of(rows, error, rng)


def cube_of(rows: pd.DataFrame, error: np.ndarray[Any, Any], rng: np.random.Generator) -> pd.DataFrame:
    """Ten verdicts of code for each output, and a judge's on every tenth."""
    at, rule = np.repeat(np.arange(len(rows)), RULES), np.tile(np.arange(RULES), len(rows))
    status = np.where(rng.random(len(at)) < 0.02 * (rule + 1), "fail", "pass").astype(object)
    status[error[at]] = "unscored"
    judged = np.arange(0, len(at), 10) + rng.integers(0, 10, len(at) // 10)
    other = np.where(rng.random(len(judged)) < 0.9, status[judged], "fail")
    at, rule = np.concatenate([at, at[judged]]), np.concatenate([rule, rule[judged]])
    status = np.concatenate([status, other])
    counts = np.arange(len(at)) < len(at) - len(judged)
    asked = rows.iloc[at].reset_index(drop=True)
    columns: dict[str, Any] = {
        "case": asked["case"],
        "aim": asked["rule"],
        "inverse": asked["inverse"],
        "model": asked["model"],
        "repeat": asked["repeat"],
        "rule": named("r", rule),
        "status": pd.array(status, dtype="string"),
        "reason": named("what is wrong with it, in a few words, number ", rule),
        "unscored": only_where(status == "unscored", "timed-out"),
        "source": pd.array(np.where(counts, "check:regex", "judge:provider/judge"), dtype="string"),
        "counts": pd.array(counts, dtype="boolean"),
        "turn": pd.array(np.zeros(len(at), dtype="int64"), dtype="Int64"),
    }
    cube = pd.DataFrame(columns).reindex(columns=list(tables.VERDICT_COLUMNS))
    return cube.astype(dict(tables.VERDICT_COLUMNS))


def named(stem: str, numbers: np.ndarray[Any, Any]) -> Any:
    """``stem`` and each number, as pandas' own texts."""
    unique, codes = np.unique(numbers, return_inverse=True)
    return pd.array(np.array([f"{stem}{number}" for number in unique], dtype=object)[codes], dtype="string")


def only_where(marked: np.ndarray[Any, Any], text: str) -> Any:
    """``text`` where marked, nothing elsewhere."""
    values = np.full(len(marked), None, dtype=object)
    values[marked] = text
    return pd.array(values, dtype="string")


def main(verdicts: int) -> int:
    """Prints a line per table, and the whole; 1 if it took longer or more memory than it may."""
    rows, cube = made(verdicts)
    before = peak_mb()
    print(f"{len(cube):,} verdicts on {len(rows):,} outputs; {before:.0f} MB with the data made")
    names = list(dict.fromkeys(rows["model"]))
    spent, start_cpu = 0.0, time.process_time()

    def timed(what: str, work: Callable[[], Any]) -> Any:
        nonlocal spent
        start = time.perf_counter()
        result = work()
        took = time.perf_counter() - start
        spent += took
        print(f"{what:>15} {took:6.2f} s")
        return result

    rows = timed("outputs judged", lambda: tables.judged(rows, cube))
    standing = timed("standings", lambda: tables.standings(rows, names))
    by_model = timed("models", lambda: tables.models(rows, order=names, standing=standing))
    timed("rules", lambda: tables.rules(cube))
    timed("kinds", lambda: tables.kinds(rows))
    timed("scenarios", lambda: tables.scenarios(rows))
    timed("repeats", lambda: tables.repeats(rows))
    timed("flickers", lambda: tables.flickers(rows))
    timed("twins", lambda: tables.twins(rows, cube))
    timed("agreements", lambda: tables.agreements(cube))
    timed("disagreements", lambda: tables.disagreements(cube, rows))
    timed("discrimination", lambda: tables.discrimination(rows, cube, [f"r{n}" for n in range(RULES)]))
    timed("answer", lambda: answer(records(by_model), standing))
    print(f"{'all':>15} {spent:6.2f} s, {time.process_time() - start_cpu:.2f} s of CPU, peak {peak_mb():.0f} MB")
    return 0 if spent < 10 and peak_mb() < 2048 else 1


def peak_mb() -> float:
    """The most memory that this process has had, in MB."""
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kilobytes / (1024 * 1024 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000))
