"""Prints the page that documents the tables, made from their columns:
``python scripts/tables_page.py > docs/tables.md``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from promptpex import tables

TABLES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "outputs(run)": ("A row per output: `results.csv`.", tables.OUTPUT_COLUMNS),
    "verdicts(run)": ("A row per rule, case, model and repeat: `verdicts.csv`.", tables.VERDICT_COLUMNS),
    "scores(run)": (
        "A row per score of an output, by the expected one or a metric: `scores.csv`.",
        tables.SCORE_COLUMNS,
    ),
    "models(outputs)": ("A row per model: `report.csv`.", tables.MODEL_COLUMNS),
    "corrections(outputs, people)": (
        "A row per model that people graded outputs of; in `report.csv` after all others. See "
        "[grades.md](grades.md#corrected-failure-rates).",
        tables.CORRECTION_COLUMNS,
    ),
    "corrected_changes(before, after, people)": ("The same for two runs.", tables.CORRECTED_CHANGE_COLUMNS),
    "calibration_states(verdicts, rules, people)": (
        "A row per rule and judge: how far it agrees with people.",
        tables.CALIBRATION_COLUMNS,
    ),
    "rules(verdicts)": ("A row per rule and model.", tables.RULE_COLUMNS),
    "metrics(scores)": (
        "A row per metric, source and model: `metrics.csv`. `report.csv` then has `metric_NAME` (the mean), "
        "`metric_NAME_scored`, `metric_NAME_ci_low` and `metric_NAME_ci_high`; `results.csv` has `metric_NAME`.",
        tables.METRIC_COLUMNS,
    ),
    "lowest_scores(scores, outputs)": ("The outputs that each metric scores lowest.", tables.LOWEST_COLUMNS),
    "confusions(expected_outcomes(outputs, scores), expected)": (
        "A row per model, expected and wrong answer: `confusions.csv`, at most 500 rows of each model.",
        tables.CONFUSION_COLUMNS,
    ),
    "answer_counts(expected_outcomes(outputs, scores), expected)": (
        "A row per model, expected and given answer, where answers are tags or the like.",
        tables.ANSWER_COLUMNS,
    ),
    "by_case_type(outputs)": ("A row per model and type of case.", tables.CASE_TYPE_COLUMNS),
    "scenarios(outputs)": ("A row per model and scenario.", tables.SCENARIO_COLUMNS),
    "repeats(outputs)": ("A row per model whose cases were asked more than once.", tables.STABILITY_COLUMNS),
    "flaky(outputs)": ("A row per model and case whose repeats disagree.", tables.FLAKY_COLUMNS),
    "inconsistent_verdicts(outputs, verdicts)": (
        "A row per identical output that one judge passed and failed by one rule.",
        tables.INCONSISTENT_COLUMNS,
    ),
    "judges(verdicts)": ("A row per judge: how often it gave no usable verdict, and why.", tables.JUDGE_COLUMNS),
    "agreements(verdicts)": (
        "Code with judges, judges with each other and with themselves: `agreement.csv`.",
        tables.AGREEMENT_COLUMNS,
    ),
    "disagreements(verdicts, outputs)": (
        "A row per output and rule on which code and a judge differ, worst first: `disagreements.csv`.",
        tables.DISAGREEMENT_COLUMNS,
    ),
    "comparison(before, after, ...)": ("A row per model of two runs: `promptpex compare`.", tables.COMPARISON_COLUMNS),
    "rule_changes(before, after, ...)": ("A row per rule and model of two runs.", tables.RULE_CHANGE_COLUMNS),
    "metric_changes(before, after, ...)": ("A row per model and metric of two runs.", tables.METRIC_CHANGE_COLUMNS),
    "changed(before, after, ...)": (
        "A row per case that one of two runs breaks more often.",
        tables.CHANGED_COLUMNS,
    ),
    "regressions(before, after, ...)": (
        "A row per model of a run and its baseline: `promptpex gate --baseline`.",
        tables.REGRESSION_COLUMNS,
    ),
    "noise(groups, ...)": ("A row per model that answered cases twice.", tables.NOISE_COLUMNS),
    "prompt_models(runs)": ("A row per prompt and model of a batch: `models.csv`.", tables.PROMPT_MODEL_COLUMNS),
    "over_prompts(prompt_models)": ("A row per model of a batch, the lowest mean first.", tables.OVER_PROMPTS_COLUMNS),
}
"""Per function of ``promptpex.tables``, what it gives and its columns."""

MEANINGS: Mapping[str, str] = {
    "accuracy": "share of compared outputs that are right, mean over cases",
    "accuracy_at_least": "whether usable answers could not be compared, so that the accuracy is a lower bound",
    "accuracy_cases": "cases compared with the same expected output in both runs",
    "accuracy_decision": "`better`, `worse` or `undecided`",
    "accuracy_right": "compared outputs that are right",
    "accuracy_scored": "outputs compared with an expected one",
    "accuracy_unscored": "outputs with an expected one that could not be compared",
    "accuracy_within_tolerance": "accuracy shown to be less than the tolerance lower",
    "adjusted": "kappa with prevalence and bias set to 0 (PABAK)",
    "after": "outputs of the second run that break a rule; in `changed`: passed of scored repeats",
    "after_scored": "scored outputs of the second run",
    "agreed": "share of agreement",
    "aim": "rule that the case aims at",
    "answered": "answers that a model gave, usable or not",
    "asked": "whether model and judges were asked; of `judges`: how often",
    "at_least": "whether usable answers have no verdict, so that the failure rate is a lower bound",
    "beaten_by": "the clearest model that is shown to fail less often",
    "before": "outputs of the first run that break a rule; in `changed`: passed of scored repeats",
    "before_scored": "scored outputs of the first run",
    "best_case": "failure rate if every unscored output had passed",
    "between": "variance of an outcome between cases",
    "both_fail": "both fail it",
    "both_not_concerned": "both find that the rule does not concern the output",
    "both_pass": "both pass it",
    "broken": "scored rows that break it",
    "broken_rules": "ids of the broken rules",
    "case": "id of the case; in `confusions`: the first of them",
    "case_type": "`rule`, `inverse` or `no rule`",
    "cases": "number of cases; in `inconsistent_verdicts`: their ids",
    "cases_needed": "how many cases could show a rise, where these could not",
    "change": "`newly failing` or `fixed`",
    "changed_same_texts": "of `same_texts`, those that are newly failing or fixed: they decide nothing",
    "cheapest": "costs least per output among the models that are good enough, else among those not ruled out",
    "check": "the check that decided",
    "chosen_by_outcome": "whether the cases were chosen because they failed: then there is no interval",
    "code": "verdict of code",
    "code_reason": "reason of code",
    "confidence": "probability of the verdict by the judge's log-probabilities",
    "contradicted": "fails only by checks that a judge contradicts; or how many do",
    "corrected": "failure rate by people's grades and the verdicts together",
    "cost_per_output": "US dollars per answered output",
    "cost_usd": "US dollars; missing where any part is unknown",
    "counts": "whether it decides its rule, or is the output's score; of `metrics`: false for one judge of several",
    "date": "day of the calibration",
    "decision": "`best`, `tied`, `worse`, `undecided`, `only model`, `unscored`, `reference`, `better`",
    "decisions": "how often each decision was made: `3 best, 1 tied`",
    "difference": "difference of failure rates (or what `--rank-by` names) from `versus`, or after minus before; "
    "in `metric_changes`: of means",
    "differing": "chance that two answers to a case differ in whether they break a rule",
    "dropped_after": "cases after which a worse model was asked no further",
    "error": "reason code of a missing or unusable answer",
    "errors": "outputs without a usable answer, part of `unscored`",
    "example": "sentence of its first failure",
    "expected": "the expected answer, cut to 200 characters",
    "fail_rate_first": "share that the first fails",
    "fail_rate_second": "share that the second fails",
    "failed": "fails; of a judge: times that a rule got no usable verdict",
    "failed_share": "`failed` of `asked`",
    "fastest": "least median latency, among the same models as `cheapest`",
    "file": "file of the prompt",
    "fingerprint": "hash of the check, or of the judge's template and settings",
    "finish_reason": "why the model stopped",
    "first": "the first rater: `code` or a judge",
    "first_fails": "only the first fails it",
    "fixed": "cases that break their rules in fewer repeats than before",
    "flaky": "cases that both pass and fail",
    "flip": "chance that two repeats of it disagree",
    "flip_rate": "chance that two repeats of a case disagree",
    "given": "the answer instead; in `answer_counts`: one of the expected answers, or missing",
    "graded": "outputs of the random sample on which people agree",
    "grades_alone": "so many grades without any verdict would tell as much",
    "highest": "highest of its failure rates on all prompts",
    "highest_at_least": "whether `highest` is a lower bound",
    "inputs": "the case's inputs, JSON",
    "interval": "how the interval was made: `exact`, `effective-size` or `bounds`",
    "inverse": "whether the case aims at the inverse of its rule",
    "judge": "verdict of the judge; in `judges` and `calibration_states`: its label",
    "judge_reason": "reason of the judge",
    "judged_by": "the judge",
    "kappa": "Cohen's kappa; missing where it is not defined",
    "kind": "who is compared: `code-judge`, `judges` or `again`",
    "latency_ms": "milliseconds to the answer",
    "latency_p50_ms": "median latency",
    "latency_p95_ms": "95th percentile of the latency",
    "left_out": "outputs of the sample on which people are unsure or at odds",
    "lowest": "lowest of its failure rates on all prompts",
    "lowest_at_least": "whether `lowest` is a lower bound",
    "mean": "mean score, 0 to 1",
    "mean_non_compliance": "mean of the model's failure rates on these",
    "mean_of": "prompts on which every model has a failure rate that has one on any",
    "message": "the error's sentence",
    "metric": "name of the metric",
    "model": "label of the model",
    "model_reported": "model id that the provider returned",
    "n": "items that both passed or failed",
    "name": "what was scored: `expected`, or a metric",
    "newly_failing": "cases that break their rules in more repeats than before",
    "non_compliance": "failure rate: share of scored outputs that break a rule, mean over cases",
    "non_compliant": "scored outputs that break a rule",
    "not_asked": "what a budget, a deadline or a stop cut off",
    "not_concerned": "outputs that the rule does not concern; in no other column",
    "one_not_concerned": "one finds that the rule does not concern the output, the other does not",
    "output": "the answer",
    "outputs": "number of outputs",
    "p": "p-value of exact sign flips of the differences; of `models` corrected by Holm",
    "partial": "why the run is not complete",
    "pass_at_k": "share of cases where at least one of k repeats passes",
    "pass_hat_k": "share of cases where all of k repeats pass",
    "passed": "number of passes",
    "points": "how much two runs' failure rates differ at most by noise alone",
    "points_at_most": "the same at the upper end of `differing`",
    "prompt": "name of the prompt",
    "prompts": "prompts that the model was run on",
    "reason": "the reason in words",
    "reasons": "a line `id: reason` per broken rule; of a judge: failures by reason",
    "regression": "`shown`, `open`, `not shown` or `nothing scored`",
    "repeat": "number of the repeat, from 0",
    "repeat_worth": "more cases, asked once, that a second repeat is worth",
    "repeats": "times that a case was asked",
    "request": "id of the request",
    "right": "whether they are right",
    "rule": "id of the rule; of `outputs`: that the case aims at",
    "run": "folder of the run",
    "runs": "runs in which the model was asked",
    "same_texts": "cases with the same answers in both runs",
    "scenario": "scenario of the case",
    "scored": "rows that pass or fail; of `metrics`: outputs with a score",
    "scored_prompts": "prompts on which an output of the model was scored",
    "second": "the second rater",
    "second_fails": "only the second fails it",
    "sensitivity": "share of what people find bad that the judge fails",
    "share": "its failure rate: mean over cases",
    "source": "who decided: `check:...`, `match:...`, `judge:...`, `judges:...`, `javascript`, `none`",
    "specificity": "share of what people find good that the judge passes",
    "state": "the calibration is `current`, or stale (`reworded`, `another judge`), or `never` made",
    "status": "`pass`, `fail`, `unscored` or `not_concerned`",
    "still_failing": "cases that break their rules in as many repeats as before",
    "timed": "answers whose latency is known",
    "tokens_in": "tokens of the requests",
    "tokens_out": "tokens of the answers",
    "turn": "number of the time that the judge was asked, from 0",
    "undecided_because": "what keeps it undecided",
    "unscored": "rows that neither pass nor fail; of `outputs`, `verdicts` and `scores`: the reason code",
    "unscored_reasons": "how many are unscored for which reason",
    "usable": "answers that could be judged",
    "value": "the score, 0 to 1",
    "verdict": "`pass`, `fail` or `unscored`",
    "versus": "the model it is compared with",
    "within": "mean variance of an outcome within a case",
    "within_tolerance": "shown to be less than the tolerance worse",
    "without_failure": "of these, those where all outputs were scored and none broke a rule",
    "worst_case": "failure rate if every unscored output had failed",
    "wrong": "all wrong outputs of the model",
}
"""What each column means, under one name everywhere."""

FAMILIES: Mapping[str, str] = {
    "_low": "lower end of the interval",
    "_high": "upper end of the interval",
    "_interval": "how the interval was made",
    "_before": "of the first run",
    "_after": "of the second run",
    "_best": "if every output that could not be compared was right",
    "_worst": "if every one was wrong",
    "_difference": "after minus before, or from `versus`",
    "_p": "p-value of the difference",
    "_adjusted": "a p-value, corrected by Holm",
    "_undecided_because": "what keeps the decision open",
}
"""What the end of a name says, where ``MEANINGS`` lacks the name."""


def page() -> str:
    """The page, as Markdown."""
    return "\n".join([*_tables(), *_columns(), ""])


def _tables() -> Iterator[str]:
    yield "# The tables"
    yield ""
    yield "`promptpex.tables` gives a run as pandas DataFrames; the CSV files of a run's folder are these tables."
    yield "Columns and dtypes are the same when there are no rows. `python scripts/tables_page.py` makes this page."
    for name, (meaning, columns) in TABLES.items():
        yield ""
        yield f"**`{name}`**: {meaning} Columns: {', '.join(f'`{column}`' for column in columns)}"


def _columns() -> Iterator[str]:
    """What each column means, once, by its dtype."""
    shown = [*(item for _, columns in TABLES.values() for item in columns.items())]
    first = dict(reversed(shown))
    yield "\n## What the columns mean\n"
    yield "`non_compliance` is the failure rate: the share of scored outputs that break a rule. Shares go from 0 to 1."
    yield "A value is missing where nothing was scored or compared. The end of a name says:\n"
    yield from (f"- `{end}`: {meaning}" for end, meaning in FAMILIES.items())
    for dtype in sorted(set(first.values())):
        yield f"\n### {dtype}\n"
        yield from (f"- `{name}`: {MEANINGS[name]}" for name in sorted(MEANINGS) if first.get(name) == dtype)


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    sys.stdout.write(page())
