"""What two runs were made from, where it differs: the prompt, the rules, the cases, and everything else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal

from promptpex.core.ids import digest
from promptpex.core.records import Case, Manifest, Message, Rule
from promptpex.core.translation import Key, tr
from promptpex.report.comparison.word_differences import MOST_TEXT, TextPiece, word_differences
from promptpex.report.page.values import pretty
from promptpex.tables import AnyRun

MOST_RULES = 200
"""Changed rules that are shown."""
MOST_IDS = 200
"""Cases that are named."""
_OF_RULE = ("rule", "inverse", "when", "needs", "after", "decides", "checks")
"""What of a rule is compared: what it promises, and how that is decided."""


@dataclass(frozen=True, slots=True)
class ChangedText:
    """A text in both runs: what it is, its parts, and how many characters are not shown."""

    what: str
    pieces: tuple[TextPiece, ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class ChangedRule:
    """A rule that one of the two specs has, or that reads otherwise in them."""

    id: str
    kind: Literal["new", "gone", "changed"]
    parts: tuple[ChangedText, ...]


@dataclass(frozen=True, slots=True)
class ChangedCases:
    """The ids of the cases that one suite has, or that have other inputs, or another expected output."""

    new: tuple[str, ...]
    gone: tuple[str, ...]
    inputs: tuple[str, ...]
    expected: tuple[str, ...]

    @property
    def named(self) -> list[tuple[Key, tuple[str, ...], int]]:
        """Each kind of change that there is in words, the first ids, and how many more there are."""
        all_groups = (
            (Key("new"), self.new),
            (Key("gone"), self.gone),
            (Key("with other inputs"), self.inputs),
            (Key("with another expected output"), self.expected),
        )
        return [(words, ids[:MOST_IDS], max(0, len(ids) - MOST_IDS)) for words, ids in all_groups if ids]


@dataclass(frozen=True, slots=True)
class ChangedFact:
    """A setting, or another fact of how a run was made, before and after."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class WhatChanged:
    """All of it; what is the same in both runs is left out.

    Attributes:
        prompt: the messages that differ.
        rules: those that differ, the first of them; ``more_rules`` are left out.
    """

    prompt: tuple[ChangedText, ...]
    rules: tuple[ChangedRule, ...]
    more_rules: int
    cases: ChangedCases
    facts: tuple[ChangedFact, ...]

    @property
    def nothing(self) -> bool:
        """Whether the two were made from the same."""
        return not (self.prompt or self.rules or self.cases.named or self.facts)


def what_changed(before: AnyRun, after: AnyRun) -> WhatChanged:
    """What the second run was made from otherwise than the first."""
    rules = list(_rules(before.spec.rules, after.spec.rules))
    return WhatChanged(
        prompt=tuple(_messages(before.prompt.messages, after.prompt.messages)),
        rules=tuple(rules[:MOST_RULES]),
        more_rules=max(0, len(rules) - MOST_RULES),
        cases=_cases(before.suite.cases, after.suite.cases),
        facts=tuple(_facts(before.manifest, after.manifest)),
    )


def changed_rules(before: AnyRun, after: AnyRun) -> Iterator[ChangedRule]:
    """The rules that read otherwise, or are decided otherwise, in the two runs; what a rule rests on may differ."""
    yield from _rules(before.spec.rules, after.spec.rules)


def _messages(before: Sequence[Message], after: Sequence[Message]) -> Iterator[ChangedText]:
    for old, new in zip_longest(before, after):
        roles = dict.fromkeys(one.role for one in (old, new) if one is not None)
        texts = [one.content if one is not None else "" for one in (old, new)]
        if texts[0] != texts[1] or len(roles) > 1:
            yield _changed_text(" → ".join(roles), texts[0], texts[1])


def _changed_text(what: str, before: str, after: str) -> ChangedText:
    more = max(0, len(before) - MOST_TEXT, len(after) - MOST_TEXT)
    return ChangedText(what, word_differences(before, after), more)


def _rules(before: Sequence[Rule], after: Sequence[Rule]) -> Iterator[ChangedRule]:
    old, new = ({rule.id: rule for rule in rules if not rule.stale} for rules in (before, after))
    for name in dict.fromkeys([*new, *old]):
        one, other = old.get(name), new.get(name)
        if one is None and other is not None:
            yield ChangedRule(name, "new", (_changed_text("rule", "", other.rule),))
        elif one is not None and other is None:
            yield ChangedRule(name, "gone", (_changed_text("rule", one.rule, ""),))
        elif one is not None and other is not None:
            parts = tuple(_of_rule(one, other))
            if parts:
                yield ChangedRule(name, "changed", parts)


def rules_digest(run: AnyRun) -> str:
    """A hash of the rules of a run and of how they are decided, whatever else its spec says."""
    rules = [rule.to_dict() for rule in run.spec.rules if not rule.stale]
    return digest(
        [[(name, rule.get(name)) for name in ("id", *_OF_RULE)] for rule in rules] + [run.manifest.mode_rules], 12
    )


def _of_rule(old: Rule, new: Rule) -> Iterator[ChangedText]:
    before, after = old.to_dict(), new.to_dict()
    for name in _OF_RULE:
        if before.get(name) != after.get(name):
            yield _changed_text(name, _text(before.get(name)), _text(after.get(name)))


def _text(value: Any) -> str:
    return "" if value is None else pretty(value)


def _cases(before: Sequence[Case], after: Sequence[Case]) -> ChangedCases:
    old, new = {case.id: case for case in before}, {case.id: case for case in after}
    both = [(old[name], case) for name, case in new.items() if name in old]
    return ChangedCases(
        new=tuple(name for name in new if name not in old),
        gone=tuple(name for name in old if name not in new),
        inputs=tuple(case.id for was, case in both if was.inputs != case.inputs),
        expected=tuple(
            case.id for was, case in both if (was.expected, was.also_right) != (case.expected, case.also_right)
        ),
    )


def _facts(before: Manifest, after: Manifest) -> Iterator[ChangedFact]:
    """The settings and other facts that differ."""
    old, new = _of_manifest(before), _of_manifest(after)
    for name in dict.fromkeys([*old, *new]):
        if old.get(name) != new.get(name):
            yield ChangedFact(name, _shown(old.get(name)), _shown(new.get(name)))


def _of_manifest(manifest: Manifest) -> Mapping[str, Any]:
    """How a run was made, by what a reader calls it; what says the same as another part of the page is not in it."""
    part = manifest.subset.in_words if manifest.subset else None
    models = {tr("{name} is", name=name): target for name, target in manifest.named.items()}
    reported = {
        tr("{name}, as its provider calls it", name=name): ", ".join(ids)
        for name, ids in manifest.reported.items()
        if ids
    }
    settings = {name: value for name, value in manifest.settings.items() if name not in ("models", "judges", "author")}
    templates = {tr("template {name}", name=name): mark for name, mark in manifest.templates.items()}
    return {
        tr("models"): ", ".join(manifest.models),
        **models,
        **reported,
        tr("judges"): ", ".join(manifest.judges),
        tr("author"): manifest.author,
        tr("part of the suite"): part,
        **settings,
        **manifest.versions,
        **templates,
    }


def _shown(value: Any) -> str:
    return "–" if value in (None, "") else pretty(value)
