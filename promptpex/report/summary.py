"""What a run says, computed once: the tables and the examples that every form of report shows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptpex import tables
from promptpex.records import PROMPT_RULE, Run, Spec

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Summary:
    """A run's figures.

    Attributes:
        run: the run itself.
        folder: where it is kept; None when it is not.
        outputs, verdicts, models, rules: DataFrames, see ``promptpex.tables``.
        unscored: per model label, how many outputs per reason could not be scored.
        unjudged: rule ids that nothing judged in this run.
        examples: the rules most broken, with an example each.
        confidence: of the intervals.
        answer: the run's answer in one paragraph of plain words, where it was computed.
    """

    run: Run
    folder: Path | None
    outputs: pd.DataFrame
    verdicts: pd.DataFrame
    models: pd.DataFrame
    rules: pd.DataFrame
    unscored: dict[str, dict[str, int]]
    unjudged: tuple[str, ...]
    examples: tuple[Example, ...]
    confidence: float = 0.95
    answer: str | None = None


@dataclass(frozen=True, slots=True)
class Example:
    """A rule that was broken: how often, and one output that broke it."""

    rule: str
    text: str
    broken: int
    scored: int
    model: str
    case: str
    inputs: str
    output: str
    reason: str


def summarise(run: Run, *, folder: Path | None = None, confidence: float = 0.95, most: int = 5) -> Summary:
    """The tables of a run, and the ``most`` rules most broken with an example each."""
    rows = tables.outputs(run)
    cube = tables.verdicts(run)
    order = [PROMPT_RULE, *(rule.id for rule in run.spec.rules)]
    by_rule = tables.rules(cube, order=order, confidence=confidence)
    return Summary(
        run=run,
        folder=folder,
        outputs=rows,
        verdicts=cube,
        models=tables.models(rows, order=list(run.manifest.models), confidence=confidence),
        rules=by_rule,
        unscored=_unscored(rows),
        unjudged=_unjudged(cube, run.spec),
        examples=tuple(_examples(run, rows, cube, by_rule, most)),
        confidence=confidence,
    )


def plain(summary: Summary) -> dict[str, Any]:
    """The summary as JSON-ready data, for machines."""
    manifest = summary.run.manifest
    return {
        "run": manifest.run,
        "prompt": manifest.prompt,
        "folder": str(summary.folder) if summary.folder else None,
        "partial": manifest.partial,
        "author": manifest.author,
        "judges": list(manifest.judges),
        "models": records(summary.models),
        "rules": records(summary.rules),
        "unscored": summary.unscored,
        "unjudged_rules": list(summary.unjudged),
    }


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """A DataFrame's rows as plain dicts, missing values as None."""
    plain_values = frame.astype(object).where(frame.notna(), None)
    return [{str(k): v for k, v in row.items()} for row in plain_values.to_dict("records")]


def _unscored(rows: pd.DataFrame) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    open_ = rows[rows["verdict"].eq("unscored")]
    for model, reasons in open_.groupby("model", sort=False, observed=True)["unscored"]:
        found[str(model)] = dict(Counter(map(str, reasons)).most_common())
    return found


def _unjudged(cube: pd.DataFrame, spec: Spec) -> tuple[str, ...]:
    nobody = set(cube.loc[cube["unscored"].eq("no-judge"), "rule"])
    return tuple(rule.id for rule in spec.rules if rule.id in nobody)


def _examples(run: Run, rows: pd.DataFrame, cube: pd.DataFrame, by_rule: pd.DataFrame, most: int) -> list[Example]:
    totals = by_rule.groupby("rule", sort=False)[["broken", "scored"]].sum()
    worst = totals[totals["broken"] > 0].sort_values("broken", ascending=False, kind="stable").head(most)
    texts = {rule.id: rule.rule for rule in run.spec.rules} | {PROMPT_RULE: "The output complies with the prompt."}
    examples = []
    for rule, total in worst.iterrows():
        failing = cube[cube["counts"] & cube["rule"].eq(str(rule)) & cube["status"].eq("fail")].iloc[0]
        row = _row_of(rows, failing)
        examples.append(
            Example(
                rule=str(rule),
                text=texts.get(str(rule), ""),
                broken=int(total["broken"]),
                scored=int(total["scored"]),
                model=failing["model"],
                case=failing["case"],
                inputs=row.get("inputs", ""),
                output=row.get("output", ""),
                reason=failing["reason"],
            )
        )
    return examples


def _row_of(rows: pd.DataFrame, verdict: pd.Series[Any]) -> dict[str, Any]:
    """The texts of the output that a verdict is on; nothing where a cut file has lost the output."""
    same = rows["case"].eq(verdict["case"]) & rows["model"].eq(verdict["model"]) & rows["repeat"].eq(verdict["repeat"])
    found = rows.loc[same, ["inputs", "output"]].fillna("").head(1).to_dict("records")
    return {str(name): value for name, value in found[0].items()} if found else {}
