"""The desk at which the outputs of runs are graded, and what checks, judges and candidates say of these outputs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from promptpex.core.errors import GradeError
from promptpex.core.events import Listener, Notice
from promptpex.core.records import (
    OUTPUT_SUBJECT,
    CandidateResult,
    Example,
    Prompt,
    Run,
    Spec,
    Status,
    Synthesis,
    Verdict,
    output_key,
)
from promptpex.core.translation import stored, stored_n
from promptpex.documents.human_grades import ImportedGrades, import_grades
from promptpex.grading.book import Subject, subject_of_criterion, subjects_of
from promptpex.grading.desk import SECOND_SHARE, GradingDesk
from promptpex.grading.labels import LabelRules, require_no_misspelling
from promptpex.grading.next_item import DEFAULT_POLICY, Opinion, Opinions
from promptpex.promptfile import read, sibling
from promptpex.report import runs
from promptpex.specs.file import read_spec
from promptpex.synthesis.examples import examples_of, merged, of_version
from promptpex.synthesis.folder import SynthesisFolder, candidates_in
from promptpex.synthesis.results.matrix import Matrix, MatrixFile, in_force
from promptpex.workflow.peoples_grades import prompt_file_of

_JUDGE = "judge:"
_OPINIONS: dict[Status, Literal["pass", "fail"]] = {"pass": "pass", "fail": "fail"}


def opinions_of(
    pool: Sequence[Example], read_runs: Sequence[Run], spec: Spec, synthesis: Synthesis, folder: SynthesisFolder
) -> Opinions:
    """All opinions on the items of a pool, by their ids.

    Left out are verdicts on rules that have other words now, repeated turns of a judge, and results of candidates that
    no longer hold. Of several verdicts of one source on the same text the first counts.
    """
    opinions: defaultdict[str, dict[tuple[str, str], Opinion]] = defaultdict(dict)
    for run in read_runs:
        for item, opinion in _of_run(run, spec):
            opinions[item].setdefault((opinion.subject, opinion.assertion), opinion)
    for item, opinion in _of_candidates(pool, spec, synthesis, folder):
        opinions[item].setdefault((opinion.subject, opinion.assertion), opinion)
    return {item.id: tuple(opinions[item.id].values()) for item in pool}


def _of_run(run: Run, spec: Spec) -> Iterator[tuple[str, Opinion]]:
    now = {rule.id: rule.rule for rule in spec.rules}
    subjects = {rule.id: rule.id for rule in run.spec.rules if now.get(rule.id) == rule.rule}
    subjects |= dict.fromkeys(run.manifest.mode_rules, OUTPUT_SUBJECT)
    for verdict in run.verdicts:
        subject, item = subjects.get(verdict.rule), run.item_ids.get(verdict.key)
        if subject is not None and item is not None and verdict.turn == 0 and verdict.source != "none":
            yield item, _of_verdict(verdict, subject)


def _of_verdict(verdict: Verdict, subject: str) -> Opinion:
    by_judge = verdict.source.startswith(_JUDGE)
    return Opinion(
        assertion=f"{verdict.rule} {verdict.source}",
        subject=subject,
        source="judge" if by_judge else "check",
        judge=verdict.source.removeprefix(_JUDGE) if by_judge else "",
        status=_OPINIONS.get(verdict.status, "none"),
        reason=verdict.reason,
    )


def _of_candidates(
    pool: Sequence[Example], spec: Spec, synthesis: Synthesis, folder: SynthesisFolder
) -> Iterator[tuple[str, Opinion]]:
    candidates = in_force(synthesis)
    if not candidates:
        return
    rules = {rule.id: rule.rule for rule in spec.rules}
    subjects = {one.id: subject_of_criterion(one, rules) for one in synthesis.criteria if one.selected}
    matrix, last = Matrix(candidates, pool), dict[tuple[str, str], CandidateResult]()
    matrix.take(_remembered(MatrixFile(folder.matrix).read(), last))
    for number, candidate in enumerate(candidates):
        for item, status in matrix.results(number).items():
            result = last[candidate.fingerprint, item]
            for subject in dict.fromkeys(subjects[name] for name in candidate.criteria if name in subjects):
                yield (
                    item,
                    Opinion(
                        assertion=candidate.id,
                        subject=subject,
                        source="candidate",
                        judge=result.judge,
                        status="none" if status == "error" else status,
                        reason=result.reason,
                    ),
                )


def _remembered(
    results: Iterable[CandidateResult], last: dict[tuple[str, str], CandidateResult]
) -> Iterator[CandidateResult]:
    for result in results:
        last[result.candidate, result.example] = result
        yield result


@dataclass(frozen=True, slots=True)
class GradingWishes:
    """How outputs are graded."""

    prompt: Path | None = None
    rules: LabelRules = field(default_factory=LabelRules)
    policy: str = DEFAULT_POLICY
    ask: tuple[str, ...] = ()
    second_share: float = SECOND_SHARE


ALL_SUBJECTS = "all"


@dataclass(frozen=True, slots=True)
class GradingProject:
    """All that grading a prompt's outputs needs."""

    file: Path
    prompt: Prompt
    spec: Spec
    synthesis: Synthesis
    runs: tuple[Run, ...]
    desk: GradingDesk
    opinions: Opinions
    folder: SynthesisFolder

    @property
    def run(self) -> Run | None:
        return self.runs[0] if self.runs else None

    @property
    def grades(self) -> Path:
        return self.desk.path


def open_desk(sources: Sequence[Path], results: Path, wishes: GradingWishes, emit: Listener) -> GradingProject:
    """Opens the grading of one or more runs of a prompt, or of what its synthesis folder holds of production."""
    named = [source for source in sources if not source.is_file()]
    file = wishes.prompt or next((source for source in sources if source.is_file()), None)
    read_runs = _runs(named, results, file)
    file = file or _prompt_of(read_runs)
    prompt, folder = read(file), SynthesisFolder.of(file)
    spec_file = sibling(file, "spec")
    spec = read_spec(spec_file) if spec_file.exists() else _spec_of(read_runs, file)
    synthesis = candidates_in(folder.candidates, file.name)
    pool = _pool(read_runs, folder, prompt, emit)
    if not pool:
        raise GradeError("there is no usable output to grade; run the prompt first: promptpex run", path=file)
    subjects = subjects_of(spec.rules, (one for one in synthesis.criteria if one.selected))
    opinions = opinions_of(pool, read_runs, spec, synthesis, folder)
    desk = GradingDesk(
        pool,
        subjects,
        sibling(file, "grades"),
        rules=wishes.rules,
        opinions=opinions,
        policy=wishes.policy,
        ask=_asked(wishes.ask, subjects),
        second_share=wishes.second_share,
    )
    require_no_misspelling(wishes.rules, desk.book.graders)
    return GradingProject(file, prompt, spec, synthesis, read_runs, desk, opinions, folder)


def import_into(
    source: Path, sources: Sequence[Path], results: Path, wishes: GradingWishes
) -> tuple[Path, ImportedGrades]:
    """Merges grades that were given elsewhere into those of a prompt."""
    file = wishes.prompt or next((one for one in sources if one.is_file()), None)
    grades = sibling(file or _prompt_of(_runs(sources, results, None)), "grades")
    return grades, import_grades(source, grades)


def _runs(named: Sequence[Path], results: Path, file: Path | None) -> tuple[Run, ...]:
    if not named and file is not None:
        latest = runs.latest_of(results, read(file).name)
        return (runs.read(latest),) if latest is not None else ()
    folders = [runs.resolve(one, results) for one in named] or [runs.resolve(None, results)]
    read_runs = tuple(runs.read(folder) for folder in dict.fromkeys(folders))
    names = {run.prompt.name for run in read_runs}
    if len(names) > 1:
        raise GradeError(f"the runs are of several prompts ({', '.join(sorted(names))}); grade one prompt at a time")
    return read_runs


def _prompt_of(read_runs: Sequence[Run]) -> Path:
    """The prompt's file as a run names it, if it is in the project that one works in."""
    file = prompt_file_of(read_runs[0])
    if file is not None:
        return file
    place = read_runs[0].prompt.path
    message = (
        f"the prompt of the run ({place or 'its file is not known'}) is not in this project; grades are kept beside it:"
        " name its file with --prompt"
    )
    raise GradeError(message)


def _spec_of(read_runs: Sequence[Run], file: Path) -> Spec:
    return read_runs[0].spec if read_runs else Spec(prompt=file.name)


def _pool(read_runs: Sequence[Run], folder: SynthesisFolder, prompt: Prompt, emit: Listener) -> tuple[Example, ...]:
    """The outputs of the runs, then those of production; each text once per inputs."""
    pool: tuple[Example, ...] = ()
    for run in read_runs:
        examples = examples_of(run)
        emit(Notice(stored("run {run}: {shown}", run=run.manifest.run, shown=examples.sentence())))
        if run.prompt.fingerprint != prompt.fingerprint:
            emit(Notice(_of_other_words(run), "warning"))
        pool = merged(pool, examples.examples)
    put_up = [one for one in of_version(folder.read_examples(), prompt.fingerprint) if one.put_up]
    whole = [one for one in put_up if output_key(one.inputs, one.output) == one.id]
    if len(whole) < len(put_up):
        broken = stored_n(
            "{file}: {count} example with an id that is not theirs, left out",
            "{file}: {count} examples with an id that is not theirs, left out",
            len(put_up) - len(whole),
            file=folder.examples.name,
        )
        emit(Notice(broken, "warning"))
    if whole:
        message = stored_n(
            "production: {count} output put up for grading",
            "production: {count} outputs put up for grading",
            len(whole),
        )
        emit(Notice(message))
    return merged(pool, (one for one in whole if one.id not in {item.id for item in pool}))


def _of_other_words(run: Run) -> str:
    return stored(
        "the run {run} was made with an earlier text of {prompt}: its outputs can be graded by the current rules, "
        "but say nothing about the current prompt; run it again for outputs of this version",
        run=run.manifest.run,
        prompt=run.prompt.name,
    )


def _asked(wanted: Iterable[str], subjects: Sequence[Subject]) -> tuple[str, ...]:
    """The ids of the subjects that are asked."""
    asked_ids = [subject.id for subject in subjects if subject.asked]
    wanted = tuple(wanted)
    if ALL_SUBJECTS in wanted:
        return tuple(asked_ids)
    unknown = next((name for name in wanted if name not in asked_ids), None)
    if unknown is not None:
        raise GradeError(f"there is no rule or criterion {unknown!r}; there are {', '.join(asked_ids[:12])}")
    return wanted or (OUTPUT_SUBJECT,)
