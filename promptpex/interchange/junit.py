"""``junit``: a run as JUnit XML, for the test reports of CI systems: a suite per model, a case per output.

An output that breaks a rule is a failure; one that could not be scored is an error, so that no report takes it for a
pass.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from promptpex.codecs.controls import visible
from promptpex.core.records import Output, Run, Verdict
from promptpex.interchange.format import Exported, Format, Source

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_OUTPUT_SHOWN = 2_000


def text(run: Run) -> str:
    """The whole document."""
    verdicts: dict[tuple[str, str, int], list[Verdict]] = {}
    for verdict in run.verdicts:
        if verdict.counts:
            verdicts.setdefault(verdict.key, []).append(verdict)
    suites, totals = [], [0, 0, 0]
    for model in run.manifest.models:
        outputs = [output for output in run.outputs if output.model == model]
        body, counts = _suite(run, model, outputs, verdicts)
        suites.append(body)
        totals = [total + count for total, count in zip(totals, counts, strict=True)]
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    return f"{head}<testsuites name={_attribute(run.prompt.name)} {_counts(totals)}>\n{''.join(suites)}</testsuites>\n"


def _suite(
    run: Run, model: str, outputs: Sequence[Output], verdicts: dict[tuple[str, str, int], list[Verdict]]
) -> tuple[str, list[int]]:
    lines, counts = [], [len(outputs), 0, 0]
    for output in outputs:
        line, place = _case(run, output, verdicts.get(output.key, []))
        lines.append(line)
        if place:
            counts[place] += 1
    return f"<testsuite name={_attribute(model)} {_counts(counts)}>\n{''.join(lines)}</testsuite>\n", counts


def _case(run: Run, output: Output, verdicts: Sequence[Verdict]) -> tuple[str, int]:
    """The element, and whether it counts as a failure (1), an error (2) or neither (0)."""
    name = output.case if output.repeat == 0 else f"{output.case} (repeat {output.repeat})"
    seconds = "" if output.latency_ms is None else f' time="{output.latency_ms / 1000:.3f}"'
    where = f"{run.prompt.name}.{output.model}"
    start = f"<testcase classname={_attribute(where)} name={_attribute(name)}{seconds}"
    broken = [verdict for verdict in verdicts if verdict.status == "fail"]
    open_ = [verdict for verdict in verdicts if verdict.status == "unscored"]
    if broken:
        return _element(start, "failure", "broken rule", broken, output), 1
    if open_ or not verdicts:
        kind = (open_[0].unscored if open_ else None) or "no-judge"
        return _element(start, "error", kind, open_, output), 2
    return f"{start}/>\n", 0


def _element(start: str, tag: str, kind: str, verdicts: Sequence[Verdict], output: Output) -> str:
    rules = ", ".join(dict.fromkeys(verdict.rule for verdict in verdicts)) or kind
    said = [f"{verdict.rule}: {verdict.reason} ({verdict.source})" for verdict in verdicts]
    shown = (output.text or "")[:_OUTPUT_SHOWN]
    body = escape(_xml("\n".join([*said, "", "Output:", shown])))
    return f"{start}><{tag} type={_attribute(kind)} message={_attribute(rules)}>{body}</{tag}></testcase>\n"


def _counts(counts: Sequence[int]) -> str:
    return f'tests="{counts[0]}" failures="{counts[1]}" errors="{counts[2]}"'


def _attribute(value: str) -> str:
    return quoteattr(_xml(value), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def _xml(value: str) -> str:
    return visible(_NOT_XML.sub("\ufffd", value))


def write(source: Source) -> Exported:
    """The run's report."""
    return Exported(text(source.run()))


FORMAT = Format(
    name="junit", summary="a run's verdicts as JUnit XML, for CI", extensions=(".xml",), writes="run", write=write
)
