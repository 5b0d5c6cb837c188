"""What a run says, computed once: the tables and the examples that every form of report shows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptpex import tables
from promptpex.core.errors import InputError
from promptpex.core.records import EXPECTED, NO_VALUE, NOT_ASKED, Suite, collector_paused
from promptpex.report.caveats_in_words import not_scored, unread_checks
from promptpex.report.corrections_in_words import by_grades, corrected_sentences
from promptpex.report.failures import FailureExample, failure_examples
from promptpex.report.headline import answer, chosen_by_outcome
from promptpex.report.on_demand_tables import Details
from promptpex.report.ranked_metric import require_metric, with_ranked_metric
from promptpex.report.run_tables import RunTables, tables_of
from promptpex.stats import DEFAULT_TOLERANCE, FEW_GRADES
from promptpex.tables import AnyRun, Cells, PeoplesGrades, RankingOptions, Rankings, Rows, Table, records
from promptpex.tables.database_sql import JOINED, texts

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_CONFIDENCE = 0.95
"""The usual level, for runs whose settings name none."""


@dataclass(frozen=True)
class Summary:
    """A run's figures.

    Attributes:
        run: the run itself.
        folder: where it is kept; None when it is not.
        made: its database.
        models, rules, metrics, lowest: tables, see ``promptpex.tables``.
        details: the tables of single questions.
        gaps: what could not be scored or judged, and why.
        examples: the rules that fail most often, with examples of each.
        rankings: the decisions about the models.
        by_people: what people's grades say; None where there are none.
        saved: what was saved by dropping models; None for a run that asked everything.
        answer: the run's answer in one paragraph of plain words.
    """

    run: AnyRun
    folder: Path | None
    made: RunTables = field(repr=False)
    models: Table
    rules: Table
    metrics: Table
    lowest: Table
    details: Details
    gaps: Gaps
    examples: tuple[FailureExample, ...]
    rankings: Rankings
    by_people: ByPeople | None = None
    saved: Saved | None = None
    answer: str | None = None

    @property
    def outputs(self) -> pd.DataFrame:
        """The outputs as a DataFrame."""
        return tables.outputs(self.made.rows)

    @property
    def verdicts(self) -> pd.DataFrame:
        """The verdicts as a DataFrame."""
        return tables.verdicts(self.made.database)

    @property
    def scores(self) -> pd.DataFrame:
        """The scores as a DataFrame."""
        return tables.scores(self.made.database)

    @cached_property
    def unchecked(self) -> int:
        """How many judges decide that nobody has compared with people."""
        grades = self.by_people.grades if self.by_people is not None else None
        return unchecked_judges(self.made, grades, self.rankings.options.rank_by)

    @cached_property
    def model_rows(self) -> list[dict[str, Any]]:
        """The rows of ``models`` as plain values, which many parts of a report look at; none changes them."""
        return records(self.models)

    @cached_property
    def rule_rows(self) -> list[dict[str, Any]]:
        """The rows of ``rules``, in the same way."""
        return records(self.rules)

    @property
    def has_scores(self) -> bool:
        """Whether any output was scored, by the rules, by an expected one or by a metric."""
        return any(row["scored"] or row["accuracy_scored"] for row in self.model_rows) or any(
            self.metrics.column("scored")
        )

    @property
    def has_accuracy(self) -> bool:
        """Whether any model has an output that could be compared with an expected one."""
        return any(row["accuracy_scored"] is not None for row in self.model_rows)

    @property
    def confidence(self) -> float:
        """The confidence level of the intervals."""
        return self.rankings.options.confidence


@dataclass(frozen=True, slots=True)
class Gaps:
    """What could not be scored or judged.

    Attributes:
        unscored: per model label, how many outputs per reason could not be scored.
        unjudged_rules: ids of rules that nothing judged in this run.
        half_judged_rules: ids of rules that checks decide in part and no judge was asked about.
        without_value: by rule, how many outputs lack the value which a check of it looks at.
    """

    unscored: dict[str, dict[str, int]]
    unjudged_rules: tuple[str, ...]
    half_judged_rules: tuple[str, ...]
    without_value: dict[str, int]


@dataclass(frozen=True, slots=True)
class ByPeople:
    """What people's grades say of a run.

    Attributes:
        grades: what they come to.
        corrections: of the models, columns ``tables.CORRECTION_COLUMNS``; empty where no output is graded.
        calibrations: of the judges, columns ``tables.CALIBRATION_COLUMNS``.
    """

    grades: PeoplesGrades
    corrections: Table
    calibrations: Table


@dataclass(frozen=True, slots=True)
class Saved:
    """What a run that drops what is worse did not have to ask.

    Attributes:
        planned, asked: requests to models under test that the whole suite takes, and that were made.
        spared: those that were not needed; what a budget or a stop cut is not among them.
        judging: requests to judges that the unasked outputs would have taken.
    """

    planned: int
    asked: int
    spared: int
    judging: int


@collector_paused()
def summarise(
    run: AnyRun,
    *,
    folder: Path | None = None,
    confidence: float | None = None,
    tolerance: float | None = None,
    against: str | None = None,
    weights: tables.Weights | None = None,
    rank_by: str | None = None,
    people: PeoplesGrades | None = None,
    most: int = 5,
) -> Summary:
    """The tables of a run, the decisions about its models, and its ``most`` most frequent failures with an example.

    ``confidence`` to ``rank_by`` are by default as the run was made with; ``people`` is what their grades come to.

    Raises:
        InputError: ``against`` is not one of the run's models, a weight is for no rule of the cases, or the run cannot
            rank models so: no output was compared with an expected one, no such metric, too few grades.
    """
    given_options = {"tolerance": tolerance, "against": against, "confidence": confidence, "rank_by": rank_by}
    options = _options(run, given_options | {"weights": weights})
    run_tables = tables_of(run)
    order, names = [*run.manifest.mode_rules, *(rule.id for rule in run.spec.rules)], list(run.manifest.models)
    by_rule = tables.rules(run_tables.database, order=order, confidence=options.confidence)
    rankings = _rankings(run_tables, options, people)
    details = Details(run, run_tables, options.confidence)
    by_model = tables.models(run_tables.rows, order=names, ranking=rankings, expected=run_tables.compared)
    by_metric = tables.metrics(run_tables.metric_counts, order=names, ranking=rankings)
    if run.manifest.failed_in:
        rankings = replace(rankings, models={})
        by_model, by_rule, by_metric = map(tables.without_claims, (by_model, by_rule, by_metric))
    corrected = _corrections(run_tables, records(by_model), people, options)
    summary = Summary(
        run=run,
        folder=folder,
        made=run_tables,
        models=by_model,
        rules=by_rule,
        metrics=by_metric,
        lowest=tables.lowest_scores(run_tables.database),
        details=details,
        gaps=_gaps(run_tables),
        examples=tuple(failure_examples(run_tables, by_rule, most)),
        rankings=rankings,
        saved=_saved(run_tables) if options.looks else None,
        answer=_answer(details, _answered_of(by_model, by_metric, corrected, options), rankings, people),
    )
    return summary if people is None or run.manifest.failed_in else _with_people(summary, people, corrected)


def _answer(details: Details, rows: list[dict[str, Any]], rankings: Rankings, people: PeoplesGrades | None) -> str:
    run, judges = details.run, records(details.judges)
    if run.manifest.failed_in:
        return chosen_by_outcome(rows, run.manifest)
    sentences = answer(
        rows,
        rankings,
        judges,
        references=references(run.suite),
        subset=run.manifest.subset,
        unchecked=unchecked_judges(details.made, people, rankings.options.rank_by),
        unread=unread(details),
    )
    return " ".join([sentences, *not_scored(_not_scored(details.made))])


def _not_scored(made: RunTables) -> Counter[tuple[str, str]]:
    """By name of a score and model, the outputs that the run ended before a judge could score."""
    cut = [reason for reason in NOT_ASKED if reason.startswith("judge-")]
    by_name = f"""
        SELECT s.name, m.name, count(*) FROM score s {JOINED.format("s")}
        WHERE s.counts AND s.unscored IN {texts(cut)} GROUP BY 1, 2 ORDER BY min(s.place)
    """
    return Counter({(name, model): count for name, model, count in made.database.query(by_name)})


def unread(details: Details) -> list[str]:
    """What there is to say of proposed checks that nobody has edited, and all of whose failures judges contradict."""
    proposed = {rule.id for rule in details.run.spec.rules if rule.checks and rule.origin in ("extracted", "generated")}
    if not proposed or not details.run.manifest.judges:
        return []
    rows = [row for row in records(details.agreements) if row["kind"] == "code-judge" and row["rule"] in proposed]
    shared = {row["rule"] for row in rows if row["both_fail"]}
    outputs = {row["rule"]: row["first_fails"] for row in rows if row["first_fails"] and row["rule"] not in shared}
    return unread_checks(outputs, details.run.prompt.path)


def unchecked_judges(made: RunTables, people: PeoplesGrades | None, rank_by: str) -> int:
    """How many judges decide by what models are ranked, and nobody has compared them with people: on rules none where
    people's grades are enough to correct them."""
    if rank_by != "non-compliance":
        ranking = EXPECTED if rank_by == "accuracy" else rank_by
        by_judges = "name = ? AND unscored IS NULL AND source GLOB 'judge:*'"
        return len(made.database.listed(f"SELECT DISTINCT source FROM score WHERE {by_judges}", [ranking]))
    if people is not None and sum(map(len, people.broken.values())) >= FEW_GRADES:
        return 0
    rules = made.run.spec.rules
    calibrations = people.calibrations if people is not None else {rule.id: rule.judge for rule in rules}
    return tables.unchecked_judges(made.database, rules, calibrations)


def _corrections(
    made: RunTables, by_model: list[dict[str, Any]], people: PeoplesGrades | None, options: RankingOptions
) -> Table:
    """What people's grades correct the shares of the models to; empty where nobody has graded."""
    return tables.corrections(
        made.rows,
        people or PeoplesGrades(),
        order=[row["model"] for row in by_model] if people is not None and people.graded else [],
        confidence=options.confidence,
        weights=options.weights,
        versus={row["model"]: row["versus"] for row in by_model if row["versus"] is not None},
    )


def _with_people(summary: Summary, people: PeoplesGrades, corrected: Table) -> Summary:
    """The summary with what people's grades say of the models and of the judges."""
    options = summary.rankings.options
    states = tables.calibration_states(summary.made.database, summary.run.spec.rules, people)
    ranked = options.rank_by == "corrected"
    sentences = corrected_sentences(records(corrected), options.confidence, ranked=ranked)
    in_words = " ".join(filter(None, (summary.answer, *sentences)))
    return replace(summary, by_people=ByPeople(people, corrected, states), answer=in_words)


def _answered_of(by_model: Table, by_metric: Table, corrected: Table, options: RankingOptions) -> list[dict[str, Any]]:
    """The rows that the answer is of."""
    rows = with_ranked_metric(records(by_model), records(by_metric), options.rank_by)
    return by_grades(rows, records(corrected)) if options.rank_by == "corrected" else rows


def _options(run: AnyRun, given: Mapping[str, Any]) -> RankingOptions:
    """How models are ranked: as given, else as the run was made, else by default.

    Raises:
        InputError: a weight is for no rule of the cases.
    """
    run_settings = run.manifest.settings
    chosen = {name: run_settings.get(name) if value is None else value for name, value in given.items()}
    cases = run.suite.usable()
    if run.manifest.subset is None:
        tables.check_weights(chosen["weights"] or {}, [case.rule for case in cases], [case.inverse for case in cases])
    return RankingOptions(
        tolerance=chosen["tolerance"] or DEFAULT_TOLERANCE,
        against=chosen["against"] or None,
        confidence=chosen["confidence"] or DEFAULT_CONFIDENCE,
        looks=run.manifest.looks,
        older_rule=run.manifest.stopped_by_older_rule,
        weights=chosen["weights"] or {},
        rank_by=chosen["rank_by"] or "non-compliance",
    )


def _rankings(made: RunTables, options: RankingOptions, people: PeoplesGrades | None) -> Rankings:
    """The decisions about a run's models, by what they are to be ranked by.

    Raises:
        InputError: as ``summarise``.
    """
    run, counts = made.run, made.metric_counts
    require_metric(options.rank_by, list(dict.fromkeys([*(metric.name for metric in run.metrics), *counts.names])))
    if options.rank_by == "corrected" and not run.manifest.failed_in:
        return tables.corrected_rankings(made.rows, people, list(run.manifest.models), options)
    if options.rank_by in tables.RANKED_BY:
        return tables.rankings(_ranked_by(made, options), list(run.manifest.models), options)
    return tables.metric_rankings(counts, list(run.manifest.models), options)


def _ranked_by(made: RunTables, options: RankingOptions) -> Rows | Cells:
    """The table of outputs that says what models are ranked by.

    Raises:
        InputError: models are to be ranked by accuracy, and no output was compared with an expected one.
    """
    if options.rank_by != "accuracy":
        return made.cells
    if not len(made.compared) and len(made.rows):
        raise InputError(NO_EXPECTED)
    return made.compared


NO_EXPECTED = (
    "no output was compared with an expected one: give cases `expected` and run again, or `promptpex judge` the run if "
    "they have it"
)
"""Why there is no accuracy."""


def references(suite: Suite) -> dict[str, int]:
    """The models that expected outputs of usable cases come from, each with how many; people's under no name."""
    sources = [case.expected_from for case in suite.usable() if case.expected is not None]
    return dict(Counter("" if source is None else source.rpartition(" (")[0] or source for source in sources))


def _gaps(made: RunTables) -> Gaps:
    return Gaps(
        unscored=_unscored(made.rows),
        unjudged_rules=_without_judge(made, half=False),
        half_judged_rules=_without_judge(made, half=True),
        without_value=dict(
            made.database.query(
                "SELECT rule, count(DISTINCT key) FROM verdict WHERE unscored = ? AND counts GROUP BY rule "
                "ORDER BY min(place)",
                [NO_VALUE],
            )
        ),
    )


def _saved(made: RunTables) -> Saved:
    run, rows = made.run, made.rows
    run_settings = run.manifest.settings
    planned = len(run.suite.usable()) * run_settings.get("repeats", 1) * len(run.manifest.models)
    spared = max(0, planned - len(rows))
    errors = Counter(dict(rows.query("coalesce(o.error, ''), count(*)", "GROUP BY 1")))
    outputs_asked = sum(count for error, count in errors.items() if error not in NOT_ASKED)
    return Saved(
        planned, outputs_asked, spared, spared * len(run.manifest.judges) * run_settings.get("judge_repeat", 1)
    )


def to_dict(summary: Summary) -> dict[str, Any]:
    """The summary as JSON-ready data, for machines."""
    manifest, details = summary.run.manifest, summary.details
    return {
        "run": manifest.run,
        "prompt": manifest.prompt,
        "folder": str(summary.folder) if summary.folder else None,
        "partial": manifest.partial,
        "subset": manifest.subset.to_dict() if manifest.subset else None,
        "answers": {"asked": manifest.asked, "stored": manifest.stored},
        "author": manifest.author,
        "judges": list(manifest.judges),
        "models": records(summary.models),
        "rules": records(summary.rules),
        "metrics": records(summary.metrics),
        "lowest_scores": records(summary.lowest),
        "unscored": summary.gaps.unscored,
        "unjudged_rules": list(summary.gaps.unjudged_rules),
        "half_judged_rules": list(summary.gaps.half_judged_rules),
        "without_value": summary.gaps.without_value,
        "answer": summary.answer,
        "rank_by": summary.rankings.options.rank_by,
        "expected_from": references(summary.run.suite),
        "tolerance": summary.rankings.options.tolerance,
        "confidence": summary.confidence,
        "saved": asdict(summary.saved) if summary.saved else None,
        "by_case_type": records(details.by_case_type),
        "scenarios": records(details.scenarios),
        "repeats": records(details.repeats),
        "flaky": records(details.flaky),
        "inconsistent_verdicts": records(details.inconsistent_verdicts),
        "agreements": records(details.agreements),
        "disagreements": records(details.disagreements),
        "discrimination": asdict(details.discrimination),
        "judges_asked": records(details.judges),
        "confusions": records(details.confusions),
        **(_people_to_dict(summary.by_people) if summary.by_people is not None else {}),
    }


def _people_to_dict(by_people: ByPeople) -> dict[str, Any]:
    """What people's grades say, as JSON-ready data."""
    return {
        "corrected": records(by_people.corrections),
        "calibrations": records(by_people.calibrations),
        "graded": by_people.grades.graded,
        "label_rules": by_people.grades.label_rules,
    }


def _unscored(rows: Rows) -> dict[str, dict[str, int]]:
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    by_reason = "WHERE t.verdict = 'unscored' GROUP BY 1, 2 ORDER BY min(t.place)"
    for model, reason, count in rows.query("m.name, t.unscored, count(*)", by_reason):
        counts[model][reason] = count
    return {model: dict(reasons.most_common()) for model, reasons in counts.items()}


def _without_judge(made: RunTables, *, half: bool) -> tuple[str, ...]:
    """The rules that lacked a judge; ``half``: those on which the checks that they have count all the same."""
    lacking = set(made.rules_with("no-judge", counts=half))
    return tuple(rule.id for rule in made.run.spec.rules if rule.id in lacking)
