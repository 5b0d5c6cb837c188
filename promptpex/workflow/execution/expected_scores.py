"""Scores of a run's outputs: whether each is the expected one, by code or by judges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

from promptpex.assertions import ExpectedOutput, Unscorable, compare
from promptpex.codecs.text.comparing import normalised
from promptpex.core.events import StepDone, stage_events
from promptpex.core.ids import digest
from promptpex.core.match_kinds import ASKED, DEFAULT_MATCH
from promptpex.core.outcomes import not_asked
from promptpex.core.records import EXPECTED, Output, Prompt, Run, Score, Spec, Suite, Verdict
from promptpex.core.translation import stored
from promptpex.engines import run_all
from promptpex.judging.same_as_expected import STAGE, MatchJudge
from promptpex.judging.verdict_precedence import Quorum, agreed
from promptpex.workflow.execution.order import AskedJudge, judging_order, questions_before
from promptpex.workflow.front_matter import instructions_of
from promptpex.workflow.session import Session

MATCH_VERSION = "match-1"
"""The version of the comparisons by code, raised when one decides otherwise than before."""


def expected_outputs(suite: Suite, chosen: str | None, ids: Collection[str] | None = None) -> dict[str, ExpectedOutput]:
    """The expected outputs by the ids of their cases; ``chosen`` is the comparison that the settings name.

    Args:
        ids: of cases that alone are wanted; None = all.
    """
    cases = suite.cases if ids is None else [suite.by_id[one] for one in ids if one in suite.by_id]
    return {
        case.id: ExpectedOutput(case.expected, suite.match_of(case, chosen), case.also_right)
        for case in cases
        if case.expected is not None
    }


def unusable_expected(suite: Suite, chosen: str | None = None) -> dict[str, str]:
    """By the ids of their cases, why expected outputs cannot be compared with as the case file, or the comparison
    ``chosen`` by the settings, says; in a sentence."""
    problems: dict[str, str] = {}
    for case, expected in expected_outputs(suite, chosen).items():
        try:
            compare("", expected)
        except Unscorable as error:
            if error.code == "bad-expected":
                problems[case] = error.message
    return problems


def asked_about(suite: Suite, chosen: str | None) -> list[str]:
    """The usable cases, by id, whose outputs judges compare with the expected ones, where code finds no match."""
    expected = expected_outputs(suite, chosen)
    return [case.id for case in suite.usable() if case.id in expected and expected[case.id].match == ASKED]


def match_judges(session: Session, prompt: Prompt, spec: Spec, suite: Suite) -> tuple[MatchJudge, ...]:
    """The judges that compare outputs with expected ones; none where code makes all comparisons."""
    if not asked_about(suite, session.settings.match):
        return ()
    note = instructions_of(session.settings, prompt).get(STAGE, "")
    return tuple(MatchJudge(role_model, spec.intent, note) for role_model in session.roles.judges())


async def scores_of(session: Session, run: Run, judges: Sequence[MatchJudge]) -> list[Score]:
    """The scores of all outputs of cases that have an expected output, in the order of the outputs.

    Where judges stop being asked before the end, what code alone found right counts only if the question before it was
    asked: right outputs would be left among few of the others.
    """
    expected = expected_outputs(run.suite, session.settings.match)
    outputs = [output for output in run.outputs if output.case in expected]
    by_code = [_by_code(output, expected[output.case]) for output in outputs]
    models, keys = [judge.role_model.model for judge in judges], [output.key for output in outputs]
    order = judging_order(keys, run.suite.usable(), models, seed=session.settings.seed)
    questions = [asked for asked in order if by_code[asked[1]] is None]
    replies = await _asked(session, outputs, run.suite, expected, judges, questions)
    for asked, question in questions_before(order, lambda asked: asked in replies).items():
        score, why = by_code[asked[1]], not_asked([replies[question]]) if question is not None else ()
        if why and score is not None and score.value is not None:
            by_code[asked[1]] = score.replace(value=None, unscored=why[0].unscored, reason=why[0].reason)
    return [
        one
        for at, (output, score) in enumerate(zip(outputs, by_code, strict=True))
        for one in (
            [score]
            if score is not None
            else _joint(output, [replies[judge, at, 0] for judge in range(len(judges))], session.settings.quorum)
        )
    ]


def settled_by_code(output: Output, expected: ExpectedOutput) -> bool:
    """Whether no judge is needed: the comparison is code's, there is no answer, or the texts are the same but for what
    seldom matters."""
    return expected.match != ASKED or output.error is not None or _same(output, expected)


def _same(output: Output, expected: ExpectedOutput) -> bool:
    return normalised(output.text or "") in map(normalised, expected.all)


def _by_code(output: Output, expected: ExpectedOutput) -> Score | None:
    """The score by code; None where a judge has to be asked."""
    if output.error is not None:
        return Score.of(output.key, EXPECTED, "none", reason=output.message or "", unscored=output.error)
    if not settled_by_code(output, expected):
        return None
    used = replace(expected, match=DEFAULT_MATCH) if expected.match == ASKED else expected
    fingerprint = digest([MATCH_VERSION, used.match], 16)
    score = partial(Score.of, output.key, EXPECTED, f"match:{used.match}", fingerprint=fingerprint)
    try:
        result = compare(output.text or "", used)
    except Unscorable as error:
        return score(reason=error.message, unscored=error.code)
    return score(value=float(result.right), reason=result.reason)


async def _asked(
    session: Session,
    outputs: Sequence[Output],
    suite: Suite,
    expected: Mapping[str, ExpectedOutput],
    judges: Sequence[MatchJudge],
    questions: Sequence[AskedJudge],
) -> dict[AskedJudge, Verdict]:
    """What the judges say to each question."""
    inputs = {case.id: case.inputs for case in suite.cases}

    async def one(asked: AskedJudge) -> Verdict:
        judge, output = judges[asked[0]], outputs[asked[1]]
        verdict = await judge.compare(output, inputs[output.case], expected[output.case].all)
        session.emit(StepDone(STAGE, judge.role_model.label, verdict.unscored))
        return verdict

    with stage_events(session.emit, STAGE, Counter(judges[asked[0]].role_model.label for asked in questions)):
        return dict(zip(questions, await run_all(one, questions), strict=True))


def _joint(output: Output, verdicts: Sequence[Verdict], quorum: Quorum) -> list[Score]:
    """The scores of an output that judges were to compare: each judge's, and the joint one of several."""
    if not verdicts:
        reason = stored("a judge compares this output with the expected one, but the run has none")
        return [Score.of(output.key, EXPECTED, "none", reason=reason, unscored="no-judge")]
    if len(verdicts) == 1:
        return [_of_verdict(verdicts[0])]
    return [*(_of_verdict(verdict, counts=False) for verdict in verdicts), _of_verdict(agreed(verdicts, quorum))]


def _of_verdict(verdict: Verdict, *, counts: bool = True) -> Score:
    value = None if verdict.status == "unscored" else float(verdict.status == "pass")
    return Score.of(
        verdict.key,
        EXPECTED,
        verdict.source,
        value=value,
        reason=verdict.reason,
        unscored=None if value is not None else verdict.unscored or "judges-tied",
        fingerprint=verdict.fingerprint,
        counts=counts,
    )
