"""Which models are as good as the best, which are certainly worse, and where the data cannot tell.

A missing difference is no tie. Two statements are possible about a model, each with its own test:

- *worse*: some other model passes more often. McNemar's exact test for every pair of models, corrected by
  Holm over all pairs. All pairs, not the winner against the rest: the winner is picked by looking at the
  data, and a correction over k-1 comparisons with it would ignore that choice.
- *tied*: less than the tolerance worse than the best, whichever model that is in truth: shown only if a
  non-inferiority test against every other model succeeds (an intersection-union test, Berger 1982,
  Technometrics 24:295, which needs no correction over the others, and no knowledge of who is best), corrected
  by Holm over the models.

What neither test shows is *undecided*. Each kind of statement is wrong about any model at all with probability
alpha at most. The cases count as independent of each other given the rules, which are all the rules of the prompt
and not a sample; repeats of a case have to be one value before they come here.

The tolerance is 5 percentage points unless told otherwise: one case in twenty, about what asking the same
model again moves, and the finest that suites of one to two hundred cases can show; the number of cases needed
grows with the inverse of it squared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from promptpex.errors import InputError
from promptpex.stats.arguments import require_share
from promptpex.stats.holm import holm
from promptpex.stats.intervals import Interval, wilson
from promptpex.stats.noninferiority import non_inferiority
from promptpex.stats.paired import PairedCounts, count_pairs, mcnemar, tango_difference
from promptpex.stats.power import more_cases_to_decide

DEFAULT_TOLERANCE = 0.05

Results = Mapping[str, Mapping[str, bool | None]]
Place = Literal["best", "reference", "better", "tied", "worse", "undecided", "unscored"]

_HOPELESS = 0.25


@dataclass(frozen=True, slots=True)
class PairTest:
    """McNemar's exact test of two models: ``p`` as it is, ``adjusted`` by Holm over the whole family."""

    first: str
    second: str
    counts: PairedCounts
    p: float
    adjusted: float


@dataclass(frozen=True, slots=True)
class ModelPlace:
    """Where a model stands.

    Attributes:
        model: its name.
        place: ``best`` (largest share of passes seen) or ``reference``; ``tied``, ``worse``, ``undecided``;
            ``better`` than a named reference; ``unscored`` when nothing of it could be compared.
        share: share of passes among its scored cases, with Wilson's interval.
        counts: its pairs with the best or the reference, the model itself first.
        difference: its share minus that of the best or the reference on common cases, Tango's interval; for
            reading, not adjusted for the number of models.
        p: adjusted p-value of the difference that says most: from the model that beats it most clearly, else
            from the best or the reference.
        beaten_by: the model that certainly passes more often, the clearest; ``None`` if there is none.
        within_tolerance: shown to be less than the tolerance worse; may hold beside ``worse``: certainly
            worse, by certainly little.
        p_tolerance: adjusted p-value behind it.
        more_cases: for ``undecided``, cases beyond those compared that would decide with probability 0.8 if
            what was seen is true; ``None`` when no number would or nothing is undecided.
    """

    model: str
    place: Place
    share: Interval
    counts: PairedCounts
    difference: Interval
    p: float
    beaten_by: str | None
    within_tolerance: bool
    p_tolerance: float
    more_cases: int | None


@dataclass(frozen=True, slots=True)
class Suitability:
    """The places of all models, best share first.

    Attributes:
        anchor: the best model seen, or the named reference; ``None`` when nothing was scored.
        named: whether ``anchor`` was named by the user.
        tolerance: the loss that one is ready to accept, as a share.
        alpha: the probability of any wrong statement, for each of the two kinds of statement.
        models: one place per model.
        pairs: the tests behind ``worse`` and ``better``.
    """

    anchor: str | None
    named: bool
    tolerance: float
    alpha: float
    models: tuple[ModelPlace, ...]
    pairs: tuple[PairTest, ...]

    def at(self, *places: Place) -> tuple[str, ...]:
        """The names of the models at these places, best share first."""
        return tuple(model.model for model in self.models if model.place in places)

    @property
    def acceptable(self) -> tuple[str, ...]:
        """The best or the reference, and every model shown to be within the tolerance of it or better."""
        fixed = ("best", "reference", "better")
        return tuple(m.model for m in self.models if m.place in fixed or m.within_tolerance)

    @property
    def candidates(self) -> tuple[str, ...]:
        """The models that are not certainly worse: the truly best is among them with probability 1 - alpha."""
        return self.at("best", "reference", "better", "tied", "undecided")


def suitability(results: Results, *, tolerance: float = DEFAULT_TOLERANCE, alpha: float = 0.05) -> Suitability:
    """Sort models into best, tied with the best, worse for certain, and undecided.

    The best is the largest share of passes among models with at least half as many scored cases as the model
    with most, so that one lucky answer does not win; ties go to more scored cases, then to the name. Only
    such models count as possible bests when a tie is to be shown.

    Args:
        results: per model, per case, whether the case passed; ``None`` for unscored.
        tolerance: the loss that one is ready to accept, as a share.
        alpha: family-wise error rate of each kind of statement.
    """
    _require(tolerance, alpha)
    shares = {model: _share(cases, alpha) for model, cases in results.items()}
    most = max((share.n for share in shares.values()), default=0)
    if most == 0:
        return _nothing(results, shares, None, tolerance, alpha)
    rivals = [model for model, share in shares.items() if 2 * share.n >= most]
    order = sorted(shares, key=lambda m: (-(shares[m].estimate or 0.0), -shares[m].n, m))
    best = next(model for model in order if model in rivals)
    couples = [(i, j) for i, j in combinations(results, 2) if shares[i].n and shares[j].n]
    pairs = _test_pairs(results, [(i, j) for i, j in couples if i in rivals or j in rivals])
    claims = [model for model in results if shares[model].n]
    worst = [_tie_p(results, model, rivals, tolerance, alpha) for model in claims]
    ties = dict(zip(claims, holm(worst), strict=True))
    return _placed(results, shares, order, best, False, pairs, ties, tolerance, alpha)


def compare_with(
    results: Results, reference: str, *, tolerance: float = DEFAULT_TOLERANCE, alpha: float = 0.05
) -> Suitability:
    """Sort models by a named one: better, tied (at most ``tolerance`` worse), worse for certain, or undecided.

    The reference is fixed before the data are seen, so each family has one hypothesis per other model.

    Raises:
        InputError: there is no model of that name.
    """
    _require(tolerance, alpha)
    if reference not in results:
        raise InputError(f"There is no model {reference!r} to compare with: name one of {', '.join(results)}.")
    shares = {model: _share(cases, alpha) for model, cases in results.items()}
    if shares[reference].n == 0:
        return _nothing(results, shares, reference, tolerance, alpha)
    order = sorted(shares, key=lambda m: (-(shares[m].estimate or 0.0), -shares[m].n, m))
    others = [model for model in results if model != reference and shares[model].n]
    pairs = _test_pairs(results, [(model, reference) for model in others])
    ties = dict(zip(others, holm([_tie_p(results, m, [reference], tolerance, alpha) for m in others]), strict=True))
    return _placed(results, shares, order, reference, True, pairs, ties, tolerance, alpha)


def _require(tolerance: float, alpha: float) -> None:
    require_share("tolerance", tolerance)
    require_share("alpha", alpha)


def _share(cases: Mapping[str, bool | None], alpha: float) -> Interval:
    scored = [passed for passed in cases.values() if passed is not None]
    return wilson(sum(map(bool, scored)), len(scored), 1.0 - alpha)


def _pair(results: Results, first: str, second: str) -> PairedCounts:
    other = results[second]
    return count_pairs((passed, other.get(case)) for case, passed in results[first].items())


def _test_pairs(results: Results, couples: Sequence[tuple[str, str]]) -> tuple[PairTest, ...]:
    tables = [_pair(results, first, second) for first, second in couples]
    p_values = [mcnemar(table) for table in tables]
    rows = zip(couples, tables, p_values, holm(p_values), strict=True)
    return tuple(PairTest(first, second, table, p, adjusted) for (first, second), table, p, adjusted in rows)


def _tie_p(results: Results, model: str, rivals: Sequence[str], tolerance: float, alpha: float) -> float:
    """p of "some rival passes more often by the tolerance or more": the largest over the rivals."""
    tables = [_pair(results, model, rival) for rival in rivals if rival != model]
    quick = max((non_inferiority(t, tolerance, alpha=alpha, method="score").p for t in tables), default=0.0)
    if quick > max(_HOPELESS, 2.0 * alpha):
        return quick
    return max((non_inferiority(t, tolerance, alpha=alpha).p for t in tables), default=0.0)


def _placed(
    results: Results,
    shares: Mapping[str, Interval],
    order: Sequence[str],
    anchor: str,
    named: bool,
    pairs: Sequence[PairTest],
    ties: Mapping[str, float],
    tolerance: float,
    alpha: float,
) -> Suitability:
    open_pairs = max(1, sum(pair.adjusted > alpha for pair in pairs))
    open_ties = max(1, sum(p > alpha for p in ties.values()))
    places = []
    for model in order:
        counts = _pair(results, model, anchor)
        tests = [pair for pair in pairs if model in (pair.first, pair.second)]
        beats = _certain(tests, model, alpha, won=True)
        beaten = _certain(tests, model, alpha, won=False)
        close = model != anchor and ties.get(model, 1.0) <= alpha
        place = _place(model, anchor, named, shares[model].n, beaten, beats, close)
        speaking = beaten or next((t for t in tests if anchor in (t.first, t.second) and model != anchor), None)
        more = None
        if place == "undecided":
            split = {"alpha_difference": alpha / open_pairs, "alpha_tolerance": alpha / open_ties}
            more = more_cases_to_decide(counts, tolerance, **split)
        places.append(
            ModelPlace(
                model=model,
                place=place,
                share=shares[model],
                counts=counts,
                difference=tango_difference(counts, 1.0 - alpha),
                p=speaking.adjusted if speaking else 1.0,
                beaten_by=_other(beaten, model) if beaten else None,
                within_tolerance=close or (model == anchor and (named or ties.get(model, 1.0) <= alpha)),
                p_tolerance=ties.get(model, 0.0 if model == anchor else 1.0),
                more_cases=more,
            )
        )
    return Suitability(anchor, named, tolerance, alpha, tuple(places), tuple(pairs))


def _certain(tests: Sequence[PairTest], model: str, alpha: float, *, won: bool) -> PairTest | None:
    """The clearest of the decided tests that the model won, or lost."""
    decided = [t for t in tests if t.adjusted <= alpha and (_ahead(t) == model) == won]
    return min(decided, key=lambda test: (test.adjusted, test.p), default=None)


def _ahead(test: PairTest) -> str:
    return test.first if test.counts.first_only > test.counts.second_only else test.second


def _other(test: PairTest, model: str) -> str:
    return test.second if test.first == model else test.first


def _place(
    model: str,
    anchor: str,
    named: bool,
    scored: int,
    beaten: PairTest | None,
    beats: PairTest | None,
    close: bool,
) -> Place:
    if model == anchor:
        return "reference" if named else "best"
    if scored == 0:
        return "unscored"
    if beaten is not None:
        return "worse"
    if named and beats is not None:
        return "better"
    return "tied" if close else "undecided"


def _nothing(
    results: Results, shares: Mapping[str, Interval], reference: str | None, tolerance: float, alpha: float
) -> Suitability:
    """No anchor was scored: nothing can be said about anybody."""
    empty = PairedCounts(0, 0, 0, 0)
    places = tuple(
        ModelPlace(
            model=model,
            place="unscored" if shares[model].n == 0 else "undecided",
            share=shares[model],
            counts=empty,
            difference=tango_difference(empty, 1.0 - alpha),
            p=1.0,
            beaten_by=None,
            within_tolerance=False,
            p_tolerance=1.0,
            more_cases=None,
        )
        for model in sorted(results, key=lambda m: (-(shares[m].estimate or 0.0), m))
    )
    return Suitability(reference, reference is not None, tolerance, alpha, places, ())
