"""What of a prompt its rules rest on: words that are gone, sentences that no rule rests on, and what an edit touches.

Pure text work on the words that rules quote; whether a rule is true to the prompt is for ``groundedness`` to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from promptpex.records import Prompt, Record, Rule, Spec, Suite
from promptpex.specs import quoting
from promptpex.specs.sentences import folded, sentences

CHANGED = 70.0
"""Likeness (0..100) from which words that are not there any more count as changed, not gone."""
PAIRED = 55.0
"""Likeness from which a removed and an added sentence count as one that changed."""
OVERLAP = 90.0
"""Likeness from which a quotation counts as taken from a sentence though a letter of it is wrong."""

Standing = Literal["kept", "changed", "gone"]


class Footing(Record):
    """Whether the words that a rule rests on are in the prompt.

    Attributes:
        rule: its id.
        standing: ``kept``: all of them, a letter may be wrong; ``changed``: words like them; ``gone``: not.
        source: the words it quotes.
        nearest: the sentence of the prompt that is most like them, where they are not kept.
        likeness: how like it is, 0 to 100.
    """

    rule: str
    standing: Standing
    source: str
    nearest: str | None = None
    likeness: float = 100.0


class Change(Record):
    """One sentence that differs between two versions of a prompt.

    Attributes:
        kind: what happened to it.
        old, new: the sentence before and after; None where it is not there.
        rules: ids of the rules that rest on it; for a new sentence those of the new spec, where one was given.
        cases: ids of the cases that aim at these rules.
    """

    kind: Literal["added", "removed", "changed"]
    old: str | None = None
    new: str | None = None
    rules: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Pair:
    likeness: float
    old: int
    new: int


def footing(rules: Iterable[Rule], text: str) -> list[Footing]:
    """For each rule that quotes words of the prompt: whether they still stand in ``text``."""
    inside, parts = quoting.bare(text), sentences(text)
    return [_footing(rule, rule.source, inside, parts) for rule in rules if rule.source and rule.source.strip()]


def uncovered(rules: Sequence[Rule], prompt: Prompt) -> tuple[str, ...]:
    """The sentences of the prompt's instructions that no rule rests on.

    Instructions are the system messages; where there are none, the user messages. Turns of an example conversation
    are no promises; neither are rows of tables and lines that only announce what follows (``Rules:``).
    """
    sources = [rule.source for rule in rules if rule.source]
    promises = (part for part in sentences(instructions(prompt)) if part[0] != "|" and part[-1] not in ":：")
    return tuple(part for part in promises if not any(rests_on(one, part) for one in sources))


def instructions(prompt: Prompt) -> str:
    """The text of the messages that tell the model what to do."""
    role = "system" if any(turn.role == "system" for turn in prompt.messages) else "user"
    return "\n\n".join(turn.content for turn in prompt.messages if turn.role == role)


def words_of(prompt: Prompt) -> str:
    """All that a prompt says, without the names of its turns."""
    return "\n\n".join(turn.content for turn in prompt.messages)


def rests_on(source: str, sentence: str) -> bool:
    """Whether words that a rule quotes are taken from this sentence, one holding the other or nearly so."""
    whole = folded(sentence)
    return any(_overlap(folded(part), whole) for part in quoting.parts_of(source))


def mark_gone(spec: Spec, text: str) -> Spec:
    """The spec with ``gone`` set on the machine's rules whose words are not in the prompt, unset where they are.

    Words that have changed are not there any more: whoever reads the prompt anew says what it promises now. Rules that
    people edited or added are as they were, and so are rules that quote nothing.
    """
    gone = {found.rule for found in footing(spec.rules, text) if found.standing != "kept"}
    rules = (
        rule.but(gone=rule.id in gone) if rule.origin in ("extracted", "generated") else rule for rule in spec.rules
    )
    return spec.but(rules=tuple(rules))


def diff(
    old: str, new: str, *, spec: Spec | None = None, suite: Suite | None = None, new_spec: Spec | None = None
) -> list[Change]:
    """What differs between two texts of a prompt, sentence by sentence, and the rules and cases that each touches.

    A sentence that only moved has not changed. Changes come in the order of the new text, removals where they stood.
    """
    before, after = sentences(old), sentences(new)
    removed, added = _only(before, after), _only(after, before)
    pairs = _pairs([before[n] for n in removed], [after[n] for n in added])
    changes: list[tuple[float, Change]] = []
    for pair in pairs:
        place = added[pair.new]
        changes.append((place, _change("changed", before[removed[pair.old]], after[place], spec, suite, new_spec)))
    paired_old, paired_new = {pair.old for pair in pairs}, {pair.new for pair in pairs}
    for number, place in enumerate(removed):
        if number not in paired_old:
            scaled = place * len(after) / max(1, len(before)) - 0.5
            changes.append((scaled, _change("removed", before[place], None, spec, suite, new_spec)))
    for number, place in enumerate(added):
        if number not in paired_new:
            changes.append((place, _change("added", None, after[place], spec, suite, new_spec)))
    return [change for _, change in sorted(changes, key=lambda item: item[0])]


def _footing(rule: Rule, words: str, inside: str, parts: Sequence[str]) -> Footing:
    from rapidfuzz import fuzz, process, utils

    wanted = quoting.pieces(words)
    if not wanted or quoting.in_bare(wanted, inside):
        return Footing(rule=rule.id, standing="kept", source=words)
    best = process.extractOne(words, parts, scorer=fuzz.ratio, processor=utils.default_process) if parts else None
    nearest, likeness = (best[0], float(best[1])) if best else (None, 0.0)
    near = min((fuzz.partial_ratio(piece, inside) for piece in wanted if len(piece) <= len(inside)), default=0.0)
    like = max(likeness, near if near >= OVERLAP else 0.0) >= CHANGED
    return Footing(
        rule=rule.id, standing="changed" if like else "gone", source=words, nearest=nearest, likeness=round(likeness, 1)
    )


def _overlap(piece: str, whole: str) -> bool:
    from rapidfuzz import fuzz

    if piece in whole or whole in piece:
        return True
    if min(len(piece), len(whole)) < 8:
        return False
    return fuzz.partial_ratio(piece, whole) >= OVERLAP


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
    """The likeliest pairs of an old and a new sentence, each used once."""
    from rapidfuzz import fuzz

    likely = (
        _Pair(fuzz.ratio(folded(gone), folded(come)), old, new)
        for old, gone in enumerate(removed)
        for new, come in enumerate(added)
    )
    found: list[_Pair] = []
    for pair in sorted(likely, key=lambda pair: (-pair.likeness, pair.old, pair.new)):
        if pair.likeness < PAIRED:
            break
        if all(pair.old != other.old and pair.new != other.new for other in found):
            found.append(pair)
    return found


def _change(
    kind: Literal["added", "removed", "changed"],
    old: str | None,
    new: str | None,
    spec: Spec | None,
    suite: Suite | None,
    new_spec: Spec | None,
) -> Change:
    touched = _resting(spec, old) + _resting(new_spec, new)
    rules = tuple(dict.fromkeys(touched))
    cases = tuple(case.id for case in suite.cases if case.rule in rules) if suite is not None else ()
    return Change(kind=kind, old=old, new=new, rules=rules, cases=cases)


def _resting(spec: Spec | None, sentence: str | None) -> list[str]:
    if spec is None or sentence is None:
        return []
    return [rule.id for rule in spec.rules if rule.source and rests_on(rule.source, sentence)]
