"""What the answer says in words is what the table says in figures, and a person could say it aloud."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from promptpex.report import summarise
from tests.numbers.drawn import draw
from tests.numbers.world import Fate, by, cases, first, rows_of, simulated, summed

Row = dict[str, Any]
NUMBER = r"<?\d+(?:\.\d+)?"
CI = r"\d+(?:\.\d+)?% CI"
SHARE = rf"(?P<bound>at least )?(?P<share>{NUMBER})%, {CI} (?P<low>{NUMBER})–(?P<high>{NUMBER})%"


def sentences(answer: str) -> list[str]:
    """The sentences of an answer; a point inside of a number ends none."""
    return re.split(r"(?<=\.) (?=[A-Z]|fake/)", answer)


def unmarked(answer: str | None) -> str:
    """An answer without what it says of judges that nobody has checked: whose verdicts they are changes no figure; and
    with its lower bounds of 0% as any other."""
    assert answer is not None
    answer = re.sub(r",? (?:by this judge|Check this judge with `promptpex grade`\.)", "", answer)
    none = r"none of (\d+) usable (outputs?) as far as known \("
    return re.sub(none, r"at least 0 of \1 usable \2 (0 known, ", answer).replace("(0 known", "(at least 0%")


def near(printed: str, share: float) -> bool:
    """Whether a printed percentage is this share to the digits that it has."""
    if printed.startswith("<"):
        return 0 < 100 * share < float(printed[1:])
    digits = len(printed.partition(".")[2])
    return abs(float(printed) - 100 * share) <= 0.5 / float(10**digits) + 1e-9


def check_shares(answer: str, rows: dict[str, Row]) -> int:
    """Every share with its interval is its model's; how many there are."""
    worse = SHARE.replace(f", {CI}", rf" \({CI}")
    shares = list(re.finditer(rf"fake/(?P<name>\w+) \({SHARE}", answer))
    shares += list(re.finditer(rf"fake/(?P<name>\w+) (?:is clearly the best: it )?broke [^(]*\({SHARE}", answer))
    shares += list(re.finditer(rf"fake/(?P<name>\w+) is clearly worse than fake/\w+: {worse}", answer))
    assert len(shares) == len(re.findall(r"\bCI\b", answer))
    for match in shares:
        row = rows[match["name"]]
        assert bool(match["bound"]) is bool(row["at_least"])
        assert near(match["share"], row["non_compliance"])
        assert near(match["low"], row["ci_low"])
        assert near(match["high"], row["ci_high"])
    return len(shares)


def check_counts(answer: str, rows: dict[str, Row]) -> None:
    """Counts of outputs are the table's: broken, scored, unscored, not asked."""
    for sentence in sentences(answer):
        for count, whole, name in re.findall(r"(\d+) of (\d+) outputs of fake/(\w+)", sentence):
            row = rows[name]
            cut = sentence.startswith("The run ended before")
            expected = row["not_asked"] if cut else row["unscored"] - row["not_asked"]
            assert (int(count), int(whole)) == (expected, row["outputs"] - (0 if cut else row["not_asked"]))
    for name, broken, whole, kind in re.findall(
        r"fake/(\w+) (?:is clearly the best: it )?broke [^(\d]*(\d+) of (\d+) (scored|usable) outputs", answer
    ):
        row = rows[name]
        assert (int(broken), int(whole)) == (row["non_compliant"], row[kind])


def check_bounds(answer: str, rows: dict[str, Row]) -> None:
    """What the unscored leave open."""
    for name, low, high in re.findall(r"fake/(\w+)'s non-compliance between (<?[\d.]+)% and (<?[\d.]+)%", answer):
        assert near(low, rows[name]["best_case"])
        assert near(high, rows[name]["worst_case"])


def check_decisions(answer: str, rows: dict[str, Row]) -> None:
    """Who is called what."""
    for sentence, place in claims(answer):
        names = re.findall(r"fake/(\w+)(?: \(| is clearly worse than fake/\w+: )(?:at least )?\d", sentence)
        assert {rows[name]["decision"] for name in names} == {place}
        if place != "worse":  # a sentence for each of those
            assert len(names) == sum(row["decision"] == place and row["scored"] > 0 for row in rows.values())
    worse = re.findall(r"fake/(\w+) is clearly worse than fake/(\w+):", answer)
    assert all(rows[name]["beaten_by"] == f"fake/{better}" for name, better in worse)
    assert len(worse) == sum(row["decision"] == "worse" and row["scored"] > 0 for row in rows.values())
    few = re.findall(r"fake/(\w+) has only (\d+) scored cases?;", answer)
    listed = re.search(r"([^.]*) have fewer than 20 scored cases each;", answer)
    few += re.findall(r"fake/(\w+) \((\d+)\)", listed[1]) if listed else []
    scored = {name: min(row["scored"], row["cases"]) for name, row in rows.items()}
    assert dict(few) == {name: str(count) for name, count in scored.items() if 0 < count < 20}


def claims(answer: str) -> Iterator[tuple[str, str]]:
    for sentence in sentences(answer):
        if "worse than the best" in sentence:
            yield sentence, "tied"
        elif " is clearly worse than " in sentence:
            yield sentence, "worse"
        elif sentence.startswith("Undecided: "):
            yield sentence, "undecided"


def aloud(answer: str) -> None:
    """Nothing that one would not say."""
    assert answer == answer.strip()
    assert answer.endswith(".")
    assert not re.search(r"nan|None|inf\b|  |\.\.|,,|;;| ,| \.|\(\)|and and|of of", answer), answer
    assert "ertain" not in answer
    for sentence in sentences(answer):
        assert sentence[0].isupper() or sentence.startswith("fake/"), sentence


@pytest.mark.parametrize("start", range(0, 60, 15))
def test_every_number_in_the_answer_is_the_table_s(start: int) -> None:
    shares = 0
    for seed in range(start, start + 15):
        summary = summarise(draw(seed, most_cases=60).run)
        rows, answer = rows_of(summary), unmarked(summary.answer)
        shares += check_shares(answer, rows)
        check_counts(answer, rows)
        check_bounds(answer, rows)
        check_decisions(answer, rows)
        aloud(answer)
    assert shares > 10


def without_ends(answer: str) -> str:
    """An answer without the ends of its intervals: those are held against the table elsewhere."""
    return re.sub(rf"CI {NUMBER}–{NUMBER}%", "CI", answer)


def fates_of(*table: tuple[str, int, Fate]) -> Any:
    """Per model, that so many of its first cases have a fate, the others are kept."""
    return by({name: first(count, fate=fate) for name, count, fate in table})


@pytest.mark.parametrize(
    ("table", "count", "expected"),
    [
        (
            (("a", 6, "broken"),),
            60,
            "fake/a broke at least one rule in 6 of 60 scored outputs (10%, 95% CI 3.8–21%).",
        ),
        (
            (("a", 0, "kept"), ("b", 30, "broken")),
            60,
            "fake/a is clearly the best: it broke a rule in 0 of 60 scored outputs (0%, 95% CI 0–6%). fake/b "
            "is clearly worse than fake/a: 50% (95% CI 37–63%).",
        ),
        ((("a", 60, "cut"), ("b", 60, "cut")), 60, "Nothing was scored, so no model can be assessed."),
        (
            (("a", 60, "unasked"), ("b", 60, "unasked")),
            60,
            "Nothing was scored, so no model can be assessed. Not asked: fake/a and fake/b.",
        ),
        (
            (("a", 0, "kept"), ("b", 0, "kept"), ("c", 0, "kept")),
            300,
            "fake/a (0%, 95% CI 0–1.2%), fake/b (0%, 95% CI 0–1.2%) and "
            "fake/c (0%, 95% CI 0–1.2%) are tied: "
            "each is clearly less than 5 percentage points worse than the best.",
        ),
        (
            (("a", 15, "broken"), ("b", 15, "broken")),
            30,
            "Undecided: fake/a (50%, 95% CI 31–69%) and fake/b (50%, 95% CI 31–69%); these data do not show "
            "which model is best.",
        ),
    ],
    ids=["one", "two", "none scored", "none asked", "all tied", "undecided"],
)
def test_the_answer_begins(table: tuple[tuple[str, int, Fate], ...], count: int, expected: str) -> None:
    summary, _ = summed(simulated([name for name, _, _ in table], cases(count, 16), fates_of(*table)))
    assert without_ends(unmarked(summary.answer)).startswith(without_ends(expected))
    aloud(unmarked(summary.answer))


def test_cheapest_and_fastest_say_what_they_rest_on() -> None:
    run = simulated(["a", "b"], cases(300, 16), fates_of(("a", 2, "broken"), ("b", 2, "broken")), judge=False)
    priced = [
        one.replace(
            cost_usd=0.002 if one.model == "fake/a" else 0.001, latency_ms=1200.0 if one.model == "fake/a" else 2500.0
        )
        for one in run.outputs
    ]
    summary, rows = summed(run.replace(outputs=tuple(priced)))
    assert summary.answer is not None
    assert (
        "Of those that are good enough, the cheapest is fake/b ($0.001 per output, mean of 300) and the "
        "fastest is fake/a (median 1.20 s of 300)." in summary.answer
    )
    assert (rows["b"]["cheapest"], rows["a"]["fastest"]) == (True, True)
