"""The versions of a prompt, oldest first: from git, from a folder, or from a list of files.

A version counts by what a model is sent: all messages, and nothing of the front matter. One that is the same as the
one before it is left out, one that cannot be read is named and left out.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from promptpex.codecs.files.ordinary_files import decode
from promptpex.core.errors import PromptFileError, SynthesisError
from promptpex.core.records import Change, Delta, Message, Prompt, PromptVersion, Role
from promptpex.core.sentences import normal_form, sentences
from promptpex.core.translation import stored
from promptpex.promptfile import formats, parse, read
from promptpex.synthesis.history.git import Revision, file_history

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


WORKING_COPY = "working copy"
"""The name of what is in the file and not committed."""
MOST_FILES = 500
"""Files of a folder that are read as versions."""
MOST_TAGS = 30_000
"""Tags of templates in the versions that git knows; of a longer history the newest."""
MOST_NEW = 500_000
"""Characters of sentences, 20 more for each, in which versions differ from the next; of a longer history the newest."""

_LFS = b"version https://git-lfs.github.com/spec/"
_NOT_PROMPTS = (".spec.yaml", ".cases.yaml", ".spec.yml", ".cases.yml")
_DIGITS = re.compile(r"(\d{1,18})")


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of a prompt, and sentences about what is not among them.

    Attributes:
        versions: oldest first, the prompt as it is now last; consecutive ones differ.
        notices: what was left out and why.
        former: where the prompt was before it was renamed, as git knows it, the latest place first.
    """

    versions: tuple[PromptVersion, ...]
    notices: tuple[str, ...] = ()
    former: tuple[Path, ...] = ()


def from_git(prompt: Prompt, file: Path, *, since: datetime | None = None) -> Versions:
    """The versions that git knows of the file, and what is in the file now.

    Args:
        since: the first version is then the prompt as it was at this time.
    """
    history = file_history(file)
    notices = list(history.notices)
    revisions = _readable(_since(history.revisions, since), notices)
    versions = [_committed(revision, notices) for revision in revisions]
    now = _version(WORKING_COPY, prompt)
    different = _different([*(version for version in versions if version is not None), now], notices)
    return Versions(different, tuple(notices), history.former)


def from_files(prompt: Prompt, file: Path, paths: Sequence[Path]) -> Versions:
    """The versions in these files, in the order given; of a folder all prompt files in it, in the natural order of
    their names (v2 before v10).

    The prompt itself is the last version. Where its file is one of these, those behind it are left out.
    """
    notices: list[str] = []
    files = [each for path in paths for each in (_in_folder(path, notices) if path.is_dir() else [_existing(path)])]
    places = [place for place, each in enumerate(files) if each.resolve() == file.resolve()]
    if places:
        later = [each.name for each in files[places[-1] + 1 :]]
        if later:
            notices.append(
                stored("left out: {names}, which come after {file} itself", names=", ".join(later), file=file.name)
            )
        files = files[: places[-1]]
    versions = [_read(each, notices) for each in files]
    now = _version(file.name, prompt)
    different = _different([*(version for version in versions if version is not None), now], notices)
    return Versions(different, tuple(notices))


def natural_order(name: str) -> list[tuple[int, int, str]]:
    """The key by which names are sorted as people number them."""
    parts = _DIGITS.split(name.casefold())
    return [(0, int(part), "") if part.isascii() and part.isdigit() else (1, 0, part) for part in parts if part]


def _since(revisions: Sequence[Revision], since: datetime | None) -> Sequence[Revision]:
    """The revisions from this time on, and the one that held when it began."""
    if since is None:
        return revisions
    moment = since.astimezone()
    first = next((at for at, one in enumerate(revisions) if _time(one.time) >= moment), len(revisions))
    return revisions[max(0, first - 1) :]


def _readable(revisions: Sequence[Revision], notices: list[str]) -> Sequence[Revision]:
    room = MOST_TAGS
    for at in reversed(range(len(revisions))):
        room -= (revisions[at].data or b"").count(b"{") // 2
        if room < 0:
            why = stored(
                "versions up to {name} are left out: there are too many template tags", name=revisions[at].commit
            )
            notices.append(why)
            return revisions[at + 1 :]
    return revisions


def _time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError, OSError):
        return datetime.fromisoformat("1970-01-01T00:00:00+00:00")


def _committed(revision: Revision, notices: list[str]) -> PromptVersion | None:
    problem = revision.problem
    if not problem and (revision.data or b"").startswith(_LFS):
        problem = stored("git has only a pointer to its text (Git LFS)")
    if not problem:
        try:
            text = decode(revision.data or b"", path=None, error=PromptFileError, what=formats.WHAT)
            prompt = parse(text, revision.path)
            return _version(revision.commit, prompt, revision.time, revision.note)
        except PromptFileError as error:
            problem = error.message
    notices.append(stored("version {name} is left out: {reason}", name=revision.commit, reason=problem))
    return None


def _in_folder(folder: Path, notices: list[str]) -> list[Path]:
    try:
        names = [path.name for path in folder.iterdir() if _looks_like_prompt(path)]
    except OSError as failure:
        raise SynthesisError(f"the folder of versions cannot be read: {failure.strerror}", path=folder) from None
    if not names:
        raise SynthesisError("there is no prompt file in this folder of versions", path=folder)
    if len(names) > MOST_FILES:
        notices.append(
            stored(
                "of the {count} files in {folder}, the last {number} are used",
                count=len(names),
                folder=folder.name,
                number=MOST_FILES,
            )
        )
    return [folder / name for name in sorted(names, key=lambda name: (natural_order(name), name))[-MOST_FILES:]]


def _looks_like_prompt(path: Path) -> bool:
    name = path.name.lower()
    is_prompt = name.endswith(formats.SUFFIXES) and not name.endswith(_NOT_PROMPTS)
    return is_prompt and not name.startswith((".", "readme")) and path.is_file()


def _existing(path: Path) -> Path:
    if not path.exists():
        raise SynthesisError("there is no such version of the prompt", path=path)
    return path


def _read(path: Path, notices: list[str]) -> PromptVersion | None:
    try:
        return _version(path.name, read(path))
    except PromptFileError as error:
        notices.append(stored("version {name} is left out: {reason}", name=path.name, reason=error.message))
        return None


def _version(name: str, prompt: Prompt, time: str | None = None, note: str = "") -> PromptVersion:
    return PromptVersion(name=name, messages=prompt.messages, time=time, note=note, fingerprint=prompt.fingerprint)


def _newest(versions: list[PromptVersion], notices: list[str]) -> list[PromptVersion]:
    """The newest versions whose sentences can be compared with those before them in a few seconds."""
    room = MOST_NEW
    later: Counter[str] | None = None
    for at in reversed(range(len(versions))):
        here = Counter(text for turn in versions[at].messages for text in sentences(turn.content, tags=True))
        if later is not None:
            room -= sum((20 + len(text)) * count for text, count in (here - later).items())
        if room < 0:
            why = stored(
                "versions before {name} are left out: the history changes too much", name=versions[at + 1].name
            )
            notices.append(why)
            return versions[at + 1 :]
        later = here
    return versions


def _different(versions: Iterable[PromptVersion], notices: list[str]) -> tuple[PromptVersion, ...]:
    """The newest versions without those that say the same as the one before; of two names the earlier stays."""
    different: list[PromptVersion] = []
    for version in versions:
        if not different or different[-1].fingerprint != version.fingerprint:
            different.append(version)
    different = _newest(different, notices)
    names = [version.name for version in different]
    return tuple(
        version.replace(name=f"{version.name} ({number})") if version.name in names[:number] else version
        for number, version in enumerate(different)
    )
