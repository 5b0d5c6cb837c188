"""A part of a suite: the cases that a run is asked to keep to, by id, by rule, by number, or because they failed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from promptpex import tables
from promptpex.codecs.text.wording import did_you_mean, with_hint
from promptpex.core.errors import NothingChosen
from promptpex.core.records import Case, PartOfSuite, Suite
from promptpex.core.translation import stored
from promptpex.report import runs
from promptpex.workflow.execution.order import fair_order

INVERSE = "-inverse"
"""What follows a rule's id where its inverse is meant."""


@dataclass(frozen=True, slots=True)
class Subset:
    """Which cases of a suite to run; a case has to fit everything that is said.

    Attributes:
        cases: ids, or patterns of them with ``*`` and ``?``.
        rules: ids of rules whose cases, and whose inverses' cases, are meant; ``r3-inverse`` means those alone.
        first: how many cases from the beginning of the suite.
        sample: how many cases drawn at random, in equal shares of each rule and inverse.
        only_failed: those that failed, or were not scored, with any model of the prompt's latest whole run.
    """

    cases: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    first: int | None = None
    sample: int | None = None
    only_failed: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether it leaves nothing out."""
        return self == WHOLE


WHOLE = Subset()


@dataclass(frozen=True, slots=True)
class FailedCases:
    """The cases of a run that failed or were not scored, by their ids."""

    run: str
    cases: frozenset[str]


def failed_cases(results: Path, prompt_name: str, tell: runs.Tell) -> FailedCases:
    """The cases of the prompt's latest whole run that not every output of passed: some model failed, or has no verdict.

    Args:
        tell: is told, in a sentence, which later runs were passed over.

    Raises:
        NothingChosen: there is no run of the prompt, or all its outputs passed.
        RunError: none of its runs is of the whole suite, or the latest of them cannot be read.
    """
    folder = runs.latest_of(results, prompt_name, tell)
    if folder is None:
        raise NothingChosen(f"there is no run of {prompt_name} yet, which --only-failed needs; run it once without")
    run = runs.read_for_report(folder)
    outcomes = dict(tables.rows_of(run).query("c.id, max(t.verdict <> 'pass')", "GROUP BY c.number"))
    failed = frozenset(case for case, has_failed in outcomes.items() if has_failed)
    if run.manifest.partial:
        failed |= {case.id for case in run.suite.usable()} - outcomes.keys()
    if not failed:
        raise NothingChosen(f"no case failed or was unscored in the run {folder.name}; leave out --only-failed")
    return FailedCases(folder.name, failed)


def part_of(
    suite: Suite, subset: Subset, *, rules: Sequence[str], seed: int, failed: FailedCases | None = None
) -> tuple[Suite, PartOfSuite | None]:
    """The suite with the chosen cases alone, in its order, and a note of what was chosen; None where all were.

    Args:
        rules: the ids of the rules that there are.
        seed: decides what is drawn for ``sample``.
        failed: where ``only_failed`` is set, what failed.

    Raises:
        NothingChosen: an id or a rule that the suite lacks, or a choice that leaves no case.
    """
    usable = suite.usable()
    cases_kept: Sequence[Case] = usable
    for keeps in _conditions(subset, usable, rules, failed):
        cases_kept = [case for case in cases_kept if keeps(case)]
    words = _in_words(subset, seed, failed)
    if not cases_kept:
        raise NothingChosen(f"no case is left to run: {words}")
    if subset.sample is not None:
        drawn = {case.id for case in fair_order(cases_kept, seed)[: subset.sample]}
        cases_kept = [case for case in cases_kept if case.id in drawn]
    cases_kept = cases_kept[: subset.first]
    if len(cases_kept) == len(usable):
        return suite, None
    return suite.replace(cases=tuple(cases_kept)), PartOfSuite(
        words=words, cases=len(cases_kept), of=len(usable), failed_in=failed and failed.run
    )


def _conditions(
    subset: Subset, usable: Sequence[Case], rules: Sequence[str], failed: FailedCases | None
) -> Iterable[Callable[[Case], bool]]:
    if subset.cases:
        chosen = _by_id(subset.cases, [case.id for case in usable])
        yield lambda case: case.id in chosen
    if subset.rules:
        aims = _aims(subset.rules, usable, rules)
        yield lambda case: (case.rule, case.inverse) in aims
    if failed is not None:
        yield lambda case: case.id in failed.cases


def _by_id(wanted: Sequence[str], ids: Sequence[str]) -> set[str]:
    """The ids that are named, or that a pattern fits."""
    chosen: set[str] = set()
    for name in wanted:
        fitting = {name} if name in ids else {each for each in ids if fnmatchcase(each, name)}
        if not fitting:
            what = f"no case fits {name!r}" if set(name) & set("*?[") else f"there is no case {name!r}"
            raise NothingChosen(with_hint(what, did_you_mean(name, ids) or f"the first are {', '.join(ids[:5])}"))
        chosen |= fitting
    return chosen


def _aims(wanted: Sequence[str], usable: Sequence[Case], rules: Sequence[str]) -> set[tuple[str | None, bool]]:
    """What cases may be for: rules, and whether their inverses."""
    aims: set[tuple[str | None, bool]] = set()
    for name in wanted:
        stem = name.removesuffix(INVERSE) if name not in rules else name
        if stem not in rules:
            hint = did_you_mean(name, rules) or f"they are {', '.join(rules[:10])}"
            raise NothingChosen(with_hint(f"there is no rule {name!r}", hint))
        kinds = (False, True) if stem == name else (True,)
        if not any(case.rule == stem and case.inverse in kinds for case in usable):
            raise NothingChosen(f"no case is for {name}; `promptpex generate` makes some, or write one")
        aims |= {(stem, kind) for kind in kinds}
    return aims


def _in_words(subset: Subset, seed: int, failed: FailedCases | None) -> str:
    """What was chosen, as a report says it."""
    parts = []
    if subset.cases:
        ids = ", ".join(subset.cases)
        parts.append(stored("case {ids}", ids=ids) if len(subset.cases) == 1 else stored("cases {ids}", ids=ids))
    if subset.rules:
        ids = ", ".join(subset.rules)
        parts.append(stored("rule {ids}", ids=ids) if len(subset.rules) == 1 else stored("rules {ids}", ids=ids))
    if failed is not None:
        parts.append(stored("failed or unscored in run {run}", run=failed.run))
    if subset.sample is not None:
        if subset.sample == 1:
            parts.append(stored("sample of 1 case, seed {seed}", seed=seed))
        else:
            parts.append(stored("sample of {count} cases, seed {seed}", count=subset.sample, seed=seed))
    if subset.first is not None:
        parts.append(stored("the first {count}", count=subset.first))
    return "; ".join(parts)
