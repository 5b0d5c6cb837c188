"""``markdown``: a spec with its checks and cases, for people to read: what the prompt promises and how it is tested."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from promptpex.codecs.markdown import block, prose
from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.core.records import WHOLE_INPUT, Case, Prompt, Record, Rule, Spec
from promptpex.core.translation import stored, tr, tr_n
from promptpex.interchange.format import Exported, Format, Mapped, Source

_BOUNDS = {"constraints", "origin", "source"}


def write(source: Source) -> Exported:
    """The page: the prompt, its input spec, the rules with their inverses and checks, the cases."""
    project = source.project()
    prompt, spec = project.prompt, project.spec
    cases = project.suite.usable()
    parts = [f"# {prose(prompt.name)}", *_about(prompt, spec), *_prompt(prompt), *_inputs(spec)]
    rules = [rule for rule in spec.rules if not rule.stale]
    parts += [
        f"## {tr_n('{count} rule', '{count} rules', len(rules))}",
        *(part for rule in rules for part in _rule(rule)),
    ]
    parts += [
        f"## {tr_n('{count} case', '{count} cases', len(cases))}",
        *(part for case in cases for part in _case(case)),
    ]
    unused = len(project.suite.cases) - len(cases)
    left_out = [stored("cases that are not run, and are left out: {count}", count=unused)] if unused else []
    stale = len(spec.rules) - len(rules)
    left_out += [stored("stale rules, which are left out: {count}", count=stale)] if stale else []
    return Exported("\n\n".join(parts) + "\n", tuple(left_out))


def _about(prompt: Prompt, spec: Spec) -> Iterator[str]:
    for text in dict.fromkeys((prompt.description, spec.intent)):
        if text.strip():
            yield prose(text)


def _prompt(prompt: Prompt) -> Iterator[str]:
    yield f"## {tr('The prompt')}"
    for turn in prompt.messages:
        yield f"{turn.role}:"
        yield block(turn.content)


def _inputs(spec: Spec) -> Iterator[str]:
    if not (spec.inputs or spec.input_checks):
        return
    yield f"## {tr('What an input is')}"
    for name, about in spec.inputs.items():
        yield f"### {tr('All inputs together') if name == WHOLE_INPUT else prose(name)}"
        bounds = {key: value for key, value in _plain(about).items() if key not in _BOUNDS}
        lines = [f"- {prose(json.dumps(bounds, ensure_ascii=False))}"] if bounds else []
        lines += [f"- {prose(line)}" for line in about.constraints if line.strip()]
        if lines:
            yield "\n".join(lines)
    if spec.input_checks:
        yield f"### {tr('Checks of inputs')}"
        yield "\n".join(f"- {_check(check)}" for check in spec.input_checks)


def _rule(rule: Rule) -> Iterator[str]:
    yield f"### {prose(rule.id)}"
    yield prose(rule.rule)
    lines = [tr("Broken by: {inverse}", inverse=prose(rule.inverse))] if rule.inverse else []
    lines += [tr("The prompt says: {quoted}", quoted=prose(rule.source))] if rule.source else []
    lines += [tr("Only where: {check}", check=_check(check)) for check in rule.when]
    lines += [tr("Only where {rule} is kept", rule=prose(rule.after))] if rule.after else []
    lines += [tr("Check: {check}", check=_check(check)) for check in rule.checks]
    lines += [tr("A judge decides it.") if not rule.checks else tr("A judge decides what the checks leave open.")] * (
        rule.needs_judge
    )
    if lines:
        yield "\n".join(f"- {line}" for line in lines)


def _check(check: Record) -> str:
    return prose(json.dumps(_plain(check), ensure_ascii=False))


def _plain(record: Record) -> Mapping[str, Any]:
    return record.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def _case(case: Case) -> Iterator[str]:
    yield f"### {prose(case.id)}"
    lines = []
    if case.rule is not None:
        aim = tr("Tests what breaks {rule}", rule=prose(case.rule)) if case.inverse else None
        lines.append(aim or tr("Tests {rule}", rule=prose(case.rule)))
    lines += [tr("Scenario: {name}", name=prose(case.scenario))] if case.scenario else []
    lines += [prose(case.reasoning)] if case.reasoning.strip() else []
    if lines:
        yield "\n".join(f"- {line}" for line in lines)
    for name, value in case.inputs.items():
        yield f"{prose(name)}:"
        yield block(value_text(value))
    if case.expected is not None:
        yield tr("Expected:")
        yield block(case.expected)


FORMAT = Format(
    name="markdown",
    summary="the spec as a page to read: prompt, input spec, rules with their inverses and checks, cases",
    extensions=(".md",),
    writes="project",
    write=write,
    maps=(
        Mapped("`## The prompt`", "the prompt, turn by turn", "out"),
        Mapped("`## What an input is`", "the input spec, and the checks of inputs", "out"),
        Mapped("a heading below the rules", "a rule: its sentence, inverse, source, condition and checks", "out"),
        Mapped("a heading below the cases", "a case: its aim, inputs and expected output", "out",
               "ratings and where it came from"),
    ),
)  # fmt: skip
