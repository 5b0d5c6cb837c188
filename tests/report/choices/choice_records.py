"""A small choice as the page of choices is handed it, that several tests share."""

from __future__ import annotations

from typing import Any

from promptpex.report.choices.records import (
    CategoryCount,
    ChoicePage,
    ChosenShare,
    PageCandidate,
    PageCriterion,
    PageCurve,
    PageExample,
    PageImplication,
    PagePoint,
    PageVersion,
    PromptPiece,
)
from promptpex.stats import Interval


def share(name: str, estimate: float | None = 0.5, n: int = 30) -> ChosenShare:
    """A share of the choice, from 30% to 70%."""
    interval = Interval(estimate, 0.3, 0.7, 0.95, n, "exact")
    return ChosenShare(name, "the outputs that it was chosen by", interval, f"15 of {n}", "at least 60%", few=n < 20)


def candidate(name: str = "names_a_year", state: Any = "chosen", **more: Any) -> PageCandidate:
    """A candidate for the year."""
    criteria = (PageCriterion("The text names the year.", "Inclusion", "version 3f0c2b1"),)
    return PageCandidate(
        **{"id": name, "kind": "regex", "check": r"\d{4}", "state": state, "criteria": criteria} | more
    )


def example(label: Any = "bad", by: tuple[str, ...] = (), **more: Any) -> PageExample:
    """An output for the Night Watch."""
    values = {"id": "e1", "name": "c1/m/0", "inputs": {"work": "The Night Watch"}, "output": "Look at it."}
    return PageExample(**values | {"label": label, "flagged_by": by} | more)


CURVE = PageCurve(
    (PagePoint(0.0, 0.5, ("names_a_year",)), PagePoint(0.1, 0.75, ("names_a_year", "is_short"), proven=False)),
    ffr_limit=0.25,
    coverage_limit=0.6,
    chosen=(0.1, 0.7),
    held_out=(0.2, 0.55),
)


def page(text: str | None = None, **more: Any) -> ChoicePage:
    """A choice with a little of everything; every text is ``text`` where that is given."""

    def words(usual: str) -> str:
        return usual if text is None else text

    one = candidate(words("names_a_year"), why=words("a person said must"), check=words("x"), description=words("d"))
    criterion = PageCriterion(words("The text names the year."), words("Inclusion"), words("version 3f0c2b1"))
    caught = example(
        by=(one.id,),
        name=words("c1/m/0"),
        inputs={words("work"): words("The Night Watch")},
        output=words("Look at it."),
        label_from=words("ada"),
        notes=(words("ada: dull"),),
        reasons={one.id: words("no year")},
        others=(words("is_short"),),
        other_count=1,
    )
    values: dict[str, Any] = {
        "prompt": words("museum.md"),
        "answer": words("cov chooses 1 of 2."),
        "why_none": (words("No set."),),
        "notices": (words("Few examples."),),
        "changes": (words("1 bad output caught now."),),
        "good": 2,
        "bad": 2,
        "shares": (share("coverage"), share("FFR")),
        "candidates": (
            PageCandidate(**{name: getattr(one, name) for name in one.__slots__} | {"criteria": (criterion,)}),
            candidate(words("is_short"), "screened", why=words("passes all 4 examples"), kind=words("word-count")),
        ),
        "examples": (caught, example(output=words("Come.")), example("good", (one.id,), output=words("1642."))),
        "implications": (PageImplication(one.id, words("is_short"), words("a judge"), words(""), words("counts")),),
        "curve": CURVE,
        "pieces": (PromptPiece(words("Name the year"), (words("Inclusion"),)), PromptPiece(words(" always."))),
        "versions": (
            PageVersion(
                *(words("3f0c2b1"), words("2026-01-31T10:00:00"), words("Ask for the year")),
                added=(words("Name the year."),),
                removed=(words("Be brief."),),
                categories=((words("Inclusion"), words("the year")),),
            ),
        ),
        "categories": (
            CategoryCount("content", "", 1, 1, 1, 1),
            CategoryCount("content", words("Inclusion"), 1, 1, 1, 1),
        ),
    }
    return ChoicePage(**values | more)
