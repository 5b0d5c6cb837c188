"""``junit``: a run as JUnit XML, for the test reports of CI systems: a suite per model, a case per output.

An output that breaks a rule is a failure; one that could not be scored is an error, so that no report takes it for a
pass. A rule that does not concern an output says nothing about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from promptpex.codecs.junit import JUnitCase, Outcome, document
from promptpex.core.records import Output, Run, Verdict
from promptpex.interchange.format import Exported, Format, Source

_OUTPUT_SHOWN = 2_000
"""Characters of an output that are shown below a failure; CI systems cut long ones."""


def text(run: Run) -> str:
    """The whole document."""
    verdicts: dict[tuple[str, str, int], list[Verdict]] = {}
    for verdict in run.verdicts:
        if verdict.counts:
            verdicts.setdefault(verdict.key, []).append(verdict)
    suites = ((model, _cases(run, model, verdicts)) for model in run.manifest.models)
    return "".join(document(suites, name=run.prompt.name))


def _cases(run: Run, model: str, verdicts: dict[tuple[str, str, int], list[Verdict]]) -> Iterator[JUnitCase]:
    for output in run.outputs:
        if output.model == model:
            yield _case(run.prompt.name, output, verdicts.get(output.key, []))


def _case(prompt: str, output: Output, verdicts: Sequence[Verdict]) -> JUnitCase:
    outcome, kind, deciding = _outcome(verdicts)
    rules = ", ".join(dict.fromkeys(verdict.rule for verdict in deciding))
    reasons = [f"{verdict.rule}: {verdict.reason} ({verdict.source})" for verdict in deciding]
    return JUnitCase(
        classname=f"{prompt}.{output.model}",
        name=output.case if output.repeat == 0 else f"{output.case} (repeat {output.repeat})",
        outcome=outcome,
        kind=kind,
        message=rules or kind,
        details="\n".join([*reasons, "", "Output:", (output.text or "")[:_OUTPUT_SHOWN]]),
        seconds=None if output.latency_ms is None else output.latency_ms / 1000,
    )


def _outcome(verdicts: Sequence[Verdict]) -> tuple[Outcome, str, list[Verdict]]:
    """What the verdicts on an output come to, what that is called, and those that decide it."""
    broken = [verdict for verdict in verdicts if verdict.status == "fail"]
    if broken:
        return "failure", "broken rule", broken
    unscored = [verdict for verdict in verdicts if verdict.status == "unscored"]
    if unscored or not verdicts:
        return "error", (unscored[0].unscored if unscored else None) or "no-judge", unscored
    return "pass", "", []


def write(source: Source) -> Exported:
    """The run's report."""
    return Exported(text(source.run()))


FORMAT = Format(
    name="junit", summary="a run's verdicts as JUnit XML, for CI", extensions=(".xml",), writes="run", write=write
)
