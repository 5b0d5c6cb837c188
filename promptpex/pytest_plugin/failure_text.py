"""What a failing test of a prompt says: which rule, why, for which input, and the output, bounded and harmless."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from textwrap import indent

from promptpex.codecs.text.control_characters import visible
from promptpex.core.outcomes import OutputOutcome
from promptpex.core.records import Case, Output, Verdict
from promptpex.core.translation import from_data, reading_in, tr, tr_n
from promptpex.report.translated_values import reason_of
from promptpex.workflow.execution.case_model_pairs import Pair, Planned

MOST_VERDICTS = 20
LONGEST = 2_000
"""Characters of an output or a reason; of an input a quarter."""


FailureText = Callable[[Planned, Pair, OutputOutcome, Sequence[Output]], str]
"""What is shown of a pair of case and model, by what its outputs come to."""


def broken_text(planned: Planned, pair: Pair, outcome: OutputOutcome, outputs: Sequence[Output]) -> str:
    """What is shown of a case that breaks rules."""
    rules = list(dict.fromkeys(verdict.rule for verdict in outcome.deciding))
    with reading_in(language_of(planned)):
        first = tr_n(
            "{model} breaks a rule on the case {case}",
            "{model} breaks {count} rules on the case {case}",
            len(rules),
            model=pair[1],
            case=pair[0],
        )
        return _text([first, *_verdicts(planned, outcome)], planned, pair, outputs)


def unscored_text(planned: Planned, pair: Pair, outcome: OutputOutcome, outputs: Sequence[Output]) -> str:
    """What is shown of a case without a verdict."""
    with reading_in(language_of(planned)):
        code = from_data(outcome.code)
        first = tr("{model} has no verdict on the case {case}: {reason}", model=pair[1], case=pair[0], reason=code)
        messages = [f"  {short(from_data(output.message))}" for output in outputs if output.error and output.message]
        return _text([first, *(messages or _verdicts(planned, outcome))], planned, pair, outputs)


def language_of(planned: Planned) -> str:
    """The language that a prompt's tests are reported in: that of its settings."""
    return planned.resolved.settings.report_language


def short(text: str, most: int = LONGEST) -> str:
    """A text that is shown up to a length, and how much is left out."""
    left_out = len(text) - most
    if left_out <= 0:
        return text
    more = tr_n("{count} more character", "{count} more characters", left_out)
    return f"{text[:most]}... ({more})"


def _text(lines: Sequence[str], planned: Planned, pair: Pair, outputs: Sequence[Output]) -> str:
    case = next(case for case in planned.suite.cases if case.id == pair[0])
    return visible("\n".join([*lines, *_inputs(case), *_outputs(outputs)]))


def _verdicts(planned: Planned, outcome: OutputOutcome) -> Iterator[str]:
    """The deciding verdicts, each with the words of its rule the first time."""
    rules_shown: set[str] = set()
    for verdict in outcome.deciding[:MOST_VERDICTS]:
        if verdict.rule not in rules_shown:
            rules_shown.add(verdict.rule)
            yield f"  {verdict.rule}: {_words(planned, verdict)}"
        yield f"    {short(_reason(verdict))} ({verdict.source})"
    if len(outcome.deciding) > MOST_VERDICTS:
        yield "  " + tr("and {count} more", count=len(outcome.deciding) - MOST_VERDICTS)


def _reason(verdict: Verdict) -> str:
    if verdict.reason:
        return reason_of(verdict.reason, verdict.source, unscored=verdict.unscored is not None)
    return from_data(verdict.unscored or verdict.status)


def _words(planned: Planned, verdict: Verdict) -> str:
    rule = planned.spec.rule(verdict.rule)
    return short(rule.rule) if rule is not None else tr("a rule of the judge mode")


def _inputs(case: Case) -> Iterator[str]:
    yield tr("Inputs:")
    for name, value in case.inputs.items():
        yield f"  {name}: {short(str(value), LONGEST // 4)}"


def _outputs(outputs: Sequence[Output]) -> Iterator[str]:
    for output in outputs:
        if output.text is not None:
            yield tr("Output:") if len(outputs) == 1 else tr("Output {number}:", number=output.repeat + 1)
            yield indent(short(output.text), "  ")
