"""A gate's result for CI: Markdown, GitHub's annotations, JUnit XML. All that is foreign in it is harmless there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath

from promptpex.codecs.ci_reports import JUnitCase, code, junit_document, plain_line, workflow_command
from promptpex.codecs.ci_reports import Outcome as JUnitOutcome
from promptpex.codecs.text.wording import cut
from promptpex.core.translation import from_data, tr, tr_n
from promptpex.report.gate_result import BrokenRule, GateResult, Outcome, gravest

LONGEST = 300
"""Characters of a rule or a reason that are shown."""


SIGNS: Mapping[Outcome, str] = {"fail": "❌", "cannot tell": "❔", "pass": "✅"}


def verdict(result: GateResult) -> str:
    """What the gate decided, as a sentence without its full stop."""
    outcomes = [model.outcome for model in result.models]
    return _verdict(outcomes, tr_n("{count} model", "{count} models", len(outcomes)))


def verdict_of_all(results: Sequence[GateResult]) -> str:
    """The same of all prompts; with those that did not pass."""
    outcomes = [result.outcome for result in results]
    named = [result.prompt for result in results if result.outcome == gravest(outcomes) != "pass"]
    words = _verdict(outcomes, tr_n("{count} prompt", "{count} prompts", len(outcomes)))
    return f"{words} ({', '.join(named)})" if named else words


def _verdict(outcomes: Sequence[Outcome], what: str) -> str:
    worst = gravest(outcomes)
    if worst == "pass":
        return tr("gate passed: {what}", what=what)
    if worst == "fail":
        return tr("gate failed: {count} of {what}", count=outcomes.count(worst), what=what)
    return tr("gate cannot tell: {count} of {what}", count=outcomes.count(worst), what=what)


def markdown_of_all(results: Sequence[GateResult], problems: Mapping[str, str]) -> str:
    """The results of several prompts as GitHub's Markdown: the verdict on all, what could not be decided, and each."""
    sign = SIGNS["fail" if problems else gravest(result.outcome for result in results)]
    missing = [f"- ❌ {code(prompt)}: {code(problem)}" for prompt, problem in problems.items()]
    parts = [f"## {sign} {verdict_of_all(results).partition(' (')[0]}", "", *missing, *([""] if missing else [])]
    return "\n".join([*parts, *(markdown(result) for result in results)])


def markdown(result: GateResult) -> str:
    """The result as GitHub's Markdown, for a comment or a step's summary."""
    head = f"### {SIGNS[result.outcome]} {code(result.prompt)}: {verdict(result)}"
    lines = [head, "", f"| | {tr('model')} | |", "|---|---|---|"]
    lines += (f"| {SIGNS[model.outcome]} | {code(model.label)} | {code(model.words)} |" for model in result.models)
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
        what, words = f"{prompt}{model.label}", f"{prompt}{model.label}: {model.words}"
        if model.outcome == "pass":
            yield plain_line(f"{from_data('pass')}  {words}")
        elif model.outcome == "fail":
            yield workflow_command("error", words, {"file": file, "title": tr("gate failed: {what}", what=what)})
        else:
            yield workflow_command("notice", words, {"file": file, "title": tr("gate cannot tell: {what}", what=what)})
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
    return "".join(junit_document(suites, name=name))


def _junit_problem(prompt: str, problem: str) -> JUnitCase:
    return JUnitCase(f"{prompt}.gate", "run", "error", kind=tr("no decision"), message=problem, details=problem)


_JUNIT: Mapping[Outcome, JUnitOutcome] = {"fail": "failure", "cannot tell": "skipped", "pass": "pass"}


def _junit_cases(result: GateResult) -> list[JUnitCase]:
    rules = [_failure(rule) for rule in result.rules]
    return [
        JUnitCase(
            classname=f"{result.prompt}.gate",
            name=model.label,
            outcome=_JUNIT[model.outcome],
            kind=tr("cannot tell") if model.outcome == "cannot tell" else tr("limit exceeded"),
            message=model.words,
            details="\n".join([*(model.exceeded or model.untold), "", *(rules if model.exceeded else ())]),
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
