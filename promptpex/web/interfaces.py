"""What the pages are handed: folders, and objects for all that spends money or knows the project.

The page cannot reach models or the project's files by itself. What it needs of them is declared here as a Protocol,
implemented in ``workflow`` and handed in by the command that starts the server.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from promptpex.core.records import Choice, Means, Prompt, ReportCard
from promptpex.core.records.criteria_board import CandidateForm, CriteriaBoard
from promptpex.grading.desk import GradingDesk
from promptpex.report.page.asked import SentMessages
from promptpex.report.run_comparison import RunComparison
from promptpex.tables import AnyRun, PeoplesGrades


class CriteriaPort(Protocol):
    """Criteria and their candidates while people grade (``workflow.criteria.project``).

    What does something gives a sentence that says what was done, and raises InputError, with the reason, where it
    cannot be done. May be used from several threads.
    """

    def board(self) -> CriteriaBoard: ...
    def add(self, text: str, title: str = "") -> str: ...
    def from_note(self, grader: str, output: str, subject: str) -> str:
        """Makes a criterion of what a grader noted on a subject of the output with this key."""

    def reword(self, name: str, text: str) -> str: ...
    def delete(self, name: str) -> str:
        """Deletes a criterion with its candidates."""

    def settle(self, name: str, by: Means, selected: bool, max_ffr: float | None, must: bool) -> str:
        """Sets by what a criterion is decided, whether it takes part, its own limit, and whether it is a must."""

    def add_candidate(self, criterion: str, form: CandidateForm, text: str) -> str: ...
    def edit_candidate(self, name: str, form: CandidateForm, text: str) -> str: ...
    def keep_candidate(self, name: str) -> str:
        """Says that a candidate fits the present words of its criteria."""

    def choose(self, name: str, choice: Choice | None) -> str:
        """Sets whether a candidate is always chosen, or never."""

    def delete_candidate(self, name: str) -> str: ...
    def infer(self) -> str:
        """Has criteria inferred from the prompt."""

    def from_notes(self) -> str:
        """Has criteria made of notes on bad outputs."""

    def make(self, name: str = "", wish: str = "") -> str:
        """Has candidates made, for one criterion or for all that have none in their present words."""

    def ask_judge(self) -> str:
        """Lets the judge answer the questions of candidates."""

    def renew(self, on: bool) -> str:
        """Sets whether candidates are made again as grades come."""

    def stop(self) -> str: ...


class CardPort(Protocol):
    """The report card of a run, from its files as they are now."""

    def stamp(self) -> Hashable:
        """What changes whenever a file does that the card is made from.

        Raises:
            InputError: there is no run.
        """

    def card(self, limit: str = "", against: Path | None = None) -> ReportCard:
        """The card.

        Args:
            limit: the FFR limit of a choice to look at, as a person writes it; empty: the kept choice.
            against: the folder of a run of other words, for what an edit of the prompt did.

        Raises:
            InputError: a file cannot be used, or it is not a limit.
        """


class GradesPort(Protocol):
    """What people's grades say of runs (``workflow.peoples_grades``)."""

    def stamp(self, folder: Path) -> Hashable:
        """What changes whenever a file does that ``grades`` read for the run in this folder."""

    def grades(self, folder: Path, run: AnyRun) -> PeoplesGrades | None:
        """What people say of the outputs of the run in this folder; None where they say nothing."""


class ComparisonPort(Protocol):
    """What has changed between two runs, as the project's settings have it (``workflow.comparing``)."""

    def stamp(self, before: Path, after: Path) -> Hashable:
        """What changes whenever a file does that ``compare`` reads for the runs in these folders."""

    def compare(self, before: Path, after: Path) -> RunComparison:
        """What has changed from the run in one folder to that in the other.

        Raises:
            InputError: a run cannot be read, or the two have nothing in common.
        """


@dataclass(frozen=True, slots=True)
class GradingPort:
    """What the grading page shows, and where grades go.

    Attributes:
        desk: hands out outputs and keeps grades.
        prompt_name: of the prompt.
        grader: who grades; empty: the page asks.
        suggested: the name that it proposes then.
        first: how many outputs are graded before people write down what they look for; 0: as many as they like.
        variables: of the prompt, so that the page can say which of them are not recorded with an output.
    """

    desk: GradingDesk
    prompt_name: str
    grader: str = ""
    suggested: str = ""
    first: int = 0
    variables: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ports:
    """What a server shows; a page that needs a part that is None has no tab and no routes.

    Attributes:
        results: the folder of the runs.
        run: the folder of the run that the command names, which may lie elsewhere; None where it names none.
        start: the path of the page that a browser is led to once it is let in.
        comparing: compares two runs.
        criteria: the criteria that people judge by, and their candidates.
        card: the report card.
        grading: what people grade.
        grades: people's grades, by which reports and comparisons are corrected; without it they are not.
        renderer: says of a prompt what models are sent; without it reports do not show that.
    """

    results: Path
    run: Path | None = None
    start: str = "/"
    comparing: ComparisonPort | None = None
    criteria: CriteriaPort | None = None
    card: CardPort | None = None
    grading: GradingPort | None = None
    grades: GradesPort | None = None
    renderer: Callable[[Prompt], SentMessages] | None = None
