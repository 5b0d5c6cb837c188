"""What checks and judges of runs, and the candidates of the synthesis folder, say of the items that people grade."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from promptpex.core.records import (
    OUTPUT_SUBJECT,
    CandidateResult,
    Example,
    Run,
    Spec,
    Status,
    Synthesis,
    Verdict,
)
from promptpex.grading.opinions import Opinion, Opinions
from promptpex.grading.subjects import subject_of_criterion
from promptpex.synthesis.active_candidates import in_force
from promptpex.synthesis.folder import SynthesisFolder
from promptpex.synthesis.results.matrix import Matrix, MatrixFile

_JUDGE = "judge:"
_OPINIONS: dict[Status, Literal["pass", "fail"]] = {"pass": "pass", "fail": "fail"}


def opinions_of(
    pool: Sequence[Example], read_runs: Sequence[Run], spec: Spec, synthesis: Synthesis, folder: SynthesisFolder
) -> Opinions:
    """All opinions on the items of a pool, by their ids.

    Left out are verdicts on rules that have other words now, repeated turns of a judge, and results of candidates that
    no longer hold. Of several verdicts of one source on the same text the first counts.

    Raises:
        SynthesisError: the file of results cannot be read, with its line.
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
