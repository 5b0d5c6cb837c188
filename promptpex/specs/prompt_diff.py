"""How two versions of a prompt differ: sentences and rules added, removed and changed, and what each change touches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from promptpex.codecs.text.comparing import ComparisonBudget, normalize
from promptpex.core.records import Prompt, Record, Rule, Spec, Suite
from promptpex.core.sentences import folded, sentences
from promptpex.specs.source_quotes import cited_parts, cites, prompt_text

PAIRED = 55.0
"""Similarity (0..100) from which a removed and an added sentence count as one that changed: about half is the same."""
MOST_PAIRS = 1_000_000
"""Pairs of sentences that are compared at most: about a second."""
_COMPARED = ("rule", "needs", "when", "inverse", "checks", "after")
"""What a rule promises and how that is decided; where it was read and who wrote it makes no other rule."""


class SentenceChange(Record):
    """One sentence that differs between two versions of a prompt.

    Attributes:
        kind: what happened to it.
        old, new: the sentence before and after; None where it is not there.
        rules: ids of the rules that cite it; for a new sentence those of the new spec, where one was given.
        cases: ids of the cases that aim at these rules.
    """

    kind: Literal["added", "removed", "changed"]
    old: str | None = None
    new: str | None = None
    rules: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()


class RuleChange(Record):
    """One rule that differs between two specs.

    Attributes:
        kind: what happened to it; ``removed`` also when it was marked as stale.
        rule: its id.
        old, new: its text before and after.
        cases: ids of the cases that aim at it.
    """

    kind: Literal["added", "removed", "changed"]
    rule: str
    old: str | None = None
    new: str | None = None
    cases: tuple[str, ...] = ()


class PromptDiff(Record):
    """How two versions of a prompt differ.

    Attributes:
        sentences: in the order of the new text.
        rules: in the order of the new spec, removed ones last; empty unless there are two specs.
        variables_added, variables_removed: inputs that only one of them takes.
        roles: the turns before and after, where these differ.
        rule_texts: the text of each rule that is named, by its id.
    """

    sentences: tuple[SentenceChange, ...] = ()
    rules: tuple[RuleChange, ...] = ()
    variables_added: tuple[str, ...] = ()
    variables_removed: tuple[str, ...] = ()
    roles: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    rule_texts: dict[str, str] = Field(default_factory=dict)

    @property
    def same(self) -> bool:
        return not (self.sentences or self.rules or self.variables_added or self.variables_removed or self.roles)


def diff_prompts(
    old: Prompt, new: Prompt, *, spec: Spec | None = None, suite: Suite | None = None, old_spec: Spec | None = None
) -> PromptDiff:
    """How ``new`` differs from ``old``.

    Args:
        spec: the spec whose rules cite these sentences; that of the new prompt where each has its own.
        old_spec: the spec of the old prompt, where it has another; then rules are compared as well.
    """
    first = old_spec or spec
    new_spec = spec if old_spec is not None else None
    changes = diff_sentences(prompt_text(old), prompt_text(new), spec=first, suite=suite, new_spec=new_spec)
    rules = _rules(old_spec.rules, spec.rules, suite) if old_spec is not None and spec is not None else []
    roles = [tuple(turn.role for turn in prompt.messages) for prompt in (old, new)]
    named = {name for change in changes for name in change.rules}
    all_rules = [*(old_spec.rules if old_spec else ()), *(spec.rules if spec else ())]
    return PromptDiff(
        sentences=tuple(changes),
        rules=tuple(rules),
        variables_added=tuple(name for name in new.variables if name not in old.variables),
        variables_removed=tuple(name for name in old.variables if name not in new.variables),
        roles=(roles[0], roles[1]) if roles[0] != roles[1] else None,
        rule_texts={rule.id: rule.rule for rule in all_rules if rule.id in named},
    )


def diff_sentences(
    old: str, new: str, *, spec: Spec | None = None, suite: Suite | None = None, new_spec: Spec | None = None
) -> list[SentenceChange]:
    """How two texts of a prompt differ, sentence by sentence, and the rules and cases that each change touches.

    A sentence that only moved has not changed. Changes come in the order of the new text, removals where they stood.
    """
    before, after = sentences(old), sentences(new)
    removed, added = _only(before, after), _only(after, before)
    pairs = _pairs([before[n] for n in removed], [after[n] for n in added])
    touch = _Touched(spec, suite, new_spec)
    changes: list[tuple[float, SentenceChange]] = []
    for pair in pairs:
        place = added[pair.new]
        changes.append((place, touch.change("changed", before[removed[pair.old]], after[place])))
    paired_old, paired_new = {pair.old for pair in pairs}, {pair.new for pair in pairs}
    for number, place in enumerate(removed):
        if number not in paired_old:
            scaled = place * len(after) / max(1, len(before)) - 0.5
            changes.append((scaled, touch.change("removed", before[place], None)))
    for number, place in enumerate(added):
        if number not in paired_new:
            changes.append((place, touch.change("added", None, after[place])))
    return [change for _, change in sorted(changes, key=lambda item: item[0])]


def _rules(old: Sequence[Rule], new: Sequence[Rule], suite: Suite | None) -> list[RuleChange]:
    before = {rule.id: rule for rule in old if not rule.stale}
    after = {rule.id: rule for rule in new if not rule.stale}
    changes = [_rule(before.get(name), rule, suite) for name, rule in after.items() if _differs(before.get(name), rule)]
    return changes + [_rule(rule, None, suite) for name, rule in before.items() if name not in after]


def _differs(old: Rule | None, new: Rule) -> bool:
    return old is None or any(getattr(old, name) != getattr(new, name) for name in _COMPARED)


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


@dataclass(frozen=True, slots=True)
class _Pair:
    likeness: float
    old: int
    new: int


def _only(mine: Sequence[str], others: Sequence[str]) -> list[int]:
    """Positions of the sentences that are mine alone, each counted as often as it stands there."""
    left = Counter(folded(sentence) for sentence in others)
    alone: list[int] = []
    for place, sentence in enumerate(mine):
        key = folded(sentence)
        if left[key] > 0:
            left[key] -= 1
        else:
            alone.append(place)
    return alone


def _pairs(removed: Sequence[str], added: Sequence[str]) -> list[_Pair]:
    """The likeliest pairs of an old and a new sentence, each used once.

    Of very many sentences, each is held against those that stand about where it stood.
    """
    old, new = [folded(sentence) for sentence in removed], [folded(sentence) for sentence in added]
    likely = sorted(_likely(old, new), key=lambda pair: (-pair.likeness, pair.old, pair.new))
    chosen: list[_Pair] = []
    used_old, used_new = set[int](), set[int]()
    for pair in likely:
        if pair.old not in used_old and pair.new not in used_new:
            chosen.append(pair)
            used_old.add(pair.old)
            used_new.add(pair.new)
    return chosen


def _likely(old: Sequence[str], new: Sequence[str]) -> Iterator[_Pair]:
    from rapidfuzz import fuzz

    budget = ComparisonBudget()
    reach = len(new) if len(old) * len(new) <= MOST_PAIRS else max(1, MOST_PAIRS // len(old) // 2)
    for place, removed in enumerate(old):
        middle = place * len(new) // len(old)
        for other in range(max(0, middle - reach), min(len(new), middle + reach + 1)):
            if budget.ratio(len(removed), len(new[other])):
                likeness = fuzz.ratio(removed, new[other], score_cutoff=PAIRED)
                if likeness >= PAIRED:
                    yield _Pair(likeness, place, other)


class _Touched:
    """The rules and cases that a change touches; the cited words are prepared once."""

    def __init__(self, spec: Spec | None, suite: Suite | None, new_spec: Spec | None) -> None:
        self._old, self._new = _cited(spec), _cited(new_spec)
        self._cases = suite.cases if suite is not None else ()
        self._budget = ComparisonBudget()

    def change(self, kind: Literal["added", "removed", "changed"], old: str | None, new: str | None) -> SentenceChange:
        touched = self._citing(self._old, old) + self._citing(self._new, new)
        rules = tuple(dict.fromkeys(touched))
        cases = tuple(case.id for case in self._cases if case.rule in rules) if rules else ()
        return SentenceChange(kind=kind, old=old, new=new, rules=rules, cases=cases)

    def _citing(self, rules: Sequence[tuple[str, list[str]]], sentence: str | None) -> list[str]:
        if sentence is None:
            return []
        whole = normalize(sentence)
        return [name for name, parts in rules if cites(parts, whole, self._budget)]


def _cited(spec: Spec | None) -> list[tuple[str, list[str]]]:
    return [(rule.id, cited_parts(rule.source)) for rule in spec.rules if rule.source] if spec is not None else []
