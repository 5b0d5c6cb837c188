"""HiGHS, and all that this package knows of it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import highspy

SMALL = 2_000
"""Up to so many variables the search is faster without heuristics, which take longer than the proof."""

TINY = 400
"""Up to so many variables a search is over before anybody could want to stop it."""

INTERRUPT_CHECK_S = 0.1
"""Seconds after which it is looked for Ctrl-C while the solver runs."""

_TOLERANCE = 1e-9
"""How far a variable may be from a whole number and a row from its limit."""

_SMALL_OPTIONS: dict[str, float | bool] = {
    "mip_heuristic_effort": 0.0,
    "mip_heuristic_run_feasibility_jump": False,
    "mip_heuristic_run_rins": False,
    "mip_heuristic_run_rens": False,
    "mip_heuristic_run_root_reduced_cost": False,
    "mip_detect_symmetry": False,
}


@dataclass(slots=True)
class Program:
    """A mixed integer program whose variables all go from 0 to 1."""

    binaries: int
    variables: int
    _lower: list[float] = field(default_factory=list)
    _upper: list[float] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)
    _columns: list[int] = field(default_factory=list)
    _values: list[int] = field(default_factory=list)

    def add(
        self, columns: Sequence[int], values: Sequence[int], *, least: float | None = None, most: float | None = None
    ) -> None:
        """Adds a row: the sum of these variables, times their values, is at least and at most this."""
        self._starts.append(len(self._columns))
        self._columns += columns
        self._values += values
        self._lower.append(float("-inf") if least is None else least)
        self._upper.append(float("inf") if most is None else most)

    def minimised(self, objective: Sequence[int], start: Sequence[float], seconds: float) -> Outcome:
        """What HiGHS finds within ``seconds``.

        Args:
            objective: a whole number per variable, so that a bound less than 1 below a value proves it.
            start: a solution to begin with; empty: none is known.
        """
        import highspy
        import numpy as np

        highs = self._solver(seconds)
        ones = np.ones(self.variables)
        whole = np.zeros(self.variables, dtype=np.int32)
        whole[: self.binaries] = 1
        highs.passModel(
            self.variables,
            len(self._lower),
            len(self._columns),
            int(highspy.MatrixFormat.kRowwise),
            int(highspy.ObjSense.kMinimize),
            0.0,
            np.array(objective, dtype=np.float64),
            0.0 * ones,
            ones,
            np.array(self._lower, dtype=np.float64),
            np.array(self._upper, dtype=np.float64),
            np.array(self._starts, dtype=np.int32),
            np.array(self._columns, dtype=np.int32),
            np.array(self._values, dtype=np.float64),
            whole,
        )
        if len(start):
            highs.setSolution(self.variables, np.arange(self.variables, dtype=np.int32), np.array(start))
        if self.variables <= TINY:
            highs.run()
        else:
            _run_interruptibly(highs)
        return _outcome(highs, self.binaries)

    def _solver(self, seconds: float) -> highspy.Highs:
        import highspy

        highs = highspy.Highs()  # type: ignore[no-untyped-call]
        options: dict[str, float | bool] = {
            "output_flag": False,
            "threads": 1,
            "mip_rel_gap": 0.0,
            "mip_abs_gap": 0.999,
            "mip_feasibility_tolerance": _TOLERANCE,
            "primal_feasibility_tolerance": _TOLERANCE,
            "time_limit": max(seconds, 0.0),
            **(_SMALL_OPTIONS if self.variables <= SMALL else {}),
        }
        for name, value in options.items():
            highs.setOptionValue(name, value)
        return highs


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a search ended with."""

    chosen: tuple[int, ...] | None
    bound: float
    infeasible: bool


def _run_interruptibly(highs: highspy.Highs) -> None:
    """Runs the solver so that Ctrl-C ends it: it does not return to Python by itself before it is done."""
    stopped, done = threading.Event(), threading.Event()

    def heed(event: highspy.highs.HighsCallbackEvent) -> None:
        if stopped.is_set():
            event.interrupt()

    def search() -> None:
        try:
            highs.run()
        finally:
            done.set()

    highs.cbMipInterrupt += heed
    threading.Thread(target=search, daemon=True).start()
    try:
        while not done.wait(INTERRUPT_CHECK_S):
            pass
    except BaseException:
        stopped.set()
        done.wait()
        raise


def _outcome(highs: highspy.Highs, binaries: int) -> Outcome:
    import highspy

    status, info = highs.getModelStatus(), highs.getInfo()
    if status in (highspy.HighsModelStatus.kInfeasible, highspy.HighsModelStatus.kUnboundedOrInfeasible):
        return Outcome(None, float("inf"), True)
    solved = info.primal_solution_status == int(highspy.SolutionStatus.kSolutionStatusFeasible)
    values = highs.getSolution().col_value if solved else None
    chosen = tuple(number for number, value in enumerate(values[:binaries]) if value > 0.5) if values else None
    return Outcome(chosen, info.mip_dual_bound, False)
