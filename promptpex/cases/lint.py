"""Lint: what code can see to be wrong with a case, without asking a model.

An ``error`` makes a case unusable; a ``warning`` asks people to look. A case that is wrongly thrown away costs more
than one that is wrongly kept, since it also costs the request that replaces it: what is not sure is a warning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from promptpex.cases import degenerate_text, leakage, text_around_inputs
from promptpex.cases.comparable_words import folded
from promptpex.cases.input_type_problems import type_problems
from promptpex.cases.writing_systems import of_language, scripts_of, share_in, speaks_of_languages, wants_marks
from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.core.records import WHOLE_INPUT, Case, Prompt, Rule, Spec, Suite

Code = Literal[
    "empty", "missing-variable", "unknown-variable", "echoes-rule", "states-rule", "leaks-answer", "preamble",
    "csv-artifact", "json-artifact", "code-fence", "placeholder", "gibberish", "wrong-script", "wrong-language",
    "wrong-type",
]  # fmt: skip

FEW_LETTERS = 20
"""Letters below which a text says nothing about its script."""


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One thing that is wrong with a case.

    Attributes:
        code: which kind of thing.
        message: in words, with the variable.
        severity: ``error``: not usable; ``warning``: worth a look.
    """

    code: Code
    message: str
    severity: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


def lint(case: Case, *, prompt: Prompt, spec: Spec, suite_language: str | None = None) -> list[LintFinding]:
    """What is wrong with a case, by code alone; empty when nothing is.

    Args:
        case: the case.
        prompt: whose variables it has to fill.
        spec: whose rules it must not state, and whose types its values must have.
        suite_language: BCP 47 tag of the language that inputs have to be in, where one is set. Without it, a
            script that is not the prompt's is only a warning, and none where the case's rule or the input spec speaks
            of languages.
    """
    findings = [*_variables(case, prompt)]
    if any(finding.code == "empty" for finding in findings):
        return findings
    rules = [rule for rule in spec.rules if not rule.stale]
    for name, value in case.inputs.items():
        findings += _typed(name, value, spec)
        if _is_free_text(name, value, spec):
            findings += _text(name, value, case, rules, prompt)
            if suite_language is not None or not _other_languages_meant(name, case, spec):
                findings += _language(name, value, prompt, suite_language)
    findings += _reasoning(case, prompt)
    return findings


def lint_all(
    suite: Suite, *, prompt: Prompt, spec: Spec, suite_language: str | None = None
) -> dict[str, list[LintFinding]]:
    """The findings of each case that has some, by its id."""
    each = ((case.id, lint(case, prompt=prompt, spec=spec, suite_language=suite_language)) for case in suite.cases)
    return {name: findings for name, findings in each if findings}


def errors(findings: Sequence[LintFinding]) -> list[LintFinding]:
    """Those that make a case unusable."""
    return [finding for finding in findings if finding.severity == "error"]


def _variables(case: Case, prompt: Prompt) -> Iterator[LintFinding]:
    for name in prompt.variables:
        if name not in case.inputs:
            yield LintFinding("missing-variable", f"there is no value for {name}")
    for name in case.inputs:
        if name not in (*prompt.variables, *prompt.checks_only):
            yield LintFinding("unknown-variable", f"the prompt has no variable {name}", "warning")
    texts = [value_text(value).strip() for name, value in case.inputs.items() if name in prompt.variables]
    if texts and not any(texts):
        yield LintFinding("empty", "all values are empty")


def _typed(name: str, value: Any, spec: Spec) -> Iterator[LintFinding]:
    variable = spec.inputs.get(name)
    for problem in type_problems(name, value, variable) if variable is not None else ():
        yield LintFinding("wrong-type", problem)


def _is_free_text(name: str, value: Any, spec: Spec) -> bool:
    variable = spec.inputs.get(name)
    free = variable is None or (variable.type == "text" and variable.values is None)
    return free and isinstance(value, str) and bool(value.strip())


def _text(name: str, text: str, case: Case, rules: Sequence[Rule], prompt: Prompt) -> Iterator[LintFinding]:
    variables = prompt.variables
    echoed, stated = leakage.echoes_rule(text, rules), leakage.states_rule(text, rules)
    if echoed:
        yield LintFinding("echoes-rule", f"{name} repeats {echoed} instead of being input for it")
    elif stated:
        yield LintFinding("states-rule", f"{name} has a sentence of {stated}, which tells the model what is tested")
    elif _aimed_at(case, rules) and leakage.hints_at_rule(text, _aimed_at(case, rules), rules):
        yield LintFinding("states-rule", f"{name} seems to describe the output in the words of its target", "warning")
    leak = leakage.leaks_answer(text, case.expected, prompt.text()) if case.expected else None
    if leak:
        yield LintFinding("leaks-answer", f"{name} gives the answer away: {leak}")
    line = text_around_inputs.preamble(text)
    if line:
        yield LintFinding("preamble", f"{name} has a line of the author's own: {line!r}")
    cell = text_around_inputs.csv_artifact(text, variables)
    if cell:
        yield LintFinding("csv-artifact", f"{name} is not clean: {cell}")
    shell = text_around_inputs.json_artifact(text, variables)
    if shell:
        yield LintFinding("json-artifact", f"{name} is wrapped in JSON with {shell}")
    if text_around_inputs.fenced(text):
        yield LintFinding("code-fence", f"{name} is in a code fence", "warning")
    if text_around_inputs.is_placeholder(text, variables):
        yield LintFinding("placeholder", f"{name} is a placeholder, not filled in")
    degenerate = degenerate_text.is_degenerate(text)
    if degenerate:
        yield LintFinding("gibberish", f"{name} is gibberish: {degenerate}")


def _aimed_at(case: Case, rules: Sequence[Rule]) -> str:
    rule = next((rule for rule in rules if rule.id == case.rule), None)
    return ((rule.inverse or "") if case.inverse else rule.rule) if rule is not None else ""


def _other_languages_meant(name: str, case: Case, spec: Spec) -> bool:
    """Whether the rule that a case is for, or the input spec, speaks of languages: the case may be in another one."""
    rule = spec.rule(case.rule) if case.rule is not None else None
    sentences = [rule.rule, rule.inverse or ""] if rule is not None else []
    for variable in (spec.inputs.get(name), spec.inputs.get(WHOLE_INPUT)):
        sentences += variable.constraints if variable is not None else ()
    return any(map(speaks_of_languages, sentences))


def _language(name: str, text: str, prompt: Prompt, suite_language: str | None) -> Iterator[LintFinding]:
    counts = scripts_of(text)
    if counts.total() < FEW_LETTERS:
        return
    if suite_language is None:
        own = scripts_of(prompt.text())
        used = frozenset(script for script, count in own.items() if count * 20 >= own.total())
        if used and (share_in(text, used) or 0.0) < 0.1:
            script = counts.most_common(1)[0][0]
            yield LintFinding("wrong-script", f"{name} is in {script} letters, which the prompt is not", "warning")
        return
    if (share_in(text, of_language(suite_language)) or 0.0) < 0.1:
        script = counts.most_common(1)[0][0]
        yield LintFinding("wrong-script", f"{name} is in {script} letters, not in the script of {suite_language}")
    elif wants_marks(suite_language) and counts.total() >= 60 and folded(text).isascii():
        yield LintFinding(
            "wrong-language", f"{name} has none of the letters beyond ASCII that {suite_language} has", "warning"
        )


def _reasoning(case: Case, prompt: Prompt) -> Iterator[LintFinding]:
    """The author's reason is not an input; when it is gibberish, the author had derailed by then."""
    if case.origin == "added" or not case.reasoning:
        return
    degenerate = degenerate_text.is_degenerate(case.reasoning)
    degenerate = degenerate or degenerate_text.lacks_function_words(case.reasoning, prompt.text())
    if degenerate:
        yield LintFinding("gibberish", f"the reasoning is gibberish: {degenerate}; look at the inputs", "warning")
