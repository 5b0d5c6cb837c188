"""A run against blessed figures, in words: which models have become worse by more than was accepted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from promptpex import tables
from promptpex.core.errors import RunError
from promptpex.core.records import AnyRun, Blessed
from promptpex.core.translation import Key, digits, from_data, tr, tr_n
from promptpex.report.blessed_figures_file import inputs_digest
from promptpex.report.noise_in_words import noise_sentences
from promptpex.report.percentages import TableRow, percent, points_apart
from promptpex.report.run_tables import RunTables
from promptpex.tables import Weights, records

if TYPE_CHECKING:
    import pandas as pd

SHOWN = Key("non-compliance rose from {before} to {after}, {points}, clearly by more than {margin}")
OPEN = Key("{because}; had they spoken against it, non-compliance would clearly have risen by more than {margin}")
NOTHING = Key("nothing was scored both in this run and in the baseline")
NOT_SHOWN = Key("{before} in the baseline, {points}, not clearly up by more than {margin}")
DIFFERENT_CASES = Key(
    "the cases are not those of the baseline ({common} of {now} are the same): the two are compared as samples of "
    "different cases, which shows large changes only"
)
SOME_CASES = Key(
    "compared on the {common} cases that are the same: {left_before} of the baseline and {left_now} of the run are not"
)


@dataclass(frozen=True, slots=True)
class Regressions:
    """A run held against blessed figures.

    Attributes:
        models: a row per model, columns ``tables.REGRESSION_COLUMNS``.
        breaches: by the model's name in the run, why it does not pass; only of those that do not.
        passed: by the model's name in the run, what is said of those that do.
        notes: what a reader has to know about the comparison.
        noise: the run-to-run noise of the run's models, as far as it was measured, as rows with
            ``tables.NOISE_COLUMNS``.
    """

    models: pd.DataFrame
    breaches: Mapping[str, str]
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

    A model fails where a rise by more than the margin is shown however the unscored outputs of both would have come
    out, and where it would be shown if they had come out against it.

    Args:
        blessed: the baseline.
        made: the tables of the run.
        margin: the rise of non-compliance that is accepted, as a share.
        confidence: its complement is the error rate over all models together.
        weights: how many times each case counts.
        noise: the run-to-run noise of the run's models, as far as it was measured.

    Raises:
        RunError: the two have no model in common.
    """
    run = made.run
    models, common = _models(blessed, run), _common(blessed, run)
    paired = 2 * len(common) >= min(len(blessed.cases), len(run.suite.cases))
    table = tables.regressions(
        tables.blessed_outputs(blessed),
        made.rows,
        models=models,
        cases=common if paired else None,
        margin=margin,
        confidence=confidence,
        weights=weights,
    )
    rows = {now: row for (_, now), row in zip(models, records(table), strict=True)}
    failing = {name: _breach(row, margin) for name, row in rows.items() if row["regression"] != "not shown"}
    passed = {name: NOT_SHOWN.tr(**_figures(row, margin)) for name, row in rows.items() if name not in failing}
    return Regressions(
        table, failing, passed, tuple(_notes(blessed, run, rows, len(common), paired=paired)), tuple(noise)
    )


def _breach(row: TableRow, margin: float) -> str:
    if row["regression"] == "nothing scored":
        return NOTHING.tr()
    return (OPEN if row["regression"] == "open" else SHOWN).tr(**_figures(row, margin))


def _figures(row: TableRow, margin: float) -> dict[str, str]:
    """The values of the sentences."""
    shares = {when: row[f"non_compliance_{when}"] for when in ("before", "after")}
    points = points_apart(
        row["difference"], row["difference_low"] or 0.0, row["difference_high"] or 0.0, unit=" " + tr("points")
    )
    words = {when: tr("unknown") if share is None else percent(share) for when, share in shares.items()}
    return {
        **words,
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
    """The cases that are the same in both: their ids and their inputs are."""
    blessed_inputs = {case.id: case.inputs for case in blessed.cases}
    return [case.id for case in run.suite.cases if blessed_inputs.get(case.id) == inputs_digest(case.inputs)]


def _notes(blessed: Blessed, run: AnyRun, rows: Mapping[str, TableRow], common: int, *, paired: bool) -> Iterator[str]:
    manifest, now = run.manifest, len(run.suite.cases)
    left_before, left_now = len(blessed.cases) - common, now - common
    if not paired:
        yield DIFFERENT_CASES.tr(common=common, now=tr_n("{count} case", "{count} cases", now))
    elif left_before or left_now:
        yield SOME_CASES.tr(common=common, left_before=left_before, left_now=left_now)
    if blessed.spec_digest != manifest.spec_digest:
        yield tr("the spec is not that of the baseline: the verdicts may rest on other rules or checks")
    if blessed.judges != manifest.judges:
        judges, of_baseline = _listed(manifest.judges), _listed(blessed.judges)
        yield tr("the judges are {judges}; those of the baseline are {others}", judges=judges, others=of_baseline)
    if new := [model for model in manifest.models if model not in rows]:
        yield tr("not in the baseline, so held against nothing: {models}", models=", ".join(new))
    if missing_models := [model for model in blessed.models if model not in rows and len(rows) < len(blessed.models)]:
        yield tr("in the baseline alone: {models}", models=", ".join(missing_models))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or tr("none")
