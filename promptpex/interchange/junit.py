"""``junit``: a run as JUnit XML, for the test reports of CI systems: a suite per model, a case per output.

An output that breaks a rule is a failure; one that could not be scored is an error, so that no report takes it for a
pass. A rule that does not concern an output says nothing about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from promptpex.codecs.ci_reports import JUnitCase, junit_document
from promptpex.codecs.ci_reports import Outcome as JUnitOutcome
from promptpex.core.outcomes import OutputStatus, outcome_of
from promptpex.core.records import Output, Run, Verdict
from promptpex.interchange.format import Exported, Format, Source

_OUTPUT_SHOWN = 2_000
"""Characters of an output that are shown below a failure; CI systems cut long ones."""
_CALLED: Mapping[OutputStatus, JUnitOutcome] = {"pass": "pass", "fail": "failure", "unscored": "error"}


def text(run: Run) -> str:
    verdicts: dict[tuple[str, str, int], list[Verdict]] = {}
    for verdict in run.verdicts:
        verdicts.setdefault(verdict.key, []).append(verdict)
    suites = ((model, _cases(run, model, verdicts)) for model in run.manifest.models)
    return "".join(junit_document(suites, name=run.prompt.name))


def _cases(run: Run, model: str, verdicts: dict[tuple[str, str, int], list[Verdict]]) -> Iterator[JUnitCase]:
    for output in run.outputs:
        if output.model == model:
            yield _case(run.prompt.name, output, verdicts.get(output.key, []))


def _case(prompt: str, output: Output, verdicts: Sequence[Verdict]) -> JUnitCase:
    outcome = outcome_of(verdicts, output.error)
    rules = ", ".join(dict.fromkeys(verdict.rule for verdict in outcome.deciding))
    reasons = [f"{verdict.rule}: {verdict.reason} ({verdict.source})" for verdict in outcome.deciding]
    kind = "broken rule" if outcome.status == "fail" else outcome.code
    return JUnitCase(
        classname=f"{prompt}.{output.model}",
        name=output.case if output.repeat == 0 else f"{output.case} (repeat {output.repeat})",
        outcome=_CALLED[outcome.status],
        kind=kind,
        message=rules or kind,
        details="\n".join([*reasons, "", "Output:", (output.text or "")[:_OUTPUT_SHOWN]]),
        seconds=None if output.latency_ms is None else output.latency_ms / 1000,
    )


def write(source: Source) -> Exported:
    return Exported(text(source.run()))


FORMAT = Format(
    name="junit",
    summary="a run's verdicts as JUnit XML, for CI",
    extensions=(".xml",),
    writes="run",
    write=write,
    lost="cost and tokens",
)
