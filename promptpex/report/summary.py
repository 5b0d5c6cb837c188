"""What a run says, computed once: the tables and the examples that every form of report shows."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptpex import tables
from promptpex.core.records import NOT_ASKED, AnyRun, Spec, collector_paused
from promptpex.report.headline import answer
from promptpex.stats import DEFAULT_TOLERANCE
from promptpex.tables import Discrimination, Question, Standings

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Summary:
    """A run's figures.

    Attributes:
        run: the run itself, as records or as columns.
        folder: where it is kept; None when it is not.
        outputs, verdicts, models, rules: DataFrames, see ``promptpex.tables``.
        unscored: per model label, how many outputs per reason could not be scored.
        unjudged: rule ids that nothing judged in this run.
        half_judged: rule ids that checks decide in part and no judge was asked about.
        examples: the rules most broken, with an example each.
        kinds, scenarios, repeats, flickers, twins, agreements, disagreements: DataFrames, see ``promptpex.tables``;
            those that have nothing to say are empty.
        discrimination: which cases and rules tell nothing apart.
        standing: where the models stand.
        judges: how often each judge gave no usable verdict.
        saved: what stopping early has saved; None for a run that asked everything.
        confidence: of the intervals.
        answer: the run's answer in one paragraph of plain words.
    """

    run: AnyRun
    folder: Path | None
    outputs: pd.DataFrame
    verdicts: pd.DataFrame
    models: pd.DataFrame
    rules: pd.DataFrame
    unscored: dict[str, dict[str, int]]
    unjudged: tuple[str, ...]
    half_judged: tuple[str, ...]
    examples: tuple[Example, ...]
    kinds: pd.DataFrame
    scenarios: pd.DataFrame
    repeats: pd.DataFrame
    flickers: pd.DataFrame
    twins: pd.DataFrame
    agreements: pd.DataFrame
    disagreements: pd.DataFrame
    discrimination: Discrimination
    standing: Standings
    judges: pd.DataFrame
    saved: Saved | None = None
    confidence: float = 0.95
    answer: str | None = None


@dataclass(frozen=True, slots=True)
class Saved:
    """What a run that stops when it is decided did not have to ask.

    Attributes:
        planned, asked: requests to models under test that the whole suite takes, and that were made.
        spared: those that were not needed; what a budget or a stop cut is not among them.
        judging: requests to judges that the unasked outputs would have taken.
    """

    planned: int
    asked: int
    spared: int
    judging: int


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


@collector_paused()
def summarise(
    run: AnyRun,
    *,
    folder: Path | None = None,
    confidence: float | None = None,
    tolerance: float | None = None,
    against: str | None = None,
    weights: tables.Weights | None = None,
    most: int = 5,
) -> Summary:
    """The tables of a run, where its models stand, and the ``most`` rules most broken with an example each.

    ``confidence``, ``tolerance``, ``against`` and ``weights`` are by default as the run was made with.

    Raises:
        InputError: ``against`` is none of the run's models, or a weight is for no rule of the cases.
    """
    made = run.manifest.settings
    level = confidence or made.get("confidence") or 0.95
    question = Question(
        tolerance=tolerance or made.get("tolerance") or DEFAULT_TOLERANCE,
        against=against or made.get("against"),
        confidence=level,
        looks=run.manifest.looks,
        limit=made.get("decide_at"),
        weights=weights if weights is not None else made.get("weights") or {},
    )
    cases = run.suite.usable()
    tables.check_weights(question.weights, [case.rule for case in cases], [case.inverse for case in cases])
    cube = tables.verdicts(run)
    rows = tables.outputs(run, cube)
    order, names = [*run.manifest.mode_rules, *(rule.id for rule in run.spec.rules)], list(run.manifest.models)
    partly = [rule.id for rule in run.spec.rules if rule.checks and rule.decides == "partly"]
    by_rule = tables.rules(cube, order=order, confidence=level)
    standing = tables.standings(rows, names, question)
    by_model = tables.models(rows, order=names, standing=standing)
    judged = tables.judges(cube)
    return Summary(
        run=run,
        folder=folder,
        outputs=rows,
        verdicts=cube,
        models=by_model,
        rules=by_rule,
        unscored=_unscored(rows),
        unjudged=_without_judge(cube, run.spec, half=False),
        half_judged=_without_judge(cube, run.spec, half=True),
        examples=tuple(_examples(run, rows, cube, by_rule, most)),
        kinds=tables.kinds(rows, confidence=level),
        scenarios=tables.scenarios(rows, confidence=level),
        repeats=tables.repeats(rows, confidence=level),
        flickers=tables.flickers(rows),
        twins=tables.twins(rows, cube, sees_input=bool(made.get("judge_sees_input"))),
        agreements=tables.agreements(cube, partly=partly, confidence=level),
        disagreements=tables.disagreements(cube, rows, partly=partly),
        discrimination=tables.discrimination(rows, cube, [rule.id for rule in run.spec.rules if not rule.stale]),
        standing=standing,
        saved=_saved(run, rows) if question.looks else None,
        confidence=level,
        judges=judged,
        answer=answer(records(by_model), standing, records(judged)),
    )


def _saved(run: AnyRun, rows: pd.DataFrame) -> Saved:
    made = run.manifest.settings
    planned = len(run.suite.usable()) * made.get("repeats", 1) * len(run.manifest.models)
    spared = max(0, planned - len(rows))
    asked = int((~rows["error"].isin(NOT_ASKED)).sum())
    return Saved(planned, asked, spared, spared * len(run.manifest.judges) * made.get("judge_repeat", 1))


def to_dict(summary: Summary) -> dict[str, Any]:
    """The summary as JSON-ready data, for machines."""
    manifest = summary.run.manifest
    return {
        "run": manifest.run,
        "prompt": manifest.prompt,
        "folder": str(summary.folder) if summary.folder else None,
        "partial": manifest.partial,
        "answers": {"asked": manifest.asked, "stored": manifest.stored},
        "author": manifest.author,
        "judges": list(manifest.judges),
        "models": records(summary.models),
        "rules": records(summary.rules),
        "unscored": summary.unscored,
        "unjudged_rules": list(summary.unjudged),
        "half_judged_rules": list(summary.half_judged),
        "answer": summary.answer,
        "basis": summary.standing.basis,
        "tolerance": summary.standing.question.tolerance,
        "confidence": summary.confidence,
        "saved": asdict(summary.saved) if summary.saved else None,
        "kinds": records(summary.kinds),
        "scenarios": records(summary.scenarios),
        "repeats": records(summary.repeats),
        "flickers": records(summary.flickers),
        "twins": records(summary.twins),
        "agreements": records(summary.agreements),
        "disagreements": records(summary.disagreements),
        "discrimination": asdict(summary.discrimination),
        "judges_asked": records(summary.judges),
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


def _without_judge(cube: pd.DataFrame, spec: Spec, *, half: bool) -> tuple[str, ...]:
    """The rules that lacked a judge; ``half``: those on which the checks that they have count all the same."""
    nobody = set(cube.loc[cube["unscored"].eq("no-judge") & cube["counts"].eq(half), "rule"])
    return tuple(rule.id for rule in spec.rules if rule.id in nobody)


def _examples(run: AnyRun, rows: pd.DataFrame, cube: pd.DataFrame, by_rule: pd.DataFrame, most: int) -> list[Example]:
    of = by_rule["usable"].where(by_rule["at_least"].fillna(False), by_rule["scored"])
    totals = by_rule.assign(scored=of).groupby("rule", sort=False)[["broken", "scored"]].sum()
    worst = totals[totals["broken"] > 0].sort_values("broken", ascending=False, kind="stable").head(most)
    texts = {rule.id: rule.rule for rule in run.spec.rules} | run.manifest.mode_rules
    broken = cube[cube["counts"] & cube["status"].eq("fail") & cube["rule"].isin(list(worst.index))]
    first = {str(failing["rule"]): failing for _, failing in broken.drop_duplicates("rule").iterrows()}
    examples = []
    for rule, total in worst.iterrows():
        failing = first[str(rule)]
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
    # Comparing with one text would lose a NUL at its end (numpy); looking it up does not.
    same = rows["case"].isin([verdict["case"]]) & rows["model"].isin([verdict["model"]])
    same &= rows["repeat"].eq(verdict["repeat"])
    found = rows.loc[same, ["inputs", "output"]].fillna("").head(1).to_dict("records")
    return {str(name): value for name, value in found[0].items()} if found else {}
