"""How fast ``promptpex select`` is: per pipeline against the paper's program as it is written, and on large problems.

Run as ``python scripts/bench_select.py [FILE]``; it prints Markdown tables. FILE holds pipelines as ``promptpex
select`` reads them; without one, made ones of the same sizes are measured. Both sides are given the same problem in
memory, build their program and have it solved by the same HiGHS with one thread; the paper's breaks no ties. With
``--large`` it measures how the search grows instead.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from promptpex.synthesis.selection.bitsets import as_bits  # noqa: E402
from promptpex.synthesis.selection.methods import select  # noqa: E402
from promptpex.synthesis.selection.problem import SelectionProblem  # noqa: E402
from promptpex.synthesis.selection.problem_file import problem_from  # noqa: E402
from promptpex.synthesis.selection.solver import Program  # noqa: E402
from promptpex.synthesis.selection.thresholds import SelectionLimits  # noqa: E402

ExactMethod = Literal["cov", "sub"]
METHODS: tuple[ExactMethod, ...] = ("cov", "sub")
ROUNDS = 9
SIZES = ((76, 44), (98, 24), (50, 70), (46, 50), (50, 26), (70, 15))
"""Outputs and candidates of made problems: those of six pipelines of the paper."""
LARGE = ((50, 500), (100, 1_000), (200, 2_000), (500, 5_000), (1_000, 10_000))
"""Candidates and outputs."""
LIMITS = (10.0, 60.0)
KINDS = 40
"""Ways to be wrong, of which a bad output has up to three and a candidate looks for up to four."""


def literal(problem: SelectionProblem, method: ExactMethod) -> tuple[int, Callable[[], float]]:
    """The paper's program (section 4.3) with all its variables, each binary: how many, and what solves it.

    x: a candidate is chosen; w = (1 - M) x: it is chosen and fails an example; u: an example is flagged; for sub also
    r = K x: it is chosen and implies another; s: a candidate is neither chosen nor implied.
    """
    n, m = problem.examples, problem.candidates
    w, u = m, m + n * m
    r, s = u + n, u + n + m * m
    size = s + m if method == "sub" else r
    program = Program(size, size)
    for i in range(n):
        for j in range(m):
            fails = problem.fails[j] >> i & 1
            program.add([w + i * m + j, j], [1, -fails], least=0, most=0)
            if problem.good >> i & 1:
                program.add([u + i, w + i * m + j], [1, -1], least=0)
        program.add([u + i, *range(w + i * m, w + i * m + m)], [1] + [-1] * m, most=0)
    bad = [u + i for i in range(n) if not problem.good >> i & 1]
    good = [u + i for i in range(n) if problem.good >> i & 1]
    limits = SelectionLimits()
    program.add(bad, [1] * len(bad), least=limits.least_caught(problem))
    program.add(good, [1] * len(good), most=limits.most_flagged(problem))
    objective = [1] * m + [0] * (size - m)
    if method == "sub":
        pairs = set(problem.implications)
        for a in range(m):
            for b in range(m):
                program.add([r + a * m + b, a], [1, -int((a, b) in pairs)], least=0, most=0)
        for b in range(m):
            program.add([s + b, b, *range(r + b, r + m * m, m)], [1] * (m + 2), least=1)
            objective[s + b] = 1

    def solved() -> float:
        outcome = program.minimised(objective, [], 600.0)
        return sum(objective[column] for column in outcome.chosen or ())

    return size, solved


def made(candidates: int, outputs: int, seed: int = 0) -> SelectionProblem:
    """A problem with bad outputs of several kinds, candidates that look for some of them, and their false alarms."""
    dice = random.Random(seed)
    good = [dice.random() < 0.6 for _ in range(outputs)]
    wrong = [0 if is_good else _kinds(dice, (1, 1, 2, 3)) for is_good in good]
    fails = tuple(_column(dice, wrong) for _ in range(candidates))
    others = range(candidates)
    pairs = [(a, b) for a in others for b in dice.sample(others, 2) if dice.random() < 0.5]
    return SelectionProblem(outputs, as_bits("".join("01"[is_good] for is_good in good)), fails, tuple(pairs))


def _kinds(dice: random.Random, how_many: tuple[int, ...]) -> int:
    return sum(1 << kind for kind in set(dice.choices(range(KINDS), k=dice.choice(how_many))))


def _column(dice: random.Random, wrong: list[int]) -> int:
    looks, hits, alarms = _kinds(dice, (1, 1, 2, 4)), dice.uniform(0.3, 0.95), dice.betavariate(1, 14)
    signs = ((kinds & looks and dice.random() < hits) or dice.random() < alarms for kinds in wrong)
    return as_bits("".join("01"[bool(sign)] for sign in signs))


def timed(run: Callable[[], object]) -> float:
    """The median of several runs, in milliseconds."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        run()
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


def pipelines(path: Path | None) -> dict[str, SelectionProblem]:
    """The problems of a file, or made ones."""
    if path is None:
        return {f"made, {m} x {n}": made(m, n, seed) for seed, (n, m) in enumerate(SIZES)}
    entries = json.loads(path.read_text(encoding="utf-8"))["pipelines"]
    return {name: problem_from(entry) for name, entry in entries.items()}


def against_the_paper(problems: dict[str, SelectionProblem]) -> None:
    """A row per pipeline and method."""
    print("| pipeline | method | variables | paper's program | of it solving | promptpex | times faster |")
    print("|---|---|---|---|---|---|---|")
    ratios = []
    for name, problem in problems.items():
        for method in METHODS:
            ratios.append(_compared(name, problem, method))
    print(f"\nMedian: {statistics.median(ratios):.0f} times faster; least: {min(ratios):.0f}.")


def _compared(name: str, problem: SelectionProblem, method: ExactMethod) -> float:
    """Prints a row, and gives how many times faster than the paper's program the selection is."""
    size, solved = literal(problem, method)
    selection = select(problem, method)
    if selection.objective is not None and solved() != selection.objective:
        raise SystemExit(f"{name}, {method}: {solved()} and {selection.objective} are not the same optimum")

    def built_and_solved() -> None:
        literal(problem, method)[1]()

    paper, solving = timed(built_and_solved), timed(solved)
    ours = timed(lambda: select(problem, method))
    times = f"{paper:.1f} ms | {solving:.1f} ms | {ours:.2f} ms"
    print(f"| {name} | {method} | {size} | {times} | {paper / ours:.0f} |", flush=True)
    return paper / ours


def growth() -> None:
    """A row per size, method and time limit."""
    print("| candidates x outputs | method | limit | took | objective | bound | gap | all proven |")
    print("|---|---|---|---|---|---|---|---|")
    for candidates, outputs in LARGE:
        problem = made(candidates, outputs)
        for method in METHODS:
            for limit in LIMITS:
                start = time.perf_counter()
                selection = select(problem, method, seconds=limit)
                took = time.perf_counter() - start
                gap = "–" if selection.gap is None else f"{selection.gap:.1%}"
                print(
                    f"| {candidates} x {outputs} | {method} | {limit:.0f} s | {took:.2f} s | {selection.objective} "
                    f"| {selection.bound} | {gap} | {'yes' if selection.optimal else 'no'} |",
                    flush=True,
                )
                if selection.optimal:
                    break


if __name__ == "__main__":
    if "--large" in sys.argv[1:]:
        growth()
    else:
        against_the_paper(pipelines(Path(sys.argv[1]) if len(sys.argv) > 1 else None))
