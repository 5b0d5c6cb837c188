"""What a failing test of a prompt says: which rule, why, for which input, and the output, bounded and harmless."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from textwrap import indent

from promptpex.codecs.controls import visible
from promptpex.core.outcomes import OutputOutcome
from promptpex.core.records import Case, Output, Verdict
from promptpex.workflow.chosen_pairs import Pair, Planned

MOST_VERDICTS = 20
LONGEST = 2_000
"""Characters of an output or a reason; of an input a quarter."""


FailureText = Callable[[Planned, Pair, OutputOutcome, Sequence[Output]], str]
"""What is shown of a pair of case and model, by what its outputs come to."""


def broken_text(planned: Planned, pair: Pair, outcome: OutputOutcome, outputs: Sequence[Output]) -> str:
    """What is shown of a case that breaks rules."""
    rules = list(dict.fromkeys(verdict.rule for verdict in outcome.deciding))
    number = "a rule" if len(rules) == 1 else f"{len(rules)} rules"
    return _text(
        [f"{pair[1]} breaks {number} on the case {pair[0]}", *_verdicts(planned, outcome)], planned, pair, outputs
    )


def unscored_text(planned: Planned, pair: Pair, outcome: OutputOutcome, outputs: Sequence[Output]) -> str:
    """What is shown of a case without a verdict."""
    first = f"{pair[1]} has no verdict on the case {pair[0]}: {outcome.code}"
    messages = [f"  {short(output.message)}" for output in outputs if output.error and output.message]
    return _text([first, *(messages or _verdicts(planned, outcome))], planned, pair, outputs)


def short(text: str, most: int = LONGEST) -> str:
    """A text that is shown up to a length, and how much is left out."""
    left_out = len(text) - most
    return text if left_out <= 0 else f"{text[:most]}... ({left_out} more characters)"


def _text(lines: Iterable[str], planned: Planned, pair: Pair, outputs: Sequence[Output]) -> str:
    case = next(case for case in planned.suite.cases if case.id == pair[0])
    return visible("\n".join([*lines, *_inputs(case), *_outputs(outputs)]))


def _verdicts(planned: Planned, outcome: OutputOutcome) -> Iterator[str]:
    """The deciding verdicts, each with the words of its rule the first time."""
    shown: set[str] = set()
    for verdict in outcome.deciding[:MOST_VERDICTS]:
        if verdict.rule not in shown:
            shown.add(verdict.rule)
            yield f"  {verdict.rule}: {_words(planned, verdict)}"
        reason = verdict.reason or verdict.unscored or verdict.status
        yield f"    {short(reason)} ({verdict.source})"
    if len(outcome.deciding) > MOST_VERDICTS:
        yield f"  and {len(outcome.deciding) - MOST_VERDICTS} more"


def _words(planned: Planned, verdict: Verdict) -> str:
    rule = planned.spec.rule(verdict.rule)
    return short(rule.rule) if rule is not None else "a rule of the judge mode"


def _inputs(case: Case) -> Iterator[str]:
    yield "Inputs:"
    for name, value in case.inputs.items():
        yield f"  {name}: {short(str(value), LONGEST // 4)}"


def _outputs(outputs: Sequence[Output]) -> Iterator[str]:
    for output in outputs:
        if output.text is not None:
            yield "Output:" if len(outputs) == 1 else f"Output {output.repeat + 1}:"
            yield indent(short(output.text), "  ")
