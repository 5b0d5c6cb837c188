"""What the fault campaign found, a row per fault, printed at the end of the test run."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Row:
    """One fault.

    Attributes:
        fault: what went wrong.
        cells: outputs that were wanted.
        answered: of these, in the first run.
        reasons: why the others were not, as ``results.csv`` says.
        code: exit code of the first run.
        again: requests that the second run, without the fault, sent.
        twice: questions that were answered, and so paid, more than once.
    """

    fault: str
    cells: int
    answered: int
    reasons: str
    code: int
    again: int
    twice: int


@dataclass(slots=True)
class Tally:
    """All rows so far."""

    rows: list[Row] = field(default_factory=list)

    def table(self) -> list[str]:
        """The rows as the lines of a Markdown table."""
        head = ["fault", "outputs", "answered", "unscored, and why", "exit code", "asked by the next run", "paid twice"]
        lines = [head, [*("---" for _ in head)]]
        for row in self.rows:
            cells = (row.fault, row.cells, row.answered, row.reasons or "none", row.code, row.again, row.twice)
            lines.append([str(cell) for cell in cells])
        return ["| " + " | ".join(line) + " |" for line in lines]


TALLY = Tally()
