"""A gate's result for CI: Markdown, GitHub's annotations, JUnit XML. All that is foreign in it is harmless there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath

from promptpex.codecs.github import code, plain_line, workflow_command
from promptpex.codecs.junit import JUnitCase, document
from promptpex.codecs.text.wording import cut
from promptpex.core.translation import from_data, tr, tr_n
from promptpex.report.gate_result import BrokenRule, GateResult

LONGEST = 300
"""Characters of a rule or a reason that are shown."""


def verdict(result: GateResult) -> str:
    """Whether the gate passed, as a sentence without its full stop."""
    models = tr_n("{count} model", "{count} models", len(result.models))
    if not result.failing:
        return tr("gate passed: {what}", what=models)
    return tr("gate failed: {count} of {what}", count=len(result.failing), what=models)


def verdict_of_all(results: Sequence[GateResult]) -> str:
    """Whether all prompts passed, as a sentence without its full stop; with those that did not."""
    failing = [result.prompt for result in results if result.failing]
    prompts = tr_n("{count} prompt", "{count} prompts", len(results))
    if not failing:
        return tr("gate passed: {what}", what=prompts)
    return f"{tr('gate failed: {count} of {what}', count=len(failing), what=prompts)} ({', '.join(failing)})"


def markdown_of_all(results: Sequence[GateResult], problems: Mapping[str, str]) -> str:
    """The results of several prompts as GitHub's Markdown: the verdict on all, what could not be decided, and each."""
    sign = "❌" if problems or any(result.failing for result in results) else "✅"
    missing = [f"- ❌ {code(prompt)}: {code(problem)}" for prompt, problem in problems.items()]
    parts = [f"## {sign} {verdict_of_all(results).partition(' (')[0]}", "", *missing, *([""] if missing else [])]
    return "\n".join([*parts, *(markdown(result) for result in results)])


def markdown(result: GateResult) -> str:
    """The result as GitHub's Markdown, for a comment or a step's summary."""
    sign = "❌" if result.failing else "✅"
    lines = [f"### {sign} {code(result.prompt)}: {verdict(result)}", "", f"| | {tr('model')} | |", "|---|---|---|"]
    for model in result.models:
        words = "; ".join(model.exceeded) or model.figures
        lines.append(f"| {'❌' if model.exceeded else '✅'} | {code(model.label)} | {code(words)} |")
    if result.rules:
        head = f"| {tr('failures')} | {tr('rule')} | | {tr('such as')} | |"
        lines += ["", head, "|--:|---|---|---|---|"]
        lines += map(_row, result.rules)
    lines += (part for note in result.notes for part in ("", code(note)))
    return "\n".join([*lines, "", tr("Run {run}", run=code(result.run)), ""])


def _row(rule: BrokenRule) -> str:
    example = f"{code(rule.case)} {code(rule.model)}"
    words, reason = code(cut(rule.text, LONGEST)), code(cut(rule.reason, LONGEST))
    count = tr("{some} of {all}", some=rule.broken, all=rule.outputs)
    return f"| {count} | {code(rule.rule)} | {words} | {example} | {reason} |"


def problem_lines(problems: Mapping[str, str], root: Path) -> Iterator[str]:
    """Lines for the log of a GitHub step: an error for each prompt about which nothing could be decided."""
    for prompt, problem in problems.items():
        place: dict[str, str | int | None] = {"file": _from_root(Path(prompt), root), "title": tr("gate: no decision")}
        yield workflow_command("error", problem, place)


def annotation_lines(result: GateResult, root: Path, *, several: bool = False) -> Iterator[str]:
    """Lines for the log of a GitHub step: a line for each model, then an error at the line of the prompt that each
    broken rule rests on.

    Args:
        root: the folder of the checkout, from which GitHub names files.
        several: whether it stands among the results of other prompts, so that its own has to be named.
    """
    prompt = f"{result.prompt}: " if several else ""
    file = _from_root(result.file, root)
    for model in result.models:
        if not model.exceeded:
            yield plain_line(f"{from_data('pass')}  {prompt}{model.label}: {model.figures}")
            continue
        place = {"file": file, "title": tr("gate failed: {what}", what=f"{prompt}{model.label}")}
        yield workflow_command("error", f"{prompt}{model.label}: {'; '.join(model.exceeded)}", place)
    for rule in result.rules:
        at_line: dict[str, str | int | None] = {
            "file": file,
            "line": rule.line,
            "title": tr("rule {rule} of {prompt}", rule=rule.rule, prompt=result.prompt),
        }
        yield workflow_command("error", _failure(rule), at_line)
    for note in result.notes:
        yield workflow_command("warning", note, {"file": file})


def junit(results: Sequence[GateResult], problems: Mapping[str, str]) -> str:
    """The results as JUnit XML: a suite for each prompt, in it a case for each model; an error for each problem."""
    name = results[0].prompt if len(results) == 1 and not problems else "promptpex gate"
    suites = [(f"{result.prompt} gate", _junit_cases(result)) for result in results]
    suites += [(f"{prompt} gate", [_junit_problem(prompt, problem)]) for prompt, problem in problems.items()]
    return "".join(document(suites, name=name))


def _junit_problem(prompt: str, problem: str) -> JUnitCase:
    return JUnitCase(f"{prompt}.gate", "run", "error", kind=tr("no decision"), message=problem, details=problem)


def _junit_cases(result: GateResult) -> list[JUnitCase]:
    rules = [_failure(rule) for rule in result.rules]
    return [
        JUnitCase(
            classname=f"{result.prompt}.gate",
            name=model.label,
            outcome="failure" if model.exceeded else "pass",
            kind=tr("limit exceeded"),
            message="; ".join(model.exceeded),
            details="\n".join([*model.exceeded, "", *rules]),
        )
        for model in result.models
    ]


def _failure(rule: BrokenRule) -> str:
    """A rule's failures in two lines."""
    share = tr_n(
        "{count} of {outputs} breaks {rule}: {text}",
        "{count} of {outputs} break {rule}: {text}",
        rule.broken,
        outputs=tr_n("{count} output", "{count} outputs", rule.outputs),
        rule=rule.rule,
        text=cut(rule.text, LONGEST),
    )
    reason = f": {cut(rule.reason, LONGEST)}" if rule.reason else ""
    return f"{share}\n{tr('Such as {case} on {model}', case=rule.case, model=rule.model)}{reason}"


def _from_root(file: Path | None, root: Path) -> str | None:
    if file is None:
        return None
    whole = file.resolve()
    return PurePath(whole.relative_to(root.resolve()) if whole.is_relative_to(root.resolve()) else file).as_posix()
