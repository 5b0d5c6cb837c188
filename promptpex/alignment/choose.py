"""For each criterion the candidate that agrees best with people (EvalGen, arXiv 2404.12272, section 4.2).

A person who calls an output good says that it passes every criterion; one who calls it bad says that at least one is
broken, and not which. So of a criterion an output is known to be good where the criterion or the whole output was
graded good; known to be bad where the criterion was; and suspect where the whole output is bad, nobody graded this
criterion of it, and nobody said that another one is broken. A candidate that passes a suspect is not wrong by itself,
but of two candidates of a criterion the one that catches more suspects is the better one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from operator import or_
from typing import Literal

from promptpex.codecs.text.wording import quoted
from promptpex.core.translation import stored

FFR_LIMIT = Fraction(1, 5)
"""The highest false failure rate of a single assertion, by default: the one of EvalGen's study."""

LEAST_KNOWN = 5
"""Outputs graded bad on a criterion from which on coverage is counted on these alone; with fewer, suspects count too.
As many as EvalGen's users grade before anything else."""

Basis = Literal["known", "known-and-suspect"]
"""What the coverage of a criterion is counted on."""

RatedState = Literal["chosen", "worse", "above-limit", "catches-nothing", "not-comparable", "refused"]
"""What became of a candidate of a criterion: chosen; less aligned, or as well and less simple; above the FFR limit;
catching no bad output; not to be compared, since good or bad outputs are missing; refused by a person."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A candidate that may be chosen.

    Attributes:
        id, criteria: as in ``Candidate``.
        fails: the outputs that it fails, as bits.
        order: decides between equals, the least first: code before Python before a judge, then fewer questions.
        wish: a person's word, as in ``Candidate.choice``.
    """

    id: str
    criteria: tuple[str, ...]
    fails: int
    order: tuple[float, ...] = ()
    wish: Literal["must", "never"] | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """A criterion that an assertion is looked for.

    Attributes:
        id: of the criterion.
        limit: the highest false failure rate of its assertion.
        must: whether it gets one in any case: without a candidate within the limit, the best aligned one beyond it.
    """

    id: str
    limit: Fraction = FFR_LIMIT
    must: bool = False


@dataclass(frozen=True)
class GradedOutputs:
    """What people say of outputs, as bits of their numbers.

    Attributes:
        bad, good: on the whole.
        own: per criterion, those that were graded bad and good on it.
    """

    bad: int
    good: int
    own: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def any_bad(self) -> int:
        return reduce(or_, (bad for bad, _ in self.own.values()), self.bad)

    @property
    def any_good(self) -> int:
        return reduce(or_, (good for _, good in self.own.values()), self.good)

    @property
    def any(self) -> int:
        return self.any_bad | self.any_good

    def evidence(self, criterion: str) -> CriterionEvidence:
        bad, good = self.own.get(criterion, (0, 0))
        elsewhere = reduce(or_, (broken for name, (broken, _) in self.own.items() if name != criterion), 0)
        return CriterionEvidence(bad, (good | self.good) & ~bad, self.bad & ~(bad | good | elsewhere))

    def among(self, outputs: int) -> GradedOutputs:
        own = {name: (bad & outputs, good & outputs) for name, (bad, good) in self.own.items()}
        return GradedOutputs(self.bad & outputs, self.good & outputs, own)

    def without_suspects(self) -> GradedOutputs:
        """The same with no more known of outputs that are bad on the whole than what was graded on each criterion."""
        return GradedOutputs(0, self.good, self.own)


@dataclass(frozen=True, slots=True)
class CriterionEvidence:
    """The outputs that are bad and good in the sense of one criterion, and the suspects, as bits."""

    bad: int
    good: int
    suspects: int

    @property
    def basis(self) -> Basis:
        return "known" if self.bad.bit_count() >= LEAST_KNOWN else "known-and-suspect"

    @property
    def to_catch(self) -> int:
        """The outputs that coverage is counted on, as bits."""
        return self.bad if self.basis == "known" else self.bad | self.suspects


@dataclass(frozen=True, slots=True)
class Rated:
    """A candidate of a criterion, with its counts on the outputs that the choice is made by."""

    contender: Contender
    caught: int
    bad: int
    flagged: int
    good: int
    state: RatedState

    @property
    def alignment(self) -> Fraction | None:
        """The harmonic mean of coverage and 1 - FFR, exactly; None where it is not defined."""
        passed_good = self.good - self.flagged
        below = self.caught * self.good + passed_good * self.bad
        return Fraction(2 * self.caught * passed_good, below) if self.bad and self.good and below else None


@dataclass(frozen=True, slots=True)
class CriterionChoice:
    """What was chosen for a criterion.

    Attributes:
        wanted: the criterion.
        basis: what coverage was counted on.
        chosen: ids of candidates: the best aligned one, and those that a person wants.
        rated: all candidates of the criterion, the best aligned first.
    """

    wanted: Wanted
    basis: Basis
    chosen: tuple[str, ...]
    rated: tuple[Rated, ...]

    @property
    def nearest(self) -> Rated | None:
        """Where nothing is chosen, the best aligned candidate that catches something, however much it flags."""
        above_limit = (one for one in self.rated if one.state == "above-limit" and one.caught)
        return next(above_limit, None) if not self.chosen else None


def choose(
    wanted: Sequence[Wanted], contenders: Sequence[Contender], graded: GradedOutputs
) -> tuple[CriterionChoice, ...]:
    """The choice for each criterion, in order.

    Of the candidates of a criterion that catch something and keep its limit, the one with the greatest alignment;
    among equals the first by ``Contender.order``. What a person wants of the candidates is chosen besides. Limits and
    alignments are compared as fractions, so that nothing hangs on rounding.
    """
    return tuple(_choice(one, [c for c in contenders if one.id in c.criteria], graded) for one in wanted)


def chosen_of(choices: Sequence[CriterionChoice]) -> frozenset[str]:
    return frozenset(name for choice in choices for name in choice.chosen)


def _choice(wanted: Wanted, contenders: Sequence[Contender], graded: GradedOutputs) -> CriterionChoice:
    evidence = graded.evidence(wanted.id)
    ranked = sorted((_rated(one, evidence, wanted.limit) for one in contenders), key=_rank)
    within_limit = [one for one in ranked if one.state == "worse"]
    above_limit = [one for one in ranked if one.state == "above-limit" and one.caught]
    best = within_limit[0] if within_limit else above_limit[0] if wanted.must and above_limit else None
    chosen = {one.contender.id for one in ranked if one.contender.wish == "must" or one is best}
    rated = tuple(_with_state(one, "chosen") if one.contender.id in chosen else one for one in ranked)
    names = tuple(one.contender.id for one in rated if one.state == "chosen")
    return CriterionChoice(wanted, evidence.basis, names, rated)


def _rated(contender: Contender, evidence: CriterionEvidence, limit: Fraction) -> Rated:
    to_catch, good = evidence.to_catch, evidence.good
    caught, flagged = (contender.fails & to_catch).bit_count(), (contender.fails & good).bit_count()
    bads, goods = to_catch.bit_count(), good.bit_count()
    state: RatedState = "worse"
    if contender.wish == "never":
        state = "refused"
    elif not bads or not goods:
        state = "not-comparable"
    elif flagged > limit * goods:
        state = "above-limit"
    elif not caught:
        state = "catches-nothing"
    return Rated(contender, caught, bads, flagged, goods, state)


def _rank(one: Rated) -> tuple[object, ...]:
    return (-(one.alignment or Fraction()), one.contender.order)


def _with_state(one: Rated, state: RatedState) -> Rated:
    return Rated(one.contender, one.caught, one.bad, one.flagged, one.good, state)


def why(rated: Rated, choice: CriterionChoice) -> str:
    """Why a candidate of a criterion was chosen or not."""
    limit = percent_of(choice.wanted.limit)
    if rated.state == "chosen":
        return _why_chosen(rated, choice)
    if rated.state == "worse":
        best = next((one for one in choice.rated if one.state == "chosen" and one.contender.wish != "must"), None)
        if best is None:
            return stored("a person chose another one")
        if best.alignment == rated.alignment:
            return stored("as well aligned as {candidate}, which is simpler", candidate=best.contender.id)
        return stored("less aligned than {candidate}", candidate=best.contender.id)
    flags = stored(
        "flags {count} of {number} good outputs, more than {share}", count=rated.flagged, number=rated.good, share=limit
    )
    return {
        "above-limit": flags,
        "catches-nothing": stored("catches no bad output"),
        "not-comparable": _unknown(rated),
        "refused": stored("a person said never"),
    }[rated.state]


def _why_chosen(rated: Rated, choice: CriterionChoice) -> str:
    if rated.contender.wish == "must":
        return stored("a person said must")
    if is_beyond(rated, choice):
        limit = percent_of(choice.wanted.limit)
        return stored("beyond {share}, since the criterion must have an assertion", share=limit)
    return stored("the best aligned within the limit")


def lacking(
    choices: Sequence[CriterionChoice], texts: Mapping[str, str], reading: Callable[[str], str] = str
) -> list[str]:
    """The criteria without an assertion, and those whose assertion is beyond their limit, a sentence each.

    Args:
        texts: the words of the criteria, by id.
        reading: how the reasons are shown; by default as files of data have them.
    """
    sentences = [f"{_called(one, texts)}: {reading(_why_none(one))}." for one in choices if not one.chosen]
    above_limit = stored("chosen beyond its FFR limit of {share}, since it must have an assertion")
    return sentences + [
        f"{_called(one, texts)}: {reading(above_limit.format(share=percent_of(one.wanted.limit)))}."
        for one in choices
        if any(rated.state == "chosen" and is_beyond(rated, one) for rated in one.rated)
    ]


def is_beyond(rated: Rated, choice: CriterionChoice) -> bool:
    """Whether a candidate that nobody asked for flags more than the limit of its criterion."""
    return rated.contender.wish is None and rated.flagged > choice.wanted.limit * rated.good


def percent_of(limit: Fraction) -> str:
    """A limit as a percentage, with the digits that it was given."""
    return f"{float(100 * limit):g}%"


def _unknown(rated: Rated) -> str:
    return (
        stored("no output is known to keep it") if rated.bad else stored("no output is known or suspected to break it")
    )


def _called(one: CriterionChoice, texts: Mapping[str, str]) -> str:
    return f"{one.wanted.id} {quoted(texts[one.wanted.id], 60)}"


def _why_none(one: CriterionChoice) -> str:
    if not one.rated:
        return stored("no candidate")
    limit = percent_of(one.wanted.limit)
    if all(rated.state == "refused" for rated in one.rated):
        return stored("a person refused all candidates")
    if all(rated.state in ("not-comparable", "refused") for rated in one.rated):
        return stored("no good candidate, since {reason}", reason=_unknown(one.rated[0]))
    if one.nearest is None:
        return stored("no good candidate: none within an FFR of {share} catches a bad output", share=limit)
    near = one.nearest
    return stored(
        "no good candidate within an FFR of {share}; the nearest, {candidate}, flags {least} of "
        "{count} good outputs and catches {most} of {number} bad ones",
        share=limit,
        candidate=near.contender.id,
        least=near.flagged,
        count=near.good,
        most=near.caught,
        number=near.bad,
    )
