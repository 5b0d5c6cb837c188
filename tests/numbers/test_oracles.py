"""Random small runs against what the definitions say, counted out by hand: shares, p-values, all completions."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise, permutations, product
from typing import Any

import pytest

from promptpex import tables
from promptpex.core.records import Run
from promptpex.report import summarise
from promptpex.tables import records
from promptpex.tables.rankings import rank
from tests.numbers.drawn import Drawn, draw
from tests.numbers.world import Cells, Fate, cases, completions, counts, rows_of, simulated, table

Row = dict[str, Any]
NOT_ASKED = ("unasked", "unjudged", "unjudged broken")
BROKEN: tuple[Fate, ...] = ("broken", "judged broken")


def mean_of_cases(drawn: Drawn, model: str, counted: Sequence[Fate], broken: Sequence[Fate]) -> Fraction | None:
    """The weighted mean over the cases of the share of the outputs counted that are broken."""
    total, weight = Fraction(0), 0
    for number, case in enumerate(drawn.cases):
        fates = [fate for fate in drawn.of(model, number) if fate in counted]
        if fates and drawn.weight(case):
            total += drawn.weight(case) * Fraction(sum(fate in broken for fate in fates), len(fates))
            weight += drawn.weight(case)
    return total / weight if weight else None


def by_definition(drawn: Drawn, model: str) -> Row:
    """A model's figures as the words of the table define them."""
    fates = [fate for number in range(len(drawn.cases)) for fate in drawn.of(model, number)]
    scored = [fate for fate in fates if fate in ("kept", *BROKEN)]
    bound = "open" in fates
    usable: tuple[Fate, ...] = ("kept", "broken", "judged broken", "open")
    counted: tuple[Fate, ...] = usable if bound else ("kept", "broken", "judged broken")
    return {
        "outputs": len(fates),
        "scored": len(scored),
        "non_compliant": sum(fate in BROKEN for fate in fates),
        "passed": fates.count("kept"),
        "not_asked": sum(fate in NOT_ASKED for fate in fates),
        "unscored": len(fates) - len(scored),
        "errors": sum(fate in ("cut", "unasked") for fate in fates),
        "usable": sum(fate in usable for fate in fates),
        "non_compliance": mean_of_cases(drawn, model, counted, BROKEN) if scored else None,
        "best_case": mean_of_cases(drawn, model, (*usable, "cut"), BROKEN),
        "worst_case": mean_of_cases(drawn, model, (*usable, "cut"), (*BROKEN, "open", "cut")),
    }


@pytest.mark.parametrize("start", range(0, 30, 10))
def test_the_figures_of_a_model_are_what_they_are_defined_as(start: int) -> None:
    for seed in range(start, start + 10):
        drawn = draw(seed, most_cases=30)
        summary = summarise(drawn.run)
        for name, row in rows_of(summary).items():
            expected = by_definition(drawn, name)
            assert sum(summary.gaps.unscored.get(f"fake/{name}", {}).values()) == expected["unscored"], (seed, name)
            for column, value in expected.items():
                shown = row[column]
                assert (shown is None) == (value is None), (seed, name, column)
                assert shown is None or shown == pytest.approx(float(value)), (seed, name, column)
            if row["non_compliance"] is not None:
                assert row["at_least"] is any("open" in drawn.of(name, n) for n in range(len(drawn.cases)))
                assert 0 <= row["ci_low"] <= row["non_compliance"] <= row["ci_high"] <= 1
                assert row["worst_case"] <= row["worst_high"]


def flipped(differences: Sequence[Fraction]) -> float:
    """The share of all signings of the differences whose sum is at least as far from 0."""
    sizes = [abs(one) for one in differences if one]
    seen = abs(sum(differences, Fraction(0)))
    sums = (abs(signed(signs, sizes)) for signs in signings(len(sizes)))
    reached = [one >= seen for one in sums]
    return sum(reached) / len(reached)


def signed(signs: Sequence[int], sizes: Sequence[Fraction]) -> Fraction:
    return sum((sign * size for sign, size in zip(signs, sizes, strict=True)), Fraction(0))


def signings(count: int) -> Iterator[tuple[int, ...]]:
    return product((-1, 1), repeat=count)


@pytest.mark.parametrize("seed", range(40))
def test_the_p_value_of_a_difference_counts_all_signings(seed: int) -> None:
    """Ten cases, one to four repeats, some outputs cut: at the completion that speaks most against the change."""
    rng = random.Random(seed)
    repeats = rng.choice([1, 2, 3, 4])
    weights: dict[str, int] = rng.choice([{}, {"rule": 3}, {"inverse": 2}])
    made = cases(10, 2, inverses=True)
    fates = [once(rng, repeats) for _ in range(2)]
    before, after = (tables.outputs(simulated(["a"], made, table(of), aims=2, repeats=repeats)) for of in fates)
    ids = [case.id for case in made]
    comparison = tables.comparison(before, after, models=[("fake/a", "fake/a")], cases=ids, weights=weights)
    weight = [weights.get("inverse" if case.inverse else "rule", 1) for case in made]
    worse, better = (
        [w * d for w, d in zip(weight, shifts(fates[0], fates[1], repeats, lost), strict=True)] for lost in (0, 1)
    )
    expected = min(flipped(worse) if sum(worse) > 0 else 1.0, flipped(better) if sum(better) < 0 else 1.0)
    assert comparison["p"].item() == pytest.approx(expected)
    assert (comparison["decision"].item() != "undecided") == (expected <= 0.05)


def once(rng: random.Random, repeats: int) -> Cells:
    """One run of one model on ten cases."""
    share = rng.random()
    return {
        ("a", n, r): "cut" if rng.random() < 0.05 else "broken" if rng.random() < share else "kept"
        for n in range(10)
        for r in range(repeats)
    }


def shifts(before: Cells, after: Cells, repeats: int, lost: int) -> list[Fraction]:
    """Per case the mean of the second run less that of the first; ``lost``: in which of them the cut are broken."""

    def broken(fates: Cells, n: int, cut: bool) -> int:
        return sum(fates["a", n, r] == "broken" or (cut and fates["a", n, r] == "cut") for r in range(repeats))

    return [Fraction(broken(after, n, lost == 1) - broken(before, n, lost == 0), repeats) for n in range(10)]


def tiny(seed: int) -> tuple[list[str], int, int, float, Cells]:
    """Models, cases, repeats, tolerance and fates, of which up to four are open."""
    rng = random.Random(seed)
    names, count = ["a", "b", "c"][: rng.randint(2, 3)], rng.randint(8, 20)
    repeats, tolerance = rng.choice([1, 1, 2]), rng.choice([0.1, 0.3, 0.4, 0.5])
    share = {name: rng.choice([0.0, 0.02, 0.1, 0.9, 1.0]) for name in names}
    fates: Cells = {
        (name, n, r): "broken" if rng.random() < share[name] else "kept"
        for name in names
        for n in range(count)
        for r in range(repeats)
    }
    lost: Fate = rng.choice(["open", "cut", "cut"])
    for key in rng.sample(list(fates), rng.randint(1, 4)):
        fates[key] = lost
    return names, count, repeats, tolerance, fates


def placed(names: list[str], count: int, repeats: int, tolerance: float, fates: Cells) -> dict[str, Any]:
    run = simulated(names, cases(count, 4), table(fates), aims=4, repeats=repeats)
    question = tables.RankingOptions(tolerance=tolerance)
    decisions = tables.rankings(tables.outputs(run), list(run.manifest.models), question).models
    return {name.removeprefix("fake/"): one for name, one in decisions.items()}


def placed_whole(names: list[str], count: int, repeats: int, tolerance: float, fates: Cells) -> dict[str, Any]:
    """The same where nothing is open: counts say it all."""
    broken = {name: [[fates[name, n, r] == "broken" for r in range(repeats)] for n in range(count)] for name in names}
    return dict(rank(counts(**broken), tables.RankingOptions(tolerance=tolerance)).models)


@pytest.mark.parametrize("start", range(0, 40, 10))
def test_what_is_claimed_is_claimed_in_every_completion(start: int) -> None:
    claimed = 0
    for seed in range(start, start + 10):
        names, count, repeats, tolerance, fates = tiny(seed)
        claims = {name: one.outcome for name, one in placed(names, count, repeats, tolerance, fates).items()}
        decided = {name: place for name, place in claims.items() if place in ("best", "tied", "worse")}
        claimed += len(decided)
        for whole in completions(fates) if decided else ():
            completed = placed_whole(names, count, repeats, tolerance, whole)
            for name, place in decided.items():
                allowed = {"tied": ("tied", "best", "worse")}.get(place, (place,))
                assert completed[name].outcome in allowed, (seed, name, place)
                if place == "tied" and completed[name].outcome == "worse":
                    assert completed[name].difference.estimate < tolerance, (seed, name)
    assert claimed >= 3


def spans(fates: Cells, count: int) -> dict[str, Row]:
    """The table of two models, each case asked once."""
    run = simulated(["a", "b"], cases(count, 4), table(fates), aims=4)
    models = tables.models(tables.outputs(run), order=list(run.manifest.models))
    return {row["model"].removeprefix("fake/"): row for row in records(models)}


@pytest.mark.parametrize("seed", range(12))
def test_intervals_of_missing_verdicts_hold_whatever_these_are(seed: int) -> None:
    """Share and difference of every completion, with their intervals, lie inside."""
    rng = random.Random(seed)
    count, share = rng.randint(5, 40), {"a": rng.random() * 0.6, "b": rng.random() * 0.6}
    fates: Cells = {
        (name, n, 0): "broken" if rng.random() < share[name] else "kept" for name in "ab" for n in range(count)
    }
    for key in rng.sample(list(fates), 3):
        fates[key] = "open"
    outer = spans(fates, count)
    (versus,) = (name for name in "ab" if outer[name]["versus"] is None)
    other = "b" if versus == "a" else "a"
    assert outer[other]["difference"] is None
    for whole in completions(fates):
        inner = spans(whole, count)
        for name in "ab":
            for column in ("ci_low", "ci_high", "non_compliance"):
                assert outer[name]["ci_low"] - 1e-9 <= inner[name][column] <= outer[name]["ci_high"] + 1e-9
        (compared,) = (name for name in "ab" if inner[name]["versus"] is not None)
        sign = 1 if compared == other else -1
        for column in ("difference", "difference_low", "difference_high"):
            value = sign * inner[compared][column]
            assert outer[other]["difference_low"] - 1e-9 <= value <= outer[other]["difference_high"] + 1e-9


def beating(drawn: Drawn) -> dict[str, set[str]]:
    """Per model who is shown to break its rules less often: signings counted out, Holm by hand over all pairs."""
    p = {
        (one, other): flipped(differences) if sum(differences) > 0 else 1.0
        for one, other in permutations(drawn.models, 2)
        if (differences := apart(drawn, one, other)) is not None
    }
    scored = {name for name in drawn.models if set(flat(drawn, name)) & {"kept", *BROKEN}}
    pairs = {frozenset(couple): min(p.get(couple, 1.0), p.get(couple[::-1], 1.0)) for couple in permutations(scored, 2)}
    ordered, least = sorted(pairs, key=lambda pair: pairs[pair]), 0.0
    shown = set()
    for place, pair in enumerate(ordered):
        least = max(least, (len(ordered) - place) * pairs[pair])
        if least <= 0.05:
            shown.add(pair)
    return {name: {other for other in scored if {name, other} in shown and p[name, other] < 1} for name in scored}


def flat(drawn: Drawn, model: str) -> list[Fate]:
    return [fate for number in range(len(drawn.cases)) for fate in drawn.of(model, number)]


def apart(drawn: Drawn, one: str, other: str) -> list[Fraction] | None:
    """The differences on the cases asked of both, what is open counted for the first and against the second."""
    differences = []
    for number, case in enumerate(drawn.cases):
        first, second = ([fate for fate in drawn.of(name, number) if fate not in NOT_ASKED] for name in (one, other))
        if first and second and drawn.weight(case):
            mine = Fraction(sum(fate in BROKEN for fate in first), len(first))
            theirs = Fraction(sum(fate in (*BROKEN, "open", "cut") for fate in second), len(second))
            differences.append(drawn.weight(case) * (mine - theirs))
    return differences or None


@pytest.mark.parametrize("start", range(0, 40, 20))
def test_places_are_what_signings_and_holm_by_hand_give(start: int) -> None:
    called = 0
    for seed in range(start, start + 20):
        drawn = draw(seed, most_cases=12, lost=0.3)
        beaten, rows = beating(drawn), rows_of(summarise(drawn.run))
        for name, row in rows.items():
            by = {f"fake/{other}" for other in beaten.get(name, set())}
            assert (row["decision"] == "worse") is bool(by), (seed, name)
            assert (row["beaten_by"] in by) if by else (row["beaten_by"] is None), (seed, name)
            others = [other for other in drawn.models if other != name]
            best = bool(others) and all(beaten.get(other) for other in others) and not by and not row["at_least"]
            assert (row["decision"] == "best") is (best and row["scored"] > 0), (seed, name)
            called += bool(by)
    assert called


def complete(seed: int) -> tuple[Run, list[str], dict[str, int]]:
    """A run in which everything was scored, and how often its models break a rule, all outputs weighed alike."""
    rng = random.Random(seed)
    count, repeats = rng.choice([10, 40, 120, 304]), rng.choice([1, 1, 2, 5])
    names = [f"m{number}" for number in range(5)]
    broken = {
        name: set(rng.sample(range(count * repeats), rng.choice([0, 0, 1, 2, 3, count // 4, count * repeats])))
        for name in names
    }
    run = simulated(
        names,
        cases(count, 8),
        lambda model, case, repeat: "broken" if case * repeats + repeat in broken[model] else "kept",
        judge=False,
        repeats=repeats,
    )
    return run, names, {name: len(failures) for name, failures in broken.items()}


@pytest.mark.parametrize("seed", range(12))
def test_fewer_failures_never_have_a_higher_end_in_one_report(seed: int) -> None:
    """With repeats it also depends on how alike they are; but none has a lower end than a model that never failed."""
    run, names, failures = complete(seed)
    once = not any(output.repeat for output in run.outputs)
    rows = rows_of(summarise(run))
    ordered = sorted(names, key=lambda name: failures[name])
    for fewer, more in pairwise(ordered):
        assert rows[ordered[0]]["ci_high"] <= rows[more]["ci_high"] + 1e-12 or failures[ordered[0]]
        for column in ("ci_low", "ci_high", "worst_low", "worst_high") if once else ():
            low, high = rows[fewer][column], rows[more][column]
            assert low < high + 1e-12 if failures[fewer] < failures[more] else low == pytest.approx(high)
        if once and failures[fewer] < failures[more] < failures[ordered[-1]]:
            assert rows[fewer]["ci_high"] < rows[more]["ci_high"]


@pytest.mark.parametrize("seed", range(10))
def test_names_and_the_order_of_models_and_cases_say_nothing(seed: int) -> None:
    drawn = draw(seed + 500, most_cases=40)
    rng = random.Random(seed)
    order, models = list(range(len(drawn.run.outputs))), list(drawn.run.manifest.models)
    rng.shuffle(order)
    rng.shuffle(models)
    outputs = tuple(drawn.run.outputs[number] for number in order)
    shuffled = drawn.run.replace(outputs=outputs, manifest=drawn.run.manifest.replace(models=tuple(models)))
    one, other = rows_of(summarise(drawn.run)), rows_of(summarise(shuffled))
    for name, row in one.items():
        for column in ("decision", "non_compliance", "ci_low", "ci_high", "worst_high", "scored", "not_asked", "p"):
            if column != "p" or row["versus"] == other[name]["versus"]:
                assert row[column] == pytest.approx(other[name][column]) or row[column] == other[name][column]
