"""What the opinions of machines come to, item by item: counted once, and looked at after every grade."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from promptpex.grading.opinions import Opinion


def sigmas(opinions: Mapping[str, Sequence[Opinion]]) -> dict[str, float]:
    """Selectivity-weighted confidence by the item's key: high where the item is probably bad.

    Opinions on graded items count too, since they too make the selectivity.
    """
    selective = selectivity(opinions)
    return {item: round(confidence(each, selective), 9) for item, each in opinions.items()}


def selectivity(opinions: Mapping[str, Sequence[Opinion]]) -> dict[tuple[str, str], float]:
    """By subject and assertion, the share of items that pass, of those on which it says something."""
    spoken: Counter[tuple[str, str]] = Counter()
    passed: Counter[tuple[str, str]] = Counter()
    for each in opinions.values():
        for opinion in each:
            if opinion.status != "none":
                spoken[opinion.subject, opinion.assertion] += 1
                passed[opinion.subject, opinion.assertion] += opinion.status == "pass"
    return {name: passed[name] / count for name, count in spoken.items()}


def confidence(opinions: Sequence[Opinion], selective: Mapping[tuple[str, str], float]) -> float:
    """sigma of an item: the summed selectivity of the assertions that fail it. High: probably bad."""
    return sum(selective[one.subject, one.assertion] for one in opinions if one.status == "fail")
