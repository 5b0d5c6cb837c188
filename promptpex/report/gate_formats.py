"""A gate's result for CI: Markdown, GitHub's annotations, JUnit XML. All that is foreign in it is harmless there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePath

from promptpex.codecs.github import code, plain_line, workflow_command
from promptpex.codecs.junit import JUnitCase, document
from promptpex.codecs.wording import cut, plural
from promptpex.report.gate_result import BrokenRule, GateResult

LONGEST = 300
"""Characters of a rule or a reason that are shown."""


def verdict(result: GateResult) -> str:
    """Whether the gate passed, as a sentence without its full stop."""
    models = plural(len(result.models), "model")
    if not result.failing:
        return f"gate passed: {models}"
    return f"gate failed: {len(result.failing)} of {models}"


def markdown(result: GateResult) -> str:
    """The result as GitHub's Markdown, for a comment or a step's summary."""
    sign = "❌" if result.failing else "✅"
    lines = [f"### {sign} {code(result.prompt)}: {verdict(result)}", "", "| | model | |", "|---|---|---|"]
    for model in result.models:
        words = "; ".join(model.exceeded) or model.figures
        lines.append(f"| {'❌' if model.exceeded else '✅'} | {code(model.label)} | {code(words)} |")
    if result.rules:
        lines += ["", "| failures | rule | | such as | |", "|--:|---|---|---|---|"]
        lines += map(_row, result.rules)
    lines += (part for note in result.notes for part in ("", code(note)))
    return "\n".join([*lines, "", f"Run {code(result.run)}", ""])


def _row(rule: BrokenRule) -> str:
    example = f"{code(rule.case)} {code(rule.model)}"
    words, reason = code(cut(rule.text, LONGEST)), code(cut(rule.reason, LONGEST))
    return f"| {rule.broken} of {rule.outputs} | {code(rule.rule)} | {words} | {example} | {reason} |"


def annotation_lines(result: GateResult, root: Path) -> Iterator[str]:
    """Lines for the log of a GitHub step: a line for each model, then an error at the line of the prompt that each
    broken rule rests on.

    Args:
        root: the folder of the checkout, from which GitHub names files.
    """
    file = _from_root(result.file, root)
    for model in result.models:
        if not model.exceeded:
            yield plain_line(f"pass  {model.label}: {model.figures}")
            continue
        place = {"file": file, "title": f"gate failed: {model.label}"}
        yield workflow_command("error", f"{model.label}: {'; '.join(model.exceeded)}", place)
    for rule in result.rules:
        at_line: dict[str, str | int | None] = {
            "file": file,
            "line": rule.line,
            "title": f"rule {rule.rule} of {result.prompt}",
        }
        yield workflow_command("error", _failure(rule), at_line)
    for note in result.notes:
        yield workflow_command("warning", note, {"file": file})


def junit(result: GateResult) -> str:
    """The result as JUnit XML: a suite for the prompt, a case for each model."""
    rules = [_failure(rule) for rule in result.rules]
    cases = [
        JUnitCase(
            classname=f"{result.prompt}.gate",
            name=model.label,
            outcome="failure" if model.exceeded else "pass",
            kind="limit exceeded",
            message="; ".join(model.exceeded),
            details="\n".join([*model.exceeded, "", *rules]),
        )
        for model in result.models
    ]
    return "".join(document([(f"{result.prompt} gate", cases)], name=result.prompt))


def _failure(rule: BrokenRule) -> str:
    """A rule's failures in two lines."""
    share = f"{rule.broken} of {plural(rule.outputs, 'output')} {'break' if rule.broken != 1 else 'breaks'} {rule.rule}"
    reason = f": {cut(rule.reason, LONGEST)}" if rule.reason else ""
    return f"{share}: {cut(rule.text, LONGEST)}\nSuch as {rule.case} on {rule.model}{reason}"


def _from_root(file: Path | None, root: Path) -> str | None:
    if file is None:
        return None
    whole = file.resolve()
    return PurePath(whole.relative_to(root.resolve()) if whole.is_relative_to(root.resolve()) else file).as_posix()
