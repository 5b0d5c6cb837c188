"""A prompt's history for a terminal: what each version changed, and what that is about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from promptpex.codecs.text.wording import cut, quoted
from promptpex.core.records import Delta, History
from promptpex.core.translation import from_data, tr, tr_n
from promptpex.synthesis.history.delta_batches import as_line
from promptpex.synthesis.history.prompt_with_categories import Segment
from promptpex.synthesis.history.taxonomy import TAXONOMY, info_of

_LONGEST = 200
"""Characters of a sentence."""


def history_lines(history: History) -> Iterator[str]:
    """A paragraph per version: its changes, a sentence on a line, and its categories with the words that show them."""
    about = {version.name: version for version in history.versions}
    for delta in history.deltas:
        version = about[delta.version]
        yield "  ".join(part for part in (delta.version, (version.time or "")[:10], version.note) if part)
        yield from (f"  {as_line(one.replace(text=cut(one.text, _LONGEST)))}" for one in delta.changes)
        if delta.moved or not delta.changes:
            yield f"  = {_unchanged(delta)}"
        yield from (f"    {from_data(info_of(one.category).title)}: {quoted(one.source)}" for one in delta.categories)


def category_lines(deltas: Sequence[Delta]) -> Iterator[str]:
    """How many changes of the history each category has, in the order of the taxonomy."""
    counts = Counter(category for delta in deltas for category in {one.category for one in delta.categories})
    rows = [(info, counts[info.name]) for info in TAXONOMY if counts[info.name]]
    width = max((len(from_data(info.title)) for info, _ in rows), default=0)
    for info, times in rows:
        versions = tr_n("{count} version", "{count} versions", times)
        yield f"  {from_data(info.title):<{width}}  {from_data(info.group):<10}  {versions}"


def plain_history(history: History, segments: Iterable[Segment]) -> dict[str, Any]:
    """The history as data for ``--json``, without the texts of the versions."""
    versions: list[Mapping[str, Any]] = [
        {"name": one.name, "time": one.time, "note": one.note, "fingerprint": one.fingerprint}
        for one in history.versions
    ]
    return {
        "versions": versions,
        "deltas": [_plain_delta(delta) for delta in history.deltas],
        "tagged_prompt": [{"text": one.text, "categories": list(one.categories)} for one in segments],
    }


def _plain_delta(delta: Delta) -> dict[str, Any]:
    categories = [{**one.to_dict(), "group": info_of(one.category).group} for one in delta.categories]
    return {**delta.model_dump(mode="json"), "categories": categories}


def _unchanged(delta: Delta) -> str:
    if delta.moved:
        return tr_n("{count} sentence moved", "{count} sentences moved", delta.moved)
    return tr("the same words, in another form")
