"""Two versions of a prompt side by side: sentences and rules added, removed and changed, and what each touches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from promptpex.core.records import Prompt, Record, Rule, Spec, Suite
from promptpex.specs.source_quotes import Change, diff, prompt_text


class RuleChange(Record):
    """One rule that differs between two specs.

    Attributes:
        kind: what happened to it; ``removed`` also when it was marked as gone.
        rule: its id.
        old, new: its words before and after.
        cases: ids of the cases that aim at it.
    """

    kind: Literal["added", "removed", "changed"]
    rule: str
    old: str | None = None
    new: str | None = None
    cases: tuple[str, ...] = ()


class Comparison(Record):
    """How two versions of a prompt differ.

    Attributes:
        sentences: in the order of the new text.
        rules: in the order of the new spec, removed ones last; empty unless there are two specs.
        variables_added, variables_removed: inputs that only one of them takes.
        roles: the turns before and after, where these differ.
        words: the words of each rule that is named, by its id.
    """

    sentences: tuple[Change, ...] = ()
    rules: tuple[RuleChange, ...] = ()
    variables_added: tuple[str, ...] = ()
    variables_removed: tuple[str, ...] = ()
    roles: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    words: dict[str, str] = Field(default_factory=dict)

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not (self.sentences or self.rules or self.variables_added or self.variables_removed or self.roles)


def compare(
    old: Prompt, new: Prompt, *, spec: Spec | None = None, suite: Suite | None = None, old_spec: Spec | None = None
) -> Comparison:
    """How ``new`` differs from ``old``.

    Args:
        spec: the spec whose rules rest on these sentences; that of the new prompt where each has its own.
        suite: the cases.
        old_spec: the spec of the old prompt, where it has another; then rules are compared as well.
    """
    first = old_spec or spec
    new_spec = spec if old_spec is not None else None
    sentences = diff(prompt_text(old), prompt_text(new), spec=first, suite=suite, new_spec=new_spec)
    rules = _rules(old_spec.rules, spec.rules, suite) if old_spec is not None and spec is not None else []
    roles = [tuple(turn.role for turn in prompt.messages) for prompt in (old, new)]
    named = {name for change in sentences for name in change.rules}
    known = [*(old_spec.rules if old_spec else ()), *(spec.rules if spec else ())]
    return Comparison(
        sentences=tuple(sentences),
        rules=tuple(rules),
        variables_added=tuple(name for name in new.variables if name not in old.variables),
        variables_removed=tuple(name for name in old.variables if name not in new.variables),
        roles=(roles[0], roles[1]) if roles[0] != roles[1] else None,
        words={rule.id: rule.rule for rule in known if rule.id in named},
    )


def _rules(old: Sequence[Rule], new: Sequence[Rule], suite: Suite | None) -> list[RuleChange]:
    before = {rule.id: rule for rule in old if not rule.stale}
    after = {rule.id: rule for rule in new if not rule.stale}
    found = [_rule(before.get(name), rule, suite) for name, rule in after.items() if _differs(before.get(name), rule)]
    return found + [_rule(rule, None, suite) for name, rule in before.items() if name not in after]


def _differs(old: Rule | None, new: Rule) -> bool:
    return old is None or (old.rule, old.inverse, old.checks) != (new.rule, new.inverse, new.checks)


def _rule(old: Rule | None, new: Rule | None, suite: Suite | None) -> RuleChange:
    rule = new or old
    assert rule is not None
    return RuleChange(
        kind="added" if old is None else "removed" if new is None else "changed",
        rule=rule.id,
        old=old.rule if old else None,
        new=new.rule if new else None,
        cases=tuple(case.id for case in suite.cases if case.rule == rule.id) if suite else (),
    )
