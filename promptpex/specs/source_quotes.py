"""What of a prompt its rules rest on: words that are gone, sentences that no rule rests on, and what an edit touches.

Pure text work on the words that rules quote; whether a rule is true to the prompt is for ``groundedness`` to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from promptpex.core.records import Prompt, Record, Rule, Spec, Suite
from promptpex.specs import quote_match
from promptpex.specs.comparison_limit import Effort
from promptpex.specs.sentences import folded, headings, sentences

CHANGED = 70.0
"""Likeness (0..100) from which words that are not there any more count as changed, not gone."""
PAIRED = 55.0
"""Likeness from which a removed and an added sentence count as one that changed."""
OVERLAP = 90.0
"""Likeness from which a quotation counts as taken from a sentence though a letter of it is wrong."""
MOST_PAIRS = 1_000_000
"""Pairs of sentences that are compared at most."""
_PREPARED, _CALL = 60, 2_000
"""What it takes to prepare a character and to call for a sentence, in the measure of ``effort``."""

Status = Literal["kept", "changed", "missing"]


class SourceStatus(Record):
    """Whether the words that a rule rests on are in the prompt.

    Attributes:
        rule: its id.
        status: ``kept``: all of them, a letter may be wrong; ``changed``: words like them; ``missing``: not.
        source: the words it quotes.
        nearest: the sentence of the prompt that is most like them, where they are not kept.
        likeness: how like it is, 0 to 100.
    """

    rule: str
    status: Status
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


def check_sources(rules: Iterable[Rule], text: str) -> list[SourceStatus]:
    """For each rule that quotes words of the prompt: whether they still stand in ``text``."""
    inside, parts, effort = quote_match.bare(text), sentences(text), Effort()
    return [
        _source_status(rule, rule.source, inside, parts, effort)
        for rule in rules
        if rule.source and rule.source.strip()
    ]


def uncovered(rules: Sequence[Rule], prompt: Prompt) -> tuple[str, ...]:
    """The sentences of the prompt's instructions that no rule rests on.

    Instructions are the system messages; where there are none, the user messages. Turns of an example conversation
    are no promises; neither are headings, rows of tables and lines that only announce what follows (``Rules:``).
    """
    told = instructions(prompt)
    titles = headings(told)
    pieces = [piece for rule in rules if rule.source for piece in _pieces(rule.source)]
    effort = Effort()
    promises = (part for part in sentences(told) if part[0] != "|" and part[-1] not in ":：" and part not in titles)
    return tuple(part for part in promises if not _any_overlap(pieces, folded(part), effort))


def instructions(prompt: Prompt) -> str:
    """The text of the messages that tell the model what to do."""
    role = "system" if any(turn.role == "system" for turn in prompt.messages) else "user"
    return "\n\n".join(turn.content for turn in prompt.messages if turn.role == role)


def prompt_text(prompt: Prompt) -> str:
    """All that a prompt says, without the names of its turns."""
    return "\n\n".join(turn.content for turn in prompt.messages)


def _pieces(source: str) -> list[str]:
    return [folded(part) for part in quote_match.parts_of(source)]


def _any_overlap(pieces: Sequence[str], whole: str, effort: Effort) -> bool:
    """Whether quoted words are taken from this sentence, one holding the other or nearly so.

    Where ``effort`` has not enough left, only words that are there letter by letter are found.
    """
    return any(_overlap(piece, whole, effort) for piece in pieces)


def mark_stale(spec: Spec, text: str) -> Spec:
    """The spec with ``gone`` set on the machine's rules whose words are not in the prompt, unset where they are.

    Words that have changed are not there any more: whoever reads the prompt anew says what it promises now. Rules that
    people edited or added are as they were, and so are rules that quote nothing.
    """
    gone = {found.rule for found in check_sources(spec.rules, text) if found.status != "kept"}
    rules = (
        rule.replace(stale=rule.id in gone) if rule.origin in ("extracted", "generated") else rule
        for rule in spec.rules
    )
    return spec.replace(rules=tuple(rules))


def diff(
    old: str, new: str, *, spec: Spec | None = None, suite: Suite | None = None, new_spec: Spec | None = None
) -> list[Change]:
    """What differs between two texts of a prompt, sentence by sentence, and the rules and cases that each touches.

    A sentence that only moved has not changed. Changes come in the order of the new text, removals where they stood.
    """
    before, after = sentences(old), sentences(new)
    removed, added = _only(before, after), _only(after, before)
    pairs = _pairs([before[n] for n in removed], [after[n] for n in added])
    touch = _Touched(spec, suite, new_spec)
    changes: list[tuple[float, Change]] = []
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


def _source_status(rule: Rule, words: str, inside: str, parts: Sequence[str], effort: Effort) -> SourceStatus:
    wanted = quote_match.pieces(words)
    if not wanted or quote_match.match_fragments(wanted, inside, effort):
        return SourceStatus(rule=rule.id, status="kept", source=words)
    nearest, likeness = _nearest(words, parts, effort)
    near = min((_place(piece, inside, effort) for piece in wanted if len(piece) <= len(inside)), default=0.0)
    like = max(likeness, near if near >= OVERLAP else 0.0) >= CHANGED
    return SourceStatus(
        rule=rule.id,
        status="changed" if like else "missing",
        source=words,
        nearest=nearest,
        likeness=round(likeness, 1),
    )


def _nearest(words: str, parts: Sequence[str], effort: Effort) -> tuple[str | None, float]:
    """The sentence that is likest, and how like it is; none where there is none, or not effort enough."""
    from rapidfuzz import fuzz, process, utils

    if not parts or not effort.allows(sum(map(len, parts)) * (len(words) + _PREPARED) / 3 + len(parts) * _CALL):
        return None, 0.0
    best = process.extractOne(words, parts, scorer=fuzz.ratio, processor=utils.default_process)
    return (best[0], float(best[1])) if best else (None, 0.0)


def _place(piece: str, inside: str, effort: Effort) -> float:
    from rapidfuzz import fuzz

    return fuzz.partial_ratio(piece, inside) if effort.partial(len(piece), len(inside)) else 0.0


def _overlap(piece: str, whole: str, effort: Effort) -> bool:
    from rapidfuzz import fuzz

    if piece in whole or whole in piece:
        return True
    if min(len(piece), len(whole)) < 8 or not effort.partial(len(piece), len(whole)):
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
    """The likeliest pairs of an old and a new sentence, each used once.

    Of very many sentences, each is held against those that stand about where it stood.
    """
    old, new = [folded(one) for one in removed], [folded(one) for one in added]
    likely = sorted(_likely(old, new), key=lambda pair: (-pair.likeness, pair.old, pair.new))
    found: list[_Pair] = []
    used_old, used_new = set[int](), set[int]()
    for pair in likely:
        if pair.old not in used_old and pair.new not in used_new:
            found.append(pair)
            used_old.add(pair.old)
            used_new.add(pair.new)
    return found


def _likely(old: Sequence[str], new: Sequence[str]) -> Iterator[_Pair]:
    from rapidfuzz import fuzz

    effort = Effort()
    reach = len(new) if len(old) * len(new) <= MOST_PAIRS else max(1, MOST_PAIRS // len(old) // 2)
    for place, gone in enumerate(old):
        middle = place * len(new) // len(old)
        for other in range(max(0, middle - reach), min(len(new), middle + reach + 1)):
            if effort.ratio(len(gone), len(new[other])):
                likeness = fuzz.ratio(gone, new[other], score_cutoff=PAIRED)
                if likeness >= PAIRED:
                    yield _Pair(likeness, place, other)


class _Touched:
    """The rules and cases that a change touches; the rules' words are prepared once."""

    def __init__(self, spec: Spec | None, suite: Suite | None, new_spec: Spec | None) -> None:
        self._old, self._new = _quoting(spec), _quoting(new_spec)
        self._cases = suite.cases if suite is not None else ()
        self._effort = Effort()

    def change(self, kind: Literal["added", "removed", "changed"], old: str | None, new: str | None) -> Change:
        touched = self._resting(self._old, old) + self._resting(self._new, new)
        rules = tuple(dict.fromkeys(touched))
        cases = tuple(case.id for case in self._cases if case.rule in rules) if rules else ()
        return Change(kind=kind, old=old, new=new, rules=rules, cases=cases)

    def _resting(self, rules: Sequence[tuple[str, list[str]]], sentence: str | None) -> list[str]:
        if sentence is None:
            return []
        whole = folded(sentence)
        return [name for name, pieces in rules if _any_overlap(pieces, whole, self._effort)]


def _quoting(spec: Spec | None) -> list[tuple[str, list[str]]]:
    """Each rule that quotes words, and these in their pieces."""
    return [(rule.id, _pieces(rule.source)) for rule in spec.rules if rule.source] if spec is not None else []
