"""What to do after a run: the commands that fit its state, the most urgent first."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from promptpex.core.translation import tr, tr_n
from promptpex.report.headline import FAILING_JUDGE
from promptpex.report.summary import Summary
from promptpex.tables import records

MOST_STEPS = 2
"""Commands that are proposed at once: more would not be read."""
MOST_CASES = 500
"""Cases that one may be told to add; beyond, more cases are not the way."""
LIMIT = "10%"
"""The non-compliance that a proposed gate allows: a number to be changed."""


@dataclass(frozen=True, slots=True)
class Occasion:
    """The command that a report ends.

    Attributes:
        requests: what it asked, in a sentence; empty where it asked nothing.
        again: the command as it was typed, where the same one goes on with an incomplete run.
        earlier: the folder of the run of the same prompt that was made before.
        whole: the command as it was typed, without its choice of cases, where it chose some.
    """

    requests: str = ""
    again: str = ""
    earlier: Path | None = None
    whole: str = ""


@dataclass(frozen=True, slots=True)
class NextStep:
    """A command, ready to be pasted, and what it is for."""

    command: str
    purpose: str

    def line(self) -> str:
        """Both on one line; for a shell the purpose is a comment."""
        return f"{self.command}  # {self.purpose}"


def next_steps(summary: Summary, occasion: Occasion) -> list[NextStep]:
    """The first few that fit the run; for one that is not kept, what could make it go."""
    if summary.folder is None:
        return [*_going_on(summary, occasion), *_reaching(summary)]
    run = run_argument(summary, summary.folder)
    steps = [
        *_going_on(summary, occasion),
        *_judging(summary, run),
        *_reaching(summary),
        *_whole_suite(summary, occasion),
        *_more_cases(summary),
        *_using(summary, run, occasion.earlier),
    ]
    return steps[:MOST_STEPS]


def run_argument(summary: Summary, folder: Path) -> str:
    """How a command names a run: by its id where the runs are in the usual folder, else by its folder."""
    usual = folder.parent.parent == Path("results") and summary.run.manifest.origins.get("results") != "flag"
    return _argument(folder.name if usual and not folder.name.startswith("-") else str(folder))


def _argument(text: str) -> str:
    """A name for a shell, which no command takes for an option: it may come from a stranger's folder."""
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


def _going_on(summary: Summary, occasion: Occasion) -> Iterator[NextStep]:
    if summary.run.manifest.partial and occasion.again:
        yield NextStep(occasion.again, tr("goes on with this run"))


def _judging(summary: Summary, run: str) -> Iterator[NextStep]:
    """A judge where one failed, or where rules wait for one."""
    judge = f"promptpex judge {run} --judge MODEL"
    if any(row["asked"] and row["failed"] / row["asked"] > FAILING_JUDGE for row in records(summary.details.judges)):
        yield NextStep(judge, tr("asks another judge"))
        return
    waiting = len({*summary.gaps.unjudged_rules, *summary.gaps.half_judged_rules})
    if waiting and summary.made.database.has("SELECT 1 FROM output WHERE error IS NULL"):
        yield NextStep(judge, _judges(waiting))


def _judges(rules: int) -> str:
    return tr_n(
        "judges the {count} rule that code does not decide", "judges the {count} rules that code does not decide", rules
    )


def _reaching(summary: Summary) -> Iterator[NextStep]:
    """Where no model gave anything: which could be asked."""
    outputs, failed = summary.made.database.query("SELECT count(*), count(error) FROM output").fetchone()
    if outputs and outputs == failed and not summary.run.manifest.partial:
        yield NextStep("promptpex models", tr("which models can be reached from here"))


def _whole_suite(summary: Summary, occasion: Occasion) -> Iterator[NextStep]:
    """The rest of the cases, where a part of them was asked for."""
    if summary.run.manifest.subset is not None and not summary.run.manifest.partial and occasion.whole:
        yield NextStep(occasion.whole, tr("runs the whole suite"))


def _more_cases(summary: Summary) -> Iterator[NextStep]:
    """As many cases again, where too few are there to tell models apart."""
    cases, path = len(summary.run.suite.usable()), summary.run.prompt.path
    targets = sum(1 + bool(rule.inverse) for rule in summary.run.spec.rules if not rule.stale)
    few = any(row["decision"] == "undecided" and not row["undecided_because"] for row in summary.model_rows)
    if few and summary.run.manifest.subset is None and targets and path is not None and cases <= MOST_CASES:
        each = math.ceil(cases / targets)
        purpose = tr("adds about {count} cases", count=each * targets)
        yield NextStep(f"promptpex generate {_argument(path)} --more {each}", purpose)


def _using(summary: Summary, run: str, earlier: Path | None) -> Iterator[NextStep]:
    """What a run that has figures is good for."""
    if not any(summary.models.column("scored")) or summary.run.manifest.partial or summary.run.manifest.failed_in:
        return
    if earlier is not None:
        yield NextStep(f"promptpex compare {run_argument(summary, earlier)} {run}", tr("what has changed since"))
    if summary.run.manifest.subset is None:
        yield NextStep(f"promptpex gate {run} --max-non-compliance {LIMIT}", tr("the test for CI"))
