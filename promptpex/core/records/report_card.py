"""The report card: how far checks, judges and chosen assertions agree with what people say of outputs.

The figures are EvalGen's (arXiv 2404.12272, section 4.2 and appendix A.3).
"""

from __future__ import annotations

from typing import Annotated, Literal, Protocol

from pydantic import Field

from promptpex.core.records._base import MAX_EXACT, Record


class _CaughtAndFlagged(Protocol):
    @property
    def caught(self) -> int: ...

    @property
    def bad(self) -> int: ...

    @property
    def flagged(self) -> int: ...

    @property
    def good(self) -> int: ...


class CoverageAndFfr:
    """For records that count ``caught`` of ``bad`` outputs and ``flagged`` of ``good`` ones."""

    __slots__ = ()

    @property
    def coverage(self: _CaughtAndFlagged) -> float | None:
        """The share of the bad outputs that are caught; None where there are none."""
        return self.caught / self.bad if self.bad else None

    @property
    def ffr(self: _CaughtAndFlagged) -> float | None:
        """The false failure rate: the share of the good outputs that are flagged; None where there are none."""
        return self.flagged / self.good if self.good else None


Undefined = Literal["no-labels", "no-bad", "no-good", "zero", "one-answer"]
"""Why a figure is not defined: nothing has a label; nothing is bad, so that there is no coverage; nothing is good, so
that there is no false failure rate; nothing bad is caught and everything good is flagged, so that alignment is 0/0;
people, or the assertion, say the same of everything, so that there is no kappa."""

Whole = Annotated[int, Field(ge=0, le=MAX_EXACT)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class CardFigure(Record):
    """A figure with its interval.

    Attributes:
        estimate: None where it is not defined.
        low, high: the ends of the interval.
        n: outputs behind it.
        method: how the interval was made, in a word or two.
    """

    estimate: Finite | None
    low: Finite
    high: Finite
    n: Whole
    method: str = ""


class ConfusionCounts(Record):
    """How often people and an assertion say what of an output.

    Attributes:
        caught: bad, and it fails. missed: bad, and it passes.
        flagged: good, and it fails. kept: good, and it passes.
    """

    caught: Whole = 0
    missed: Whole = 0
    flagged: Whole = 0
    kept: Whole = 0

    @property
    def bad(self) -> int:
        return self.caught + self.missed

    @property
    def good(self) -> int:
        return self.flagged + self.kept


class AlignmentFigures(Record):
    """How far an assertion, or a set of them, agrees with people on some outputs.

    Attributes:
        counts: the confusion matrix.
        cases: how many different cases the outputs are of.
        coverage: the share of bad outputs that it fails.
        ffr: the share of good outputs that it fails (false failure rate).
        alignment: the harmonic mean of coverage and 1 - FFR.
        kappa: Cohen's kappa of people and the assertion.
        base_rate: the share of bad outputs.
        undefined: why figures are not defined; empty where all are.
    """

    counts: ConfusionCounts
    cases: Whole
    coverage: CardFigure
    ffr: CardFigure
    alignment: CardFigure
    kappa: CardFigure
    base_rate: CardFigure
    undefined: tuple[Undefined, ...] = ()

    @property
    def n(self) -> int:
        return self.counts.bad + self.counts.good


RowKind = Literal["set", "criterion", "candidate", "check", "judge", "verdicts"]
"""What a row of a card is about: the chosen set, what was chosen for a criterion, a single candidate, the checks of a
rule, a judge on a rule, or all verdicts of the run together."""

Measured = Literal["held-out", "cross-fitted"]
"""Of which grades a row's figures come: of those that had no part in it; of all, each output being counted with what
was chosen without its case."""


class CardRow(Record):
    """An assertion, or several together, held against people.

    Attributes:
        kind, measured: see there.
        id: of the criterion, rule or candidate; empty for the set.
        subject: what people graded: ``output``, a rule or a criterion.
        text: the words of the subject.
        by: who decides: ``check:regex``, ``judge:NAME``, ids of candidates.
        graded: the figures on all outputs with a label.
        sample: those on the random sample alone, which hold for all outputs; None where there is no random sample.
        on_whole: the same against grades on the whole output, where the subject is a part of it.
        silent: outputs with a label of which it says nothing, such as after an error.
        in_choice, shown: outputs with a label that are in no figure, since their grades had a part in choosing the
            checks, or since the judge, or those who write candidates, may have been shown them.
        folds, folds_without: how it was cross-fitted, and in how many folds nothing was chosen.
        empty_folds: what became of the outputs of the latter: a set of nothing flags none of them, or they are left
            out.
        basis: of a criterion, whether coverage is counted on known bad outputs or on suspects, too.
    """

    kind: RowKind
    measured: Measured
    id: str
    subject: str
    text: str = ""
    by: tuple[str, ...] = ()
    graded: AlignmentFigures
    sample: AlignmentFigures | None = None
    on_whole: ConfusionCounts | None = None
    silent: Whole = 0
    in_choice: Whole = 0
    shown: Whole = 0
    folds: Whole = 0
    folds_without: Whole = 0
    empty_folds: Literal["not-flagged", "left-out", ""] = ""
    basis: Literal["known", "known-and-suspect", ""] = ""


class CardAddition(CoverageAndFfr, Record):
    """What one assertion of the chosen set adds to it, on outputs that had no part in choosing it.

    Attributes:
        id: of the candidate.
        chosen_in: folds in which it was chosen; folds: how many there are.
        caught, flagged: the bad and the good outputs of these folds that no other chosen one flags.
        bad, good: of how many.

    ``coverage`` and ``ffr`` are by how much the set would catch, and flag, less without it.
    """

    id: str
    chosen_in: Whole
    folds: Whole
    caught: Whole
    bad: Whole
    flagged: Whole
    good: Whole


class CardCandidate(Record):
    """A candidate of a criterion, with what became of it and why; counted on the grades that the choice is made by.

    Attributes:
        state: ``chosen``, ``worse``, ``above-limit``, ``catches-nothing``, ``not-comparable``, ``refused``,
            ``left-out`` (another way to choose did not take it) or ``not-run``.
        why: the same in words.
        by: ``code``, ``python`` or ``judge``.
        check: what decides, as text.
        errors: outputs on which it erred, which counts as a fail.
    """

    id: str
    criterion: str
    state: str
    why: str
    by: str
    check: str = ""
    counts: ConfusionCounts
    alignment: Finite | None = None
    errors: Whole = 0


class PeopleAgreement(Record):
    """How far two people agree.

    Attributes:
        subject: what both graded.
        both_bad, first_bad, second_bad, both_good: outputs by what the two say.
        kappa: Cohen's, with its interval.
        agreed: the share on which they agree.
    """

    first: str
    second: str
    subject: str
    both_bad: Whole
    first_bad: Whole
    second_bad: Whole
    both_good: Whole
    agreed: CardFigure
    kappa: CardFigure


class CardLabels(Record):
    """How labels came about, and how many there are for one subject.

    Attributes:
        outputs: in all. good, bad: with a label. unsure, disputed: graded, and without one.
        derived: labels that follow from a good grade on the whole.
        stale: outputs with a grade on older words of it.
        from_table: labels that come from a table that people filled in, not from grades.
        sampled: outputs of the random sample; the other graded ones were targeted.
        sampled_bad, sampled_good: of the random sample.
        bad_share: the share of bad outputs by the random sample; None where there is none.
    """

    subject: str
    text: str = ""
    outputs: Whole
    good: Whole = 0
    bad: Whole = 0
    unsure: Whole = 0
    disputed: Whole = 0
    derived: Whole = 0
    stale: Whole = 0
    from_table: Whole = 0
    sampled: Whole = 0
    sampled_bad: Whole = 0
    sampled_good: Whole = 0
    bad_share: CardFigure | None = None

    @property
    def graded(self) -> int:
        return self.good + self.bad + self.unsure + self.disputed


class CardColumn(Record):
    """A column of the table of outputs and assertions."""

    id: str
    subject: str
    by: str
    chosen: bool = False


class CardOutput(Record):
    """An output of the table, with or without a label.

    Attributes:
        name: its case, model and repeat, or the beginning of its id.
        label, how: what people say, and how that came about.
        sampled: whether it is in the random sample.
        cells: a sign per column: ``p`` pass, ``f`` fail, ``e`` error or not concerned, ``-`` not run.
        measures: by name, such as ``words``.
        text: its beginning.
    """

    id: str
    name: str
    label: Literal["good", "bad", "unsure", "disputed", ""] = ""
    how: str = ""
    sampled: bool = False
    cells: str = ""
    measures: dict[str, Finite] = Field(default_factory=dict)
    text: str = ""


class CardDistribution(Record):
    """How a measure of outputs is distributed.

    Attributes:
        edges: of the bins, one more than there are bins; the last bin holds its upper edge.
        good, bad, unlabelled: outputs in each bin.
    """

    name: str
    edges: tuple[Finite, ...]
    good: tuple[Whole, ...]
    bad: tuple[Whole, ...]
    unlabelled: tuple[Whole, ...]


class CardEffect(Record):
    """What an edit of the prompt did to one figure.

    Attributes:
        kind: of the row; ``people`` where they alone speak.
        what: what is compared: the subject that people graded, ``output`` for the whole; of the chosen set nothing, of
            what is chosen for a criterion its id.
        by: as in ``CardRow``; empty where people alone speak.
        figure: ``coverage``, ``ffr``, ``alignment`` or ``bad``, the share of outputs that people call bad.
        before, after: of the older and of the newer run.
        difference: after minus before; None where one of the two is not defined.
        sampled: whether both are of random samples, so that they hold for all outputs.
        cases: how many are in both: with them in common, the interval of the difference is shorter.
    """

    kind: RowKind | Literal["people"] = "people"
    what: str
    by: str = ""
    figure: Literal["coverage", "ffr", "alignment", "bad"]
    before: CardFigure
    after: CardFigure
    difference: CardFigure | None
    sampled: bool
    cases: Whole = 0


class ReportCard(Record):
    """The report card of a run.

    Attributes:
        prompt, runs: their names.
        rules: how grades become labels, in words.
        graders: everyone whose grades count.
        method, limit: how the set was chosen, and under which FFR limit; ``kept``: whether in ``selection.json``.
        choice_rules: how grades became the labels by which the kept set was chosen, in words; empty where that is not
            known.
        labels: per subject, the whole output first.
        production: of whole outputs of production alone, where some were put up for grading besides those of a run:
            they are among the labels, and not in the random sample of the run's outputs.
        rows: the set, what was chosen for each criterion, all verdicts of the run, then rule by rule checks and judges.
        additions: what each chosen assertion adds.
        candidates: of every criterion, the best aligned first.
        lacking: criteria without a good candidate and why, a sentence each.
        people: any two graders.
        columns, outputs: the table.
        distributions: of measures.
        against: the run of the older wording; effects: what the edit did.
        notices: what to know before relying on the figures, a sentence each.
        confidence: of all intervals.
    """

    prompt: str
    runs: tuple[str, ...] = ()
    rules: str = ""
    graders: tuple[str, ...] = ()
    method: str = ""
    limit: Finite | None = None
    kept: bool = False
    choice_rules: str = ""
    labels: tuple[CardLabels, ...] = ()
    production: CardLabels | None = None
    rows: tuple[CardRow, ...] = ()
    additions: tuple[CardAddition, ...] = ()
    candidates: tuple[CardCandidate, ...] = ()
    lacking: tuple[str, ...] = ()
    people: tuple[PeopleAgreement, ...] = ()
    columns: tuple[CardColumn, ...] = ()
    outputs: tuple[CardOutput, ...] = ()
    distributions: tuple[CardDistribution, ...] = ()
    against: str = ""
    effects: tuple[CardEffect, ...] = ()
    notices: tuple[str, ...] = ()
    confidence: Finite = 0.95
