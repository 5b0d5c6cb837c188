"""A run against blessed figures, in words: which models have become worse by more than was accepted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from promptpex import tables
from promptpex.core.errors import RunError
from promptpex.core.records import Blessed
from promptpex.core.translation import Key, digits, from_data, tr, tr_n
from promptpex.report.blessed_figures_file import inputs_digest
from promptpex.report.comparison.comparable import text_marks
from promptpex.report.comparison.what_changed import rules_digest
from promptpex.report.gate import Decided, chosen_by_outcome
from promptpex.report.noise_in_words import noise_sentences
from promptpex.report.percentages import TableRow, percent, points_apart
from promptpex.report.run_tables import RunTables
from promptpex.tables import AnyRun, Table, Weights, records

SHOWN = Key("non-compliance rose from {before} to {after}, {points}, clearly by more than {margin}")
OPEN = Key(
    "{before} before, {after} after, {points}; {because}, which leaves open whether it rose by more than {margin}"
)
NOTHING = Key("nothing was scored both in this run and in the baseline")
TOO_FEW = Key("{before} in the baseline, {points}; {cases} cannot show a rise by more than {margin}, {needed} could")
NOT_THE_MODEL = Key(
    "{before} in the baseline, {points}; without the cases whose answers are the same no rise by more than {margin} is "
    "shown"
)
NOT_SHOWN = Key("{before} in the baseline, {points}, not clearly up by more than {margin}")
NOT_SHOWN_ON_SOME = Key(
    "on the {cases} of both {before} in the baseline and {after} now, {points}, not clearly up by more than {margin}"
)
OTHER_RULES = Key(
    "non-compliance rose from {before} to {after}, {points}, but by other rules or judges than those of the baseline"
)
SAME_TEXTS = Key(
    "the answers of {model} to {cases} are those of the baseline and their verdicts are not: they decide nothing"
)
SOME_CASES = Key(
    "compared on the {common} cases that are the same: {left_before} of the baseline and {left_now} of the run are not"
)


@dataclass(frozen=True, slots=True)
class Regressions:
    """A run held against blessed figures.

    Attributes:
        models: a row per model, columns ``tables.REGRESSION_COLUMNS``.
        decisions: by the model's name in the run, what is exceeded, and what cannot be told.
        passed: by the model's name in the run, what is said of those that pass.
        notes: what a reader has to know about the comparison.
        noise: the run-to-run noise of the run's models, as far as it was measured, as rows with
            ``tables.NOISE_COLUMNS``.
    """

    models: Table
    decisions: Mapping[str, Decided]
    passed: Mapping[str, str]
    notes: tuple[str, ...]
    noise: tuple[TableRow, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON-ready data."""
        noise = {"noise": list(self.noise)} if self.noise else {}
        return {"models": records(self.models), "notes": list(self.notes), **noise}

    @property
    def noise_notes(self) -> list[str]:
        """What the noise says of the rises, a sentence for each model."""
        return noise_sentences(self.noise, records(self.models))


def regressions(
    blessed: Blessed,
    made: RunTables,
    *,
    margin: float,
    confidence: float = 0.95,
    weights: Weights | None = None,
    noise: Sequence[TableRow] = (),
) -> Regressions:
    """Holds a run against blessed figures.

    A model fails only where a rise by more than the margin is shown, however the unscored outputs of both would have
    come out. The gate cannot tell where unscored outputs leave it open, where there are too few cases to show any, and
    where the rules or the judges are others.

    Args:
        blessed: the baseline.
        made: the tables of the run.
        margin: the rise of non-compliance that is accepted, as a share.
        confidence: its complement is the error rate over all models together.
        weights: how many times each case counts.
        noise: the run-to-run noise of the run's models, as far as it was measured.

    Raises:
        RunError: the two have no model or no case in common.
    """
    run = made.run
    models, common = _models(blessed, run), _common(blessed, run)
    table = tables.regressions(
        tables.blessed_outputs(blessed),
        made.cells,
        models=models,
        cases=common,
        margin=margin,
        confidence=confidence,
        weights=weights,
        same_texts=_same_texts(blessed, made, models),
    )
    rows = {now: row for (_, now), row in zip(models, records(table), strict=True)}
    notes = tuple(_notes(blessed, run, rows, len(common)))
    if blessed.failed_in:
        untold = dict.fromkeys(rows, chosen_by_outcome(blessed.failed_in))
        return Regressions(tables.without_claims(table), untold, {}, notes)
    same = _same_rules(blessed, run) and blessed.judges == run.manifest.judges
    decisions = {name: _decided(row, margin, same_rules=same) for name, row in rows.items()}
    on_some = len(common) < len(run.suite.usable())
    passed = {name: _passed(row, margin, on_some=on_some) for name, row in rows.items() if decisions[name] == Decided()}
    return Regressions(table, decisions, passed, notes, tuple(noise))


def _passed(row: TableRow, margin: float, *, on_some: bool) -> str:
    words = NOT_SHOWN_ON_SOME if on_some else NOT_SHOWN
    return (NOT_THE_MODEL if row["changed_same_texts"] else words).tr(**_figures(row, margin))


def _same_texts(blessed: Blessed, made: RunTables, models: Sequence[tuple[str, str]]) -> list[frozenset[str]]:
    """For each model the cases whose answers are those of the baseline."""
    marks, texts = text_marks(made), {case.id: case.texts for case in blessed.cases if case.texts}
    places = [(blessed.models.index(was), now) for was, now in models]
    return [
        frozenset(case for case, own in texts.items() if own[at] and own[at] == marks.get((now, case)))
        for at, now in places
    ]


def _same_rules(blessed: Blessed, run: AnyRun) -> bool:
    if blessed.rules_digest:
        return blessed.rules_digest == rules_digest(run)
    return blessed.spec_digest == run.manifest.spec_digest


def _decided(row: TableRow, margin: float, *, same_rules: bool) -> Decided:
    if row["regression"] == "not shown":
        return Decided()
    if row["regression"] == "nothing scored":
        return Decided(untold=(NOTHING.tr(),))
    words = {"shown": SHOWN if same_rules else OTHER_RULES, "open": OPEN, "too few": TOO_FEW}[row["regression"]]
    sentence = words.tr(**_figures(row, margin))
    return Decided((sentence,)) if words is SHOWN else Decided(untold=(sentence,))


def _figures(row: TableRow, margin: float) -> dict[str, str]:
    """The values of the sentences."""
    shares = {when: row[f"non_compliance_{when}"] for when in ("before", "after")}
    points = points_apart(row["difference"], row["difference_low"], row["difference_high"], unit=" " + tr("points"))
    words = {when: tr("unknown") if share is None else percent(share) for when, share in shares.items()}
    return {
        **words,
        "cases": tr_n("{count} case", "{count} cases", row["cases"]),
        "needed": str(row["cases_needed"]),
        "points": points,
        "margin": tr("{count} points", count=digits(f"{100 * margin:g}")),
        "because": from_data(row["undecided_because"] or ""),
    }


def _models(blessed: Blessed, run: AnyRun) -> list[tuple[str, str]]:
    """Each model's name in the baseline and in the run; of one model in each also where the name is another."""
    old, new = blessed.models, run.manifest.models
    common = [(model, model) for model in new if model in old]
    if not common and len(old) == len(new) == 1:
        return [(old[0], new[0])]
    if not common:
        raise RunError(f"the baseline has other models: {', '.join(old)}; the run has {', '.join(new)}")
    return common


def _common(blessed: Blessed, run: AnyRun) -> list[str]:
    """The cases that are the same in both: their ids and their inputs are.

    Raises:
        RunError: there is none.
    """
    blessed_inputs = {case.id: case.inputs for case in blessed.cases}
    common = [case.id for case in run.suite.cases if blessed_inputs.get(case.id) == inputs_digest(case.inputs)]
    if not common:
        raise RunError("the baseline has none of the cases of this run; bless a run of this suite")
    return common


def _notes(blessed: Blessed, run: AnyRun, rows: Mapping[str, TableRow], common: int) -> Iterator[str]:
    manifest, now = run.manifest, len(run.suite.cases)
    left_before, left_now = len(blessed.cases) - common, now - common
    if left_before or left_now:
        yield SOME_CASES.tr(common=common, left_before=left_before, left_now=left_now)
    if not _same_rules(blessed, run):
        yield tr("the spec is not that of the baseline: the verdicts may rest on other rules or checks")
    if blessed.judges != manifest.judges:
        judges, of_baseline = _listed(manifest.judges), _listed(blessed.judges)
        yield tr("the judges are {judges}; those of the baseline are {others}", judges=judges, others=of_baseline)
    for model, row in rows.items():
        if row["changed_same_texts"]:
            yield SAME_TEXTS.tr(model=model, cases=tr_n("{count} case", "{count} cases", row["changed_same_texts"]))
    if new := [model for model in manifest.models if model not in rows]:
        yield tr("not in the baseline, so held against nothing: {models}", models=", ".join(new))
    if missing_models := [model for model in blessed.models if model not in rows and len(rows) < len(blessed.models)]:
        yield tr("in the baseline alone: {models}", models=", ".join(missing_models))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or tr("none")
