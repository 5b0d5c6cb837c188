"""What authors are asked for and shown: criteria from a prompt and from notes, candidates, examples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from promptpex.codecs.text.inputs_as_text import named_text
from promptpex.core.errors import InputError
from promptpex.core.events import Notice
from promptpex.core.records import Criterion, Example, Prompt, Rule, Synthesis
from promptpex.core.time_allowance import Allowance
from promptpex.core.translation import stored
from promptpex.documents.human_grades import read_grades
from promptpex.grading.book import GradeBook, subjects_of
from promptpex.grading.labels import LabelRules
from promptpex.promptfile import RENDERING_SECONDS, messages_text, render, sibling
from promptpex.report import runs
from promptpex.synthesis.examples import examples_of, of_version
from promptpex.synthesis.folder import SynthesisFolder
from promptpex.synthesis.proposing.criteria import INFER, MOST_BAD, NOTES, suggest_criteria
from promptpex.synthesis.proposing.graded_examples import GradedExamples, examples_for_notes
from promptpex.synthesis.proposing.propose_candidates import Demand, NewCandidates, Shown, propose_candidates
from promptpex.workflow.front_matter import instructions_of
from promptpex.workflow.project_files import Files, read_existing
from promptpex.workflow.session import Session

TYPICAL_SUGGESTIONS = 5
"""Criteria of a request for some, for estimates."""


@dataclass(frozen=True, slots=True)
class Suggesting:
    """What criteria are to be suggested from."""

    infer: bool = False
    graded: GradedExamples = field(default_factory=GradedExamples)
    taken: frozenset[str] = frozenset()
    turn: int = 0

    @property
    def requests(self) -> int:
        return int(self.infer) + int(bool(self.graded))


def book_of(file: Path, rules: Iterable[Rule], criteria: Iterable[Criterion], how: LabelRules) -> GradeBook:
    """The grades of a prompt, held against its rules and criteria as they are now."""
    return GradeBook.of(read_grades(sibling(file, "grades")), subjects_of(rules, criteria), how)


def with_new_notes(
    book: GradeBook, criteria: Iterable[Criterion], examples: Iterable[Example], most_bad: int = MOST_BAD
) -> GradedExamples:
    used = {name for criterion in criteria for name in criterion.notes}
    return examples_for_notes(book, examples, used=used, most_bad=most_bad)


def graded_for_notes(
    file: Path, rules: Iterable[Rule], criteria: Sequence[Criterion], examples: Iterable[Example], how: LabelRules
) -> GradedExamples:
    """As ``with_new_notes``; nothing without a bad one."""
    graded = with_new_notes(book_of(file, rules, criteria, how), criteria, examples)
    return graded if graded.bad else GradedExamples()


async def suggest(
    session: Session, prompt: Prompt, asking: Suggesting, known: Sequence[Criterion]
) -> tuple[tuple[Criterion, ...], tuple[str, ...]]:
    """New criteria, and the stages in which the author gave nothing that can be used."""
    own = instructions_of(session.settings, prompt)
    requests: list[tuple[str, GradedExamples | None]] = [(INFER, None)] if asking.infer else []
    requests += [(NOTES, asking.graded)] if asking.graded else []
    proposed: list[Criterion] = []
    in_vain: list[str] = []
    for stage, graded in requests:
        new = await suggest_criteria(
            session.roles.author(),
            prompt,
            graded,
            known=[*known, *proposed],
            taken=asking.taken,
            instructions=own.get(stage, ""),
            turn=asking.turn,
            emit=session.emit,
        )
        proposed += new.criteria
        in_vain += [] if new.answered else [stage]
    return tuple(proposed), tuple(in_vain)


async def new_candidates(
    session: Session, prompt: Prompt, synthesis: Synthesis, waiting: Sequence[Criterion], shown: Shown
) -> NewCandidates:
    """Candidates for these criteria, those that are to be decided alike in requests of their own."""
    note = instructions_of(session.settings, prompt).get("candidates", "")
    collected = NewCandidates()
    for by in dict.fromkeys(criterion.by for criterion in waiting):
        new = await propose_candidates(
            session.roles.author(),
            prompt,
            [criterion for criterion in waiting if criterion.by == by],
            shown=shown,
            known=[*synthesis.candidates, *collected.candidates],
            demand=Demand(by=by),
            instructions=note,
            emit=session.emit,
        )
        collected = NewCandidates(
            (*collected.candidates, *new.candidates),
            (*collected.asked, *new.asked),
            {**collected.dropped, **new.dropped},
        )
    return collected


def shown_to_author(session: Session, files: Files, prompt: Prompt, folder: SynthesisFolder) -> Shown:
    """The example that the author of candidates sees: an output of this version, else a case filled in."""
    labelled = [one for one in labelled_first(folder, prompt) if one.prompt]
    for example in (*labelled, *of_latest_run(session, prompt)):
        return Shown(example.prompt, named_text(example.inputs), example.output)
    try:
        _, suite = read_existing(prompt, files)
        case = next(iter(suite.usable()), None) if suite is not None else None
        if case is not None:
            sent = render(prompt, case.inputs, Allowance(RENDERING_SECONDS))
            return Shown(messages_text(sent), named_text(case.inputs))
    except InputError as error:
        session.emit(Notice(stored("candidates are written without an example: {why}", why=error), "warning"))
    return Shown()


def labelled_first(folder: SynthesisFolder, prompt: Prompt) -> list[Example]:
    """The examples of the folder, good ones first; none where they cannot be read, which concerns the matrix."""
    try:
        examples = of_version(folder.read_examples(), prompt.fingerprint)
    except InputError:
        return []
    return sorted(examples, key=lambda example: example.label != "good")


def of_latest_run(session: Session, prompt: Prompt) -> Sequence[Example]:
    """The examples of the prompt's latest run; none where there is no run, or none of this prompt as it is now."""
    folder = runs.latest_of(Path(session.settings.results), prompt.name)
    try:
        run = runs.read(folder, verdicts=False) if folder is not None else None
    except InputError:
        return ()
    return examples_of(run).examples if run is not None and run.prompt.fingerprint == prompt.fingerprint else ()
