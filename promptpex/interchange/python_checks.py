"""``python-checks``: the checks of a spec as a Python module, a function for each rule.

The rules stand in the module as data, and ``promptpex.RuleChecks`` holds outputs against them: so the verdicts are
those of ``promptpex run``, and nothing that a rule holds is run as code of the module.
"""

from __future__ import annotations

from promptpex.core.records import Rule
from promptpex.core.translation import stored
from promptpex.interchange.format import Exported, Format, Mapped, Source
from promptpex.interchange.reading.python_literals import docstring, literal, names

_HEAD = '''{about}

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from promptpex import RuleChecks, records

CHECKS = RuleChecks(
{rules}
)
"""The rules, their checks made ready. Called with an output it gives the verdicts on all of them."""
'''

_FUNCTION = """

def {name}(output: str, inputs: Mapping[str, Any] | None = None, **about: Any) -> records.Verdict:
    {doc}
    return CHECKS(output, inputs, **about)[{rule}]
"""


def write(source: Source) -> Exported:
    """The module, with a function for each rule that has checks."""
    project = source.project()
    left_out: list[str] = []
    rules = [rule for rule in project.spec.rules if not rule.stale]
    checked = [rule for rule in rules if rule.checks]
    judged = ", ".join(rule.id for rule in rules if not rule.checks)
    partly = ", ".join(rule.id for rule in checked if rule.needs_judge)
    if judged:
        left_out.append(stored("rules that code does not decide are left out: {rules}", rules=judged))
    if partly:
        left_out.append(
            stored(
                "rules that their checks can break but not keep, since a judge decides the rest: {rules}", rules=partly
            )
        )
    about = docstring(
        f"The checks of the prompt {project.prompt.name}, by promptpex: each takes an output, with the inputs that it "
        "answers where the check looks at them, and gives a verdict with status (pass, fail, not_concerned or "
        "unscored) and reason. What else is known of an output (expected, latency_ms and so on) is named as "
        "promptpex.RuleChecks has it."
    )
    named_rules = zip(checked, names("check", (rule.id for rule in checked)), strict=True)
    functions = [
        _FUNCTION.format(name=name, doc=docstring(rule.rule, "    "), rule=ascii(rule.id)) for rule, name in named_rules
    ]
    return Exported(_HEAD.format(about=about, rules=_indented(checked)) + "".join(functions), tuple(left_out))


def _indented(rules: list[Rule]) -> str:
    """The rules as a literal, four signs in; a line within a text is none of the literal's."""
    data = [rule.replace(judge=()).model_dump(mode="json", by_alias=True, exclude_defaults=True) for rule in rules]
    return "\n".join(f"    {line}" for line in literal(data).split("\n"))


FORMAT = Format(
    name="python-checks",
    summary="the checks of a spec as a Python module: a function for each rule gives pass or fail with the reason",
    extensions=(".py",),
    writes="project",
    write=write,
    maps=(
        Mapped("a function `check_ID`", "a rule with checks", "out", "rules that a judge decides"),
        Mapped("its docstring", "the rule", "out"),
        Mapped("`CHECKS`", "the rules with their checks, as data; promptpex has to be installed", "out"),
    ),
)  # fmt: skip
