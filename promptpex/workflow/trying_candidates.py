"""Trying candidates: examples with labels, what each candidate says of each of them, and which candidate implies which.

It follows the writing of candidates in `promptpex synthesize`. Without examples a judge may still say which candidate
implies which, by which some can be chosen; without a judge there is then nothing to do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from promptpex.codecs.text.wording import cut, requests_in_words
from promptpex.core.errors import InputError
from promptpex.core.events import Listener, Notice
from promptpex.core.records import Candidate, Criterion, Example, Implication, Prompt, Rule, Run, Synthesis
from promptpex.core.translation import stored, stored_n
from promptpex.documents.human_grades import read_grades
from promptpex.engines import Engine, local_engine, usable_cpus
from promptpex.grading.book import GradeBook, subjects_of
from promptpex.grading.labels import LabelRules, accuracies, labelled, require_known_grader
from promptpex.judging.questions import STAGE as QUESTION
from promptpex.judging.questions import QuestionJudge
from promptpex.promptfile import read, sibling
from promptpex.report import runs
from promptpex.specs.file import rules_in
from promptpex.synthesis.examples import (
    RunExamples,
    TableExamples,
    examples_of,
    examples_of_table,
    merged,
    of_version,
    read_labels,
    require_final,
)
from promptpex.synthesis.folder import HISTORY, SynthesisFolder, history_in, read_candidates, write_candidates
from promptpex.synthesis.results.fill_matrix import fill
from promptpex.synthesis.results.implications import (
    PAIRS_PER_REQUEST,
    STAGE,
    ImplicationPlan,
    JudgedPairs,
    judge_pairs,
    plan_implications,
)
from promptpex.synthesis.results.matrix import ERROR, FAIL, PASS, Matrix, MatrixFile, in_force, may_ask
from promptpex.workflow.front_matter import instructions_of
from promptpex.workflow.preconditions import raise_if_cancelled
from promptpex.workflow.project_files import Files, read_prompt
from promptpex.workflow.session import Session


@dataclass(frozen=True, slots=True)
class ExampleSources:
    """Where examples and labels come from."""

    run: Run | None = None
    table: Path | None = None
    rules: LabelRules = field(default_factory=LabelRules)


def update_examples(
    folder: SynthesisFolder, file: Path, prompt: Prompt, rules: Sequence[Rule], sources: ExampleSources, emit: Listener
) -> tuple[Example, ...]:
    """The examples that a choice is made on, after the folder's file has been brought up to date.

    Earlier examples stay in the file, those of other versions of the prompt too. What is read, how labels came about
    and how many there are is emitted.

    Args:
        file: the prompt's file, beside which its grades are.
        rules: of the spec, as it is now; grades on rules are held against them.
    """
    run = _of_run(prompt, sources.run, emit)
    with folder.alone(file):
        examples, book = _updated(folder, file, prompt, rules, sources, run, emit)
    current = of_version(examples, prompt.fingerprint)
    _report(current, len(examples), book, emit)
    return current


def _updated(
    folder: SynthesisFolder,
    file: Path,
    prompt: Prompt,
    rules: Sequence[Rule],
    sources: ExampleSources,
    run: RunExamples,
    emit: Listener,
) -> tuple[Sequence[Example], GradeBook]:
    merged_examples = merged(folder.read_examples(), run.examples)
    table = _of_table(prompt, merged_examples, run, sources, emit)
    book = GradeBook.of(read_grades(sibling(file, "grades")), subjects_of(rules, _criteria(folder)), sources.rules)
    unlabelled = (*merged_examples, *table.imported.values())
    votes = {example.id: book.joint(example).votes for example in unlabelled}
    spoken = [vote for voices in (votes, table.votes) for each in voices.values() for vote in each]
    require_known_grader(sources.rules, {vote.grader for vote in spoken})
    weights = {**accuracies(table.votes.values()), **book.accuracies}
    examples = labelled(unlabelled, votes, table.votes, sources.rules, weights)
    folder.write_examples(examples)
    return examples, book


def _criteria(folder: SynthesisFolder) -> Iterator[Criterion]:
    """The criteria that take part; grades on them are held against their words, too."""
    if folder.candidates.exists():
        yield from (one for one in read_candidates(folder.candidates).criteria if one.selected)


def _of_run(prompt: Prompt, run: Run | None, emit: Listener) -> RunExamples:
    if run is None:
        return RunExamples()
    require_final(run, prompt)
    run_examples = examples_of(run)
    emit(Notice(stored("run {run}: {shown}", run=run.manifest.run, shown=run_examples.sentence())))
    return run_examples


def _of_table(
    prompt: Prompt, known: Iterable[Example], run: RunExamples, sources: ExampleSources, emit: Listener
) -> TableExamples:
    if sources.table is None:
        return TableExamples()
    inputs = {case.id: case.inputs for case in sources.run.suite.cases} if sources.run is not None else {}
    table_examples = examples_of_table(read_labels(sources.table, prompt.variables), known, run, inputs)
    emit(Notice(stored("labels of {file}: {shown}", file=sources.table.name, shown=table_examples.sentence())))
    return table_examples


def _report(examples: Sequence[Example], total: int, book: GradeBook, emit: Listener) -> None:
    tally = Counter(example.label for example in examples)
    message = stored_n(
        "labels: {count} good example, {number} bad, {rest} without a label; {words}",
        "labels: {count} good examples, {number} bad, {rest} without a label; {words}",
        tally["good"],
        number=tally["bad"],
        rest=tally[None],
        words=book.rules.sentence(),
    )
    emit(Notice(message, "always"))
    for words in _without_label(examples, total, book):
        emit(Notice(words))


def _without_label(examples: Sequence[Example], total: int, book: GradeBook) -> Iterator[str]:
    """What gave no label, a sentence each."""
    if total > len(examples):
        yield stored_n(
            "{count} example of other versions of the prompt: kept, but not used for the choice",
            "{count} examples of other versions of the prompt: kept, but not used for the choice",
            total - len(examples),
        )
    if disagreeing := sum(example.label is None and "disagree" in example.label_from for example in examples):
        yield stored_n(
            "labels: {count} output without a label since the graders disagree evenly",
            "labels: {count} outputs without a label since the graders disagree evenly",
            disagreeing,
        )
    if partial := book.partial(examples):
        yield stored_n(
            "labels: {count} output with all graded rules good, but not every rule graded: no label from that person",
            "labels: {count} outputs with all graded rules good, but not every rule graded: no label from that person",
            partial,
        )
    if book.outdated:
        yield stored_n(
            "labels: {count} grade given to words that their rules and criteria no longer have was left out",
            "labels: {count} grades given to words that their rules and criteria no longer have were left out",
            book.outdated,
        )


MOST_PAIRS = 5_000
"""Pairs of candidates that a judge is asked about: some 330 requests."""


@dataclass(frozen=True, slots=True)
class TrialWishes:
    """How candidates are tried."""

    run: Path | None = None
    labels: Path | None = None
    rules: LabelRules = field(default_factory=LabelRules)


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of it."""

    examples: int
    good: int
    bad: int
    cells: int
    results: dict[str, int]
    implications: int
    judged: int


def require_sources(session: Session, files: Files, wishes: TrialWishes) -> None:
    """Refuses a run, labels, grades or examples that cannot be used, before an author is paid for candidates."""
    prompt = read(files.prompt)
    if wishes.run is not None:
        run = runs.read(runs.resolve(wishes.run, Path(session.settings.results)), verdicts=False)
        require_final(run, prompt)
    if wishes.labels is not None:
        read_labels(wishes.labels, prompt.variables)
    read_grades(sibling(files.prompt, "grades"))
    SynthesisFolder.of(files.prompt).read_examples()


async def try_candidates(session: Session, files: Files, wishes: TrialWishes) -> Trial | None:
    """Brings examples, results and implications of a prompt's synthesis folder up to date; None where there is nothing
    to try.

    Questions of candidates go to the first judge that is named, and so do pairs of candidates; where none is, such
    candidates err and are run again next time, and implications are those by the same code and those on file.
    """
    prompt = read_prompt(session, files.prompt)
    folder = SynthesisFolder.of(files.prompt)
    synthesis = read_candidates(folder.candidates)
    candidates = in_force(synthesis)
    sources = ExampleSources(_run(session, prompt, wishes.run), wishes.labels, wishes.rules)
    has_examples = bool(sources.run or sources.table or folder.examples.exists())
    if not candidates or not (has_examples or session.roles.named_judges()):
        return None
    examples: tuple[Example, ...] = ()
    if has_examples:
        examples = update_examples(folder, files.prompt, prompt, rules_in(files.spec), sources, session.emit)
    judge = judge_of_questions(session, prompt, candidates, len(examples))
    matrix = Matrix(candidates, examples, judge=judge.fingerprint() if judge is not None else None)
    cells = await fill(
        matrix,
        MatrixFile(folder.matrix),
        _engine(session, matrix),
        session.emit,
        judge=judge,
        cancelled=lambda: session.client.cancelled,
    )
    raise_if_cancelled(session)
    history = history_in(folder.versions, synthesis.prompt)
    plan = plan_implications(matrix, synthesis.implications, history.pairs)
    new = JudgedPairs((), ())
    if plan.to_ask and session.roles.named_judges():
        new = await _asked(session, prompt, plan, matrix)
    with folder.alone(files.prompt):
        implications = _keep_implications(folder, matrix, plan, new)
    _tell_of_errors(session, matrix)
    return _trial(matrix, examples, cells, implications, len(new.implications))


def _run(session: Session, prompt: Prompt, named: Path | None) -> Run | None:
    """The run that is named, else the latest one of the prompt as it is now; read without its verdicts, since no label
    comes from them."""
    results = Path(session.settings.results)
    if named is not None:
        return runs.read(runs.resolve(named, results), verdicts=False)
    folder = runs.latest_of(results, prompt.name)
    try:
        run = runs.read(folder, verdicts=False) if folder is not None else None
    except InputError as error:
        session.emit(Notice(stored("the latest run is not used: {why}", why=error), "warning"))
        return None
    if run is not None and run.prompt.fingerprint != prompt.fingerprint:
        message = stored(
            "the latest run, {run}, is of another version of {prompt}: its outputs are not used",
            run=run.manifest.run,
            prompt=prompt.name,
        )
        session.emit(Notice(message))
        return None
    return run


def judge_of_questions(
    session: Session, prompt: Prompt, candidates: Sequence[Candidate], examples: int
) -> QuestionJudge | None:
    """Who answers the questions of candidates, where there are any."""
    asking = sum(may_ask(candidate.check) for candidate in candidates)
    if not asking or not examples:
        return None
    if not session.roles.named_judges():
        message = stored_n(
            "{count} candidate asks a judge, but none is named: name one with --judge",
            "{count} candidates ask a judge, but none is named: name one with --judge",
            asking,
        )
        session.emit(Notice(message, "warning"))
        return None
    judge = QuestionJudge(session.roles.judges()[0], instructions_of(session.settings, prompt).get(QUESTION, ""))
    message = stored_n(
        "questions of {count} candidate: about {requests} to {judge}",
        "questions of {count} candidates: about {requests} to {judge}",
        asking,
        requests=requests_in_words(asking * examples),
        judge=judge.role_model.label,
    )
    session.emit(Notice(message, "always"))
    return judge


def _engine(session: Session, matrix: Matrix) -> Engine:
    """The session's where there is much to do; where nothing says how many processes, there is one for each CPU."""
    settings, cells = session.settings, len(matrix.candidates) * len(matrix.examples)
    if cells >= session.many and settings.engine == "local" and settings.workers is None:
        return local_engine(usable_cpus())
    return session.engine_for(cells)


def _keep_implications(folder: SynthesisFolder, matrix: Matrix, plan: ImplicationPlan, new: JudgedPairs) -> int:
    """Brings the implications on file up to date, and gives how many there are. All else stays as it is by now: people
    may have chosen, and authors written, while candidates were tried."""
    synthesis = read_candidates(folder.candidates)
    ids = {one.id for one in synthesis.candidates}
    implications_known = [one for one in (*plan.known, *new.implications) if {one.stronger, one.weaker} <= ids]
    implications = (*implications_known, *_set_aside(synthesis, matrix))
    if implications != synthesis.implications:
        synthesis = write_candidates(folder.candidates, synthesis.replace(implications=implications))
    if new.judged:
        history = history_in(folder.versions, synthesis.prompt)
        HISTORY.write(folder.versions, history.replace(pairs=(*history.pairs, *new.judged)))
    return len(synthesis.implications)


def _set_aside(synthesis: Synthesis, matrix: Matrix) -> list[Implication]:
    """The machine's implications of candidates that take no part now: a judge is not asked twice about the same."""
    running, ids = ({one.id for one in candidates} for candidates in (matrix.candidates, synthesis.candidates))
    return [
        one
        for one in synthesis.implications
        if not one.is_peoples and {one.stronger, one.weaker} <= ids and not {one.stronger, one.weaker} <= running
    ]


async def _asked(session: Session, prompt: Prompt, plan: ImplicationPlan, matrix: Matrix) -> JudgedPairs:
    pairs = plan.to_ask
    if len(pairs) > MOST_PAIRS:
        message = stored(
            "{count} pairs of candidates are too many to compare: a judge is asked about {limit}; label more outputs "
            "to rule pairs out",
            count=f"{len(pairs):,}",
            limit=f"{MOST_PAIRS:,}",
        )
        session.emit(Notice(message, "warning"))
        pairs = pairs[:MOST_PAIRS]
    judge = session.roles.judges()[0]
    message = stored_n(
        "implications: {count} pair in {requests} to {judge}",
        "implications: {count} pairs in {requests} to {judge}",
        len(pairs),
        requests=requests_in_words(-(-len(pairs) // PAIRS_PER_REQUEST)),
        judge=judge.label,
    )
    session.emit(Notice(message, "always"))
    if out := plan.contradicted + plan.pruned:
        ruled_out = stored_n(
            "implications: {count} pair ruled out by examples", "implications: {count} pairs ruled out by examples", out
        )
        session.emit(Notice(ruled_out, "always"))
    note = instructions_of(session.settings, prompt).get(STAGE, "")
    return await judge_pairs(judge, matrix.candidates, pairs, instructions=note, emit=session.emit)


def _tell_of_errors(session: Session, matrix: Matrix) -> None:
    """Names the candidates that err, the commonest reason of each first."""
    erring = [(number, counter) for number, counter in enumerate(matrix.errors) if counter]
    for number, counter in erring[:10]:
        reason, count = counter.most_common(1)[0]
        name = matrix.candidates[number].id
        message = stored_n(
            "{name} errs on {count} example: {reason} ({number})",
            "{name} errs on {count} examples: {reason} ({number})",
            counter.total(),
            name=name,
            reason=cut(reason, 160),
            number=count,
        )
        session.emit(Notice(message))
    if len(erring) > 10:
        session.emit(
            Notice(
                stored_n(
                    "and {count} further candidate errs on some examples",
                    "and {count} further candidates err on some examples",
                    len(erring) - 10,
                )
            )
        )


def _trial(matrix: Matrix, examples: Sequence[Example], cells: int, implications: int, judged: int) -> Trial:
    labels = Counter(example.label for example in examples)
    results = {
        name: sum(matrix.where(number, status).bit_count() for number in range(len(matrix.candidates)))
        for name, status in (("pass", PASS), ("fail", FAIL), ("error", ERROR))
    }
    return Trial(len(examples), labels["good"], labels["bad"], cells, results, implications, judged)
