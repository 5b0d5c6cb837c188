"""What each version of a prompt changed, sentence by sentence (arXiv 2401.03038, section 3.1).

A sentence that stands elsewhere, or only looks different, has not changed: white space, line breaks, list marks,
emphasis, the kind of quotation marks, and capitals outside of quotations, where they may be what is asked for.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from promptpex.core.normal_forms import normal_form
from promptpex.core.records import Change, Delta, Message, PromptVersion, Role
from promptpex.core.sentences import sentences

_LIST_MARK = re.compile(
    r"(?:[(（\[]?(?:\d{1,3}|[a-zA-Z ])[)）\].]|[-*+•–—●○▪◦‣>#]+)\s+"
    r"|[(（]?(?:\d{1,3}|[一二三四五六七八九十]{1,3})[)）、]\s*"
)
_EMPHASIS = re.compile(r"\*\*|__|~~|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)")
_QUOTES = str.maketrans(dict.fromkeys("“”„«»「」『』‹›〝〞＂`", '"') | dict.fromkeys("‘’‚‛′＇", "'"))
_SINGLE = re.compile(r"(?<!\w)'([^'\"]{1,200})'(?!\w)")
_QUOTED = re.compile(r'"[^"]{1,300}"')
_SIGN_SPACE = re.compile(r"(\{[{%][-+]?) *| *([-+]?[%}]\})| *(\|) *")
_END = re.compile(r"[\s.!,;:。！，；：…]+\Z")
_NO_LETTERS = re.compile(r"[\W_]+")
_MOST_STARTS = 8
_MOST_JOINED = 60


def deltas(versions: Sequence[PromptVersion]) -> tuple[Delta, ...]:
    """What each version changed; the first is compared with the empty prompt."""
    keys: dict[str, str] = {}
    split = [_sentences(version.messages, keys) for version in versions]
    names = [None, *(version.name for version in versions)]
    return tuple(
        _delta(names[at], version.name, split[at - 1] if at else [], split[at]) for at, version in enumerate(versions)
    )


def _delta(old: str | None, new: str, before: Sequence[_Sentence], after: Sequence[_Sentence]) -> Delta:
    """What ``new`` changed, in the order of its text, each removed sentence where it stood."""
    same = _same(before, after)
    removed, added = _unjoined(before, after, same)
    partner_of_old = dict(same)
    begins = {sentence.role: place - 0.5 for place, sentence in reversed(list(enumerate(after)))}
    changes: list[tuple[tuple[float, int], Change]] = []
    anchor = -1.0
    for place, sentence in enumerate(before):
        if place in partner_of_old:
            anchor = partner_of_old[place] + 0.5
        elif place in removed:
            changes.append(((max(anchor, begins.get(sentence.role, anchor)), place), _change("removed", sentence)))
    changes += [((float(place), 0), _change("added", after[place])) for place in added]
    return Delta(
        version=new,
        previous=old,
        changes=tuple(change for _, change in sorted(changes, key=lambda item: item[0])),
        moved=_moved([there for _, there in same]),
    )


def same_sentence(text: str) -> str:
    """What sentences are compared by: two that have it in common say the same in another form."""
    text = normal_form("NFKC", text.translate(_QUOTES)).translate(_QUOTES)
    text = _SIGN_SPACE.sub(lambda match: match[1] or match[2] or match[3], " ".join(text.split()))
    mark = _LIST_MARK.match(text)
    text = _EMPHASIS.sub("", text[mark.end() :] if mark is not None else text)
    text = _SINGLE.sub(r'"\1"', text)
    pieces, at = [], 0
    for match in _QUOTED.finditer(text):
        pieces += [text[at : match.start()].casefold(), match.group()]
        at = match.end()
    return _END.sub("", " ".join("".join([*pieces, text[at:].casefold()]).split()))


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    role: Role
    key: str


def _sentences(messages: Sequence[Message], keys: dict[str, str]) -> list[_Sentence]:
    """The sentences of a version; ``keys`` remembers what each text is compared by, since most stay."""
    prompt_sentences = []
    for message in messages:
        for text in sentences(message.content, tags=True):
            if text not in keys:
                keys[text] = same_sentence(text)
            prompt_sentences.append(_Sentence(text, message.role, keys[text]))
    return prompt_sentences


def _change(tag: str, sentence: _Sentence) -> Change:
    return Change.model_validate({"tag": tag, "text": sentence.text, "role": sentence.role})


def _same(before: Sequence[_Sentence], after: Sequence[_Sentence]) -> list[tuple[int, int]]:
    """Places of the sentences that both have, each used once: in the turn of the same role where that can be."""
    pairs: dict[int, int] = {}
    used = set[int]()
    for by_role in (True, False):
        waiting: dict[tuple[str, str], deque[int]] = defaultdict(deque)
        for place, sentence in enumerate(after):
            if place not in used:
                waiting[sentence.key, sentence.role if by_role else ""].append(place)
        for place, sentence in enumerate(before):
            places = waiting.get((sentence.key, sentence.role if by_role else ""))
            if place not in pairs and places:
                pairs[place] = places.popleft()
        used = set(pairs.values())
    return sorted(pairs.items())


def _unjoined(
    before: Sequence[_Sentence], after: Sequence[_Sentence], same: Sequence[tuple[int, int]]
) -> tuple[set[int], set[int]]:
    """The places that only one side has, less those where one line of the one is several of the other."""
    removed = set(range(len(before))) - {place for place, _ in same}
    added = set(range(len(after))) - {place for _, place in same}
    for own_side, mine_left, other_side, theirs_left in (
        (before, removed, after, added),
        (after, added, before, removed),
    ):
        for place, run in list(_joins(own_side, sorted(mine_left), other_side, sorted(theirs_left))):
            if theirs_left.issuperset(run):
                mine_left.remove(place)
                theirs_left.difference_update(run)
    return removed, added


def _joins(
    mine: Sequence[_Sentence], mine_left: Sequence[int], theirs: Sequence[_Sentence], theirs_left: Sequence[int]
) -> Iterator[tuple[int, list[int]]]:
    """Sentences of mine that are several of theirs in a row, with the places of these."""
    starts: dict[str, list[int]] = defaultdict(list)
    letters = {place: _letters(theirs[place].key) for place in theirs_left}
    for order, place in enumerate(theirs_left):
        starts[_beginning(theirs[place].key)].append(order)
    for place in mine_left:
        whole = _letters(mine[place].key)
        for order in starts.get(_beginning(mine[place].key), ())[:_MOST_STARTS]:
            joined_places = theirs_left[order : order + _MOST_JOINED]
            run = _run(whole, ((each, letters[each]) for each in joined_places))
            if len(run) > 1:
                yield place, run
                break


def _run(whole: str, parts: Iterable[tuple[int, str]]) -> list[int]:
    """The first of these parts, as many as make up the whole; none where they do not."""
    at = 0
    places: list[int] = []
    for place, part in parts:
        if not whole.startswith(part, at):
            return []
        at, places = at + len(part), [*places, place]
        if at == len(whole):
            return places
    return []


def _beginning(key: str) -> str:
    return _letters(key[:60])[:6]


def _letters(key: str) -> str:
    return _NO_LETTERS.sub("", key)


def _moved(places: Sequence[int]) -> int:
    """How many of these have to move for all to stand in order: all but the longest rising sequence."""
    ends: list[int] = []
    for place in places:
        at = bisect_left(ends, place)
        ends[at : at + 1] = [place]
    return len(places) - len(ends)
