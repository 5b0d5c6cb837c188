"""What the answer says in words is what the table says in figures, and a person could say it aloud."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from promptpex.report import summarise
from tests.numbers.drawn import draw
from tests.numbers.world import Fate, by, cases, first, rows_of, summed, told

Row = dict[str, Any]
NUMBER = r"<?\d+(?:\.\d+)?"
SHARE = rf"(?P<bound>at least )?(?P<share>{NUMBER})%, interval (?P<low>{NUMBER})–(?P<high>{NUMBER})%"


def sentences(answer: str) -> list[str]:
    """The sentences of an answer; a point inside of a number ends none."""
    return re.split(r"(?<=\.) (?=[A-Z]|fake/)", answer)


def near(printed: str, share: float) -> bool:
    """Whether a printed percentage is this share to the digits that it has."""
    if printed.startswith("<"):
        return 0 < 100 * share < float(printed[1:])
    digits = len(printed.partition(".")[2])
    return abs(float(printed) - 100 * share) <= 0.5 / float(10**digits) + 1e-9


def check_shares(answer: str, rows: dict[str, Row]) -> int:
    """Every share with its interval is its model's; how many there are."""
    found = list(re.finditer(rf"fake/(?P<name>\w+) \({SHARE}", answer))
    found += list(re.finditer(rf"fake/(?P<name>\w+) (?:is shown to be the best: it )?broke [^(]*\({SHARE}", answer))
    assert len(found) == len(re.findall(r"\binterval\b", answer))
    for one in found:
        row = rows[one["name"]]
        assert bool(one["bound"]) is bool(row["at_least"])
        assert near(one["share"], row["non_compliance"])
        assert near(one["low"], row["ci_low"])
        assert near(one["high"], row["ci_high"])
    return len(found)


def check_counts(answer: str, rows: dict[str, Row]) -> None:
    """Counts of outputs are the table's: broken, scored, unscored, not asked."""
    for told_of in sentences(answer):
        for count, whole, name in re.findall(r"(\d+) of (\d+) outputs of fake/(\w+)", told_of):
            row = rows[name]
            cut = told_of.startswith("The run ended before")
            expected = row["not_asked"] if cut else row["unscored"] - row["not_asked"]
            assert (int(count), int(whole)) == (expected, row["outputs"] - (0 if cut else row["not_asked"]))
    for name, broken, whole, kind in re.findall(
        r"fake/(\w+) (?:is shown to be the best: it )?broke [^(\d]*(\d+) of (\d+) (scored|usable) outputs", answer
    ):
        row = rows[name]
        assert (int(broken), int(whole)) == (row["non_compliant"], row[kind])


def check_bounds(answer: str, rows: dict[str, Row]) -> None:
    """What the unscored leave open."""
    for name, low, high in re.findall(r"fake/(\w+)'s non-compliance between (<?[\d.]+)% and (<?[\d.]+)%", answer):
        assert near(low, rows[name]["best_case"])
        assert near(high, rows[name]["worst_case"])


def check_places(answer: str, rows: dict[str, Row]) -> None:
    """Who is called what."""
    for told_of, place in claims(answer):
        names = re.findall(r"fake/(\w+) \((?:at least )?\d", told_of)
        assert {rows[name]["place"] for name in names} == {place}
        assert len(names) == sum(row["place"] == place and row["scored"] > 0 for row in rows.values())
    for name, better in re.findall(r"fake/(\w+) \([^()]*, worse than fake/(\w+)\)", answer):
        assert rows[name]["beaten_by"] == f"fake/{better}"
    for few in re.findall(r"Few outputs were scored of ([^:]*):", answer):
        for name, count in re.findall(r"fake/(\w+) \((\d+)\)", few):
            assert rows[name]["scored"] == int(count) < 20


def claims(answer: str) -> Iterator[tuple[str, str]]:
    for told_of in sentences(answer):
        if "worse than the best" in told_of:
            yield told_of, "tied"
        elif told_of.startswith("Shown to be worse:"):
            yield told_of, "worse"
        elif told_of.startswith("Undecided: "):
            yield told_of, "undecided"


def aloud(answer: str) -> None:
    """Nothing that nobody would say."""
    assert answer == answer.strip()
    assert answer.endswith(".")
    assert not re.search(r"nan|None|inf\b|  |\.\.|,,|;;| ,| \.|\(\)|and and|of of", answer), answer
    assert "ertain" not in answer
    for told_of in sentences(answer):
        assert told_of[0].isupper() or told_of.startswith("fake/"), told_of


@pytest.mark.parametrize("start", range(0, 105, 15))
def test_every_number_in_the_answer_is_the_table_s(start: int) -> None:
    shares = 0
    for seed in range(start, start + 15):
        summary = summarise(draw(seed, most_cases=60).run)
        rows, answer = rows_of(summary), summary.answer
        assert answer is not None
        shares += check_shares(answer, rows)
        check_counts(answer, rows)
        check_bounds(answer, rows)
        check_places(answer, rows)
        aloud(answer)
    assert shares > 10


def without_ends(answer: str) -> str:
    """An answer without the ends of its intervals: those are held against the table elsewhere."""
    return re.sub(rf"interval {NUMBER}–{NUMBER}%", "interval", answer)


def fates_of(*table: tuple[str, int, Fate]) -> Any:
    """Per model, that so many of its first cases have a fate, the others are kept."""
    return by({name: first(count, fate=fate) for name, count, fate in table})


@pytest.mark.parametrize(
    ("table", "count", "expected"),
    [
        (
            (("a", 6, "broken"),),
            60,
            "fake/a broke at least one rule in 6 of 60 scored outputs (10%, interval 3.8–21%).",
        ),
        (
            (("a", 0, "kept"), ("b", 30, "broken")),
            60,
            "fake/a is shown to be the best: it broke a rule in 0 of 60 scored outputs (0%, interval 0–6%). Shown to "
            "be worse: fake/b (50%, interval 37–63%, worse than fake/a).",
        ),
        ((("a", 60, "cut"), ("b", 60, "cut")), 60, "Nothing was scored, so nothing can be said of any model."),
        (
            (("a", 60, "unasked"), ("b", 60, "unasked")),
            60,
            "Nothing was scored, so nothing can be said of any model. Not asked: fake/a and fake/b.",
        ),
        (
            (("a", 0, "kept"), ("b", 0, "kept"), ("c", 0, "kept")),
            300,
            "fake/a (0%, interval 0–1.2%), fake/b (0%, interval 0–1.2%) and "
            "fake/c (0%, interval 0–1.2%) are tied: "
            "each is shown to be less than 5 percentage points worse than the best.",
        ),
        (
            (("a", 15, "broken"), ("b", 15, "broken")),
            30,
            "Undecided: fake/a (50%, interval 31–69%) and fake/b (50%, interval 31–69%); these data do not tell "
            "which model is best.",
        ),
    ],
    ids=["one", "two", "none scored", "none asked", "all tied", "undecided"],
)
def test_the_answer_begins(table: tuple[tuple[str, int, Fate], ...], count: int, expected: str) -> None:
    summary, _ = summed(told([name for name, _, _ in table], cases(count, 16), fates_of(*table)))
    assert summary.answer is not None
    assert without_ends(summary.answer).startswith(without_ends(expected))
    aloud(summary.answer)


def test_cheapest_and_fastest_say_what_they_rest_on() -> None:
    run = told(["a", "b"], cases(300, 16), fates_of(("a", 2, "broken"), ("b", 2, "broken")), judge=False)
    priced = [
        one.replace(
            cost_usd=0.002 if one.model == "fake/a" else 0.001, latency_ms=1200.0 if one.model == "fake/a" else 2500.0
        )
        for one in run.outputs
    ]
    summary, rows = summed(run.replace(outputs=tuple(priced)))
    assert summary.answer is not None
    assert (
        "Of those that are good enough, the cheapest seen is fake/b ($0.001 an output, the mean of 300) and the "
        "fastest seen is fake/a (1.20 s, the median of 300)." in summary.answer
    )
    assert (rows["b"]["cheapest"], rows["a"]["fastest"]) == (True, True)
