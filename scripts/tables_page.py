"""Prints the page that documents the tables, made from their columns:
``python scripts/tables_page.py > docs/tables.md``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from promptpex import tables

TABLES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "outputs(run)": ("A row per output: what was asked, the answer, how it was judged.", tables.OUTPUT_COLUMNS),
    "verdicts(run)": ("A row per verdict: rule x case x model x repeat.", tables.VERDICT_COLUMNS),
    "scores(run)": (
        "A row per score of an output: whether it is the expected one, or a metric. `scores.csv`, where there are any.",
        tables.SCORE_COLUMNS,
    ),
    "rule_outcomes(verdicts)": (
        "A row per rule and output: what its verdicts that count come to.",
        tables.RULE_OUTCOME_COLUMNS,
    ),
    "models(outputs)": ("A row per model: `report.csv`.", tables.MODEL_COLUMNS),
    "corrections(outputs, people)": (
        "A row per model that people graded outputs of. Where there are grades, these columns are in `report.csv` "
        "after all others. See [alignment.md](alignment.md#corrected-figures).",
        tables.CORRECTION_COLUMNS,
    ),
    "corrected_changes(before, after, people)": (
        "The same for two runs, on the cases of both: in `promptpex compare --json`, where there are grades.",
        tables.CORRECTED_CHANGE_COLUMNS,
    ),
    "calibration_states(verdicts, rules, people)": (
        "A row per rule and judge: how far it agreed with people. In `promptpex report --json`, where people graded.",
        tables.CALIBRATION_COLUMNS,
    ),
    "rules(verdicts)": ("A row per rule and model.", tables.RULE_COLUMNS),
    "metrics(scores)": (
        "A row per metric, source and model: the scores that count, and those of each judge of several. `metrics.csv`, "
        "where there are metrics; `report.csv` then has, after the columns of `models`, `metric_NAME` (the mean), "
        "`metric_NAME_scored`, `metric_NAME_ci_low` and `metric_NAME_ci_high` of each metric, and `results.csv`, after "
        "those of `outputs`, `metric_NAME`, the output's score from 0 to 1.",
        tables.METRIC_COLUMNS,
    ),
    "lowest_scores(scores, outputs)": ("The outputs that each metric scores lowest.", tables.LOWEST_COLUMNS),
    "confusions(expected_outcomes(outputs, scores), expected)": (
        "A row per model, expected and given answer: what was answered most often where something else was expected. "
        "`confusions.csv`, where there are wrong answers: at most 500 rows of each model.",
        tables.CONFUSION_COLUMNS,
    ),
    "answer_counts(expected_outcomes(outputs, scores), expected)": (
        "A row per model, expected and given answer, right ones too, where answers are closed, such as tags: at most "
        "50 expected answers of at most 40 characters, some of them of several cases.",
        tables.ANSWER_COLUMNS,
    ),
    "by_case_type(outputs)": (
        "A row per model and type of case: rule cases and inverse cases.",
        tables.CASE_TYPE_COLUMNS,
    ),
    "scenarios(outputs)": ("A row per model and scenario, where there are any.", tables.SCENARIO_COLUMNS),
    "repeats(outputs)": ("A row per model whose cases were asked more than once.", tables.STABILITY_COLUMNS),
    "flaky(outputs)": ("A row per model and case whose repeats disagree.", tables.FLAKY_COLUMNS),
    "inconsistent_verdicts(outputs, verdicts)": (
        "A row per identical output that one judge passed and failed by one rule.",
        tables.INCONSISTENT_COLUMNS,
    ),
    "judges(verdicts)": ("A row per judge: how often it gave no usable verdict, and why.", tables.JUDGE_COLUMNS),
    "agreements(verdicts)": (
        "Code with each judge, judges with each other, each judge with itself: overall and per rule. `agreement.csv`.",
        tables.AGREEMENT_COLUMNS,
    ),
    "disagreements(verdicts, outputs)": (
        "A row per output and rule on which code and a judge differ, worst first. `disagreements.csv`.",
        tables.DISAGREEMENT_COLUMNS,
    ),
    "comparison(before, after, ...)": ("A row per model of two runs: `promptpex compare`.", tables.COMPARISON_COLUMNS),
    "rule_changes(before, after, ...)": (
        "A row per rule and model of two runs: the page of `promptpex compare`, and its `--json`.",
        tables.RULE_CHANGE_COLUMNS,
    ),
    "metric_changes(before, after, ...)": (
        "A row per model and metric of two runs: `promptpex compare`.",
        tables.METRIC_CHANGE_COLUMNS,
    ),
    "changed(before, after, ...)": (
        "A row per case that one of two runs breaks more often.",
        tables.CHANGED_COLUMNS,
    ),
    "regressions(before, after, ...)": (
        "A row per model of a run and its baseline: `promptpex gate --baseline`.",
        tables.REGRESSION_COLUMNS,
    ),
    "noise(groups, ...)": (
        "A row per model that answered cases twice: how far its results differ from run to run.",
        tables.NOISE_COLUMNS,
    ),
    "prompt_models(runs)": (
        "A row per prompt and model of a batch: `models.csv` in its folder. See [many-prompts.md](many-prompts.md).",
        tables.PROMPT_MODEL_COLUMNS,
    ),
    "over_prompts(prompt_models)": (
        "A row per model of a batch, the lowest mean first: what its prompts have in common, described and not tested.",
        tables.OVER_PROMPTS_COLUMNS,
    ),
}
"""Per function of ``promptpex.tables``, what it gives and its columns."""

MEANINGS: Mapping[str, str] = {
    "prompt": "name of the prompt",
    "prompts": "prompts that the model was run on",
    "file": "file of the prompt, as the command named it",
    "run": "folder of the run under that of all runs",
    "partial": "why the run is not complete, where it is not",
    "scored_prompts": "prompts on which an output of the model was scored",
    "without_failure": "of these, those on which all of its outputs were scored and none broke a rule",
    "decisions": "how often each decision was made about the model: `3 best, 1 tied`",
    "mean_of": "prompts on which every model has a share that has one on any",
    "mean_non_compliance": "mean of the model's shares on these, each prompt counting the same; with `at_least` a "
    "lower bound",
    "lowest": "lowest of its shares on all prompts",
    "highest": "highest of its shares on all prompts",
    "lowest_at_least": "whether `lowest` is a lower bound",
    "highest_at_least": "whether `highest` is one",
    "runs": "runs in which the model was asked",
    "differing": "mean over the cases of the chance that two answers differ in whether they break a rule",
    "differing_low": "lower end of its interval",
    "differing_high": "upper end of its interval",
    "points": "by how much, as a share, the non-compliance of two runs differs by noise alone at most, as often as the "
    "confidence says",
    "points_at_most": "the same at the upper end of the interval of `differing`",
    "same_texts": "cases whose answers are the same in both runs",
    "changed_same_texts": "those of them that are newly failing or fixed all the same: they decide nothing",
    "cases_needed": "how many cases could show a rise, where these could show none",
    "regression": "`shown`; `open`: the unscored outputs could show it; `not shown`; or `nothing scored`",
    "accuracy": "mean over the cases with an expected output of the share of compared outputs that are right, 0 to 1; "
    "with `accuracy_at_least` of all usable ones; missing where nothing was compared",
    "accuracy_after": "accuracy of the second run",
    "corrected": "non-compliance by people's grades on a random sample and the verdicts on all usable outputs",
    "corrected_after": "the same of the second run",
    "corrected_before": "the same of the first run",
    "corrected_difference": "difference of `corrected`, from `versus`, or after minus before",
    "corrected_difference_high": "upper end of its interval (MOVER)",
    "corrected_difference_low": "lower end of its interval (MOVER)",
    "corrected_high": "upper end of its interval (exact, at the effective size)",
    "corrected_low": "lower end of its interval (exact, at the effective size)",
    "date": "day of the calibration",
    "graded": "outputs of the random sample on which people agree, each text of the same inputs once",
    "left_out": "outputs of that sample whose grades give no label: people are unsure, or at odds",
    "graded_after": "the same of the second run",
    "graded_before": "the same of the first run",
    "grades_alone": "so many grades without any verdict would tell as much",
    "sensitivity": "share of what people find bad that the judge fails",
    "sensitivity_high": "upper end of its interval",
    "sensitivity_low": "lower end of its interval",
    "specificity": "share of what people find good that the judge passes",
    "specificity_high": "upper end of its interval",
    "specificity_low": "lower end of its interval",
    "state": "whether the calibration holds: `current`; `reworded`, `another judge`: stale; `never`: there is none",
    "accuracy_at_least": "whether usable answers could not be compared, so that the accuracy is a lower bound",
    "accuracy_undecided_because": "what keeps the change in accuracy undecided",
    "accuracy_before": "accuracy of the first run",
    "accuracy_best": "accuracy if every output that could not be compared was right",
    "accuracy_cases": "cases compared with the same expected output in both runs",
    "accuracy_decision": "`better` or `worse` where that is shown of the accuracy, else `undecided`",
    "accuracy_ci_high": "upper end of its interval",
    "accuracy_ci_low": "lower end of its interval",
    "accuracy_difference": "accuracy after minus before, as a share",
    "accuracy_difference_high": "upper end of its interval (Tango)",
    "accuracy_difference_low": "lower end of its interval (Tango)",
    "accuracy_p": "p-value of exact sign flips of the differences of the cases",
    "accuracy_p_adjusted": "the same, corrected over the models by Holm",
    "accuracy_right": "compared outputs that are right",
    "accuracy_scored": "outputs compared with an expected one",
    "accuracy_unscored": "outputs of cases with an expected one that were asked for and could not be compared",
    "accuracy_within_tolerance": "accuracy shown to be less than the tolerance lower, corrected by Holm",
    "accuracy_worst": "accuracy if every output that could not be compared was wrong",
    "accuracy_worst_high": "upper end of the interval in that case",
    "accuracy_worst_low": "lower end of the interval in that case",
    "adjusted": "kappa with prevalence and bias set to 0 (PABAK)",
    "after": "outputs of the second run that break a rule; in `changed`: passed of scored repeats",
    "after_scored": "scored outputs of the second run",
    "agreed": "share of agreement",
    "agreed_high": "upper end of its interval",
    "agreed_interval": "how it was made: `exact` (Clopper and Pearson) where each case is there once, else "
    "`korn-graubard`, the same by case, since the verdicts of one case depend on each other",
    "agreed_low": "lower end of its interval",
    "aim": "rule that the case aims at",
    "answered": "answers that a model gave, usable or not",
    "asked": "whether the model and the judges were asked: no budget, deadline or stop came before; of `judges`: "
    "times that it was asked, one for each output and turn",
    "at_least": "whether usable answers have no verdict, so that the share is a lower bound",
    "beaten_by": "a model that is shown to break its rules less often, the clearest",
    "dropped_after": "cases after which the model was shown to be worse and not asked further",
    "undecided_because": "what keeps it undecided: outputs without a verdict, models not asked",
    "before": "outputs of the first run that break a rule; in `changed`: passed of scored repeats",
    "before_scored": "scored outputs of the first run",
    "best_case": "non-compliance if every output that was asked for and could not be scored had passed",
    "both_fail": "both fail it",
    "both_not_concerned": "in addition: both find that the rule does not concern the output",
    "both_pass": "both pass it",
    "broken": "scored rows that break it",
    "broken_rules": "ids of the broken rules, joined by blanks",
    "case": "id of the case; in `confusions`: the first of them",
    "case_type": "what the case aims at: `rule`, `inverse` or `no rule`",
    "cases": "number of cases; in `inconsistent_verdicts`: their ids, joined by blanks",
    "change": "`newly failing` or `fixed`",
    "cheapest": "costs least per output seen, among the models that are good enough, else among those not ruled out",
    "check": "the check that decided",
    "ci_high": "upper end of the interval of the share; in `metrics`: of the mean, whatever the missing scores are",
    "ci_low": "lower end of the interval of the share; in `metrics`: of the mean, whatever the missing scores are",
    "code": "verdict of code",
    "code_reason": "reason of code",
    "confidence": "probability of the verdict by the judge's log-probabilities, where given",
    "cost_per_output": "US dollars per answered output",
    "cost_usd": "US dollars; missing where any part is unknown",
    "contradicted": "whether it fails only by checks that a judge contradicts, or how many such failures there are",
    "counts": "whether the verdict decides its rule; of `scores`: whether it is the output's score under this name; of "
    "`metrics`: false for one judge of several",
    "decision": "`best`, `tied`, `worse`, `undecided`, `only model`, `unscored`; `reference`, `better`",
    "difference": "difference in non-compliance (with `--rank-by` in accuracy or the metric), as a share, on cases "
    "scored in both: from `versus`, or after minus before; in `metric_changes`: of the means",
    "difference_high": "upper end of its interval (Tango; in `metric_changes` of a mean of "
    "differences; in `regressions` of other cases MOVER)",
    "difference_low": "lower end of its interval (Tango; in `metric_changes` of a mean of "
    "differences; in `regressions` of other cases MOVER)",
    "error": "reason code of a missing or unusable answer",
    "errors": "outputs without a usable answer, part of `unscored`",
    "expected": "the expected answer, cut to 200 characters",
    "given": "the answer instead, cut to 200 characters; in `answer_counts`: one of the expected answers, missing for "
    "any other",
    "right": "whether they are right",
    "wrong": "all wrong outputs of the model",
    "example": "sentence of its first failure",
    "fail_rate_first": "share that the first fails",
    "fail_rate_second": "share that the second fails",
    "failed": "number of fails; of a judge: times that a rule got no usable verdict",
    "failed_share": "`failed` of `asked`, 0 to 1; missing where nothing was asked",
    "fastest": "least median latency seen, among the same models as `cheapest`",
    "fingerprint": "hash of the check or comparison, or of the judge's template and settings",
    "finish_reason": "why the model stopped",
    "first": "the first rater: `code` or a judge",
    "first_fails": "only the first fails it",
    "fixed": "cases that break their rules in fewer of their repeats than before",
    "flaky": "cases that both pass and fail from repeat to repeat",
    "flip": "chance that two repeats of it disagree",
    "flip_high": "upper end of its interval",
    "flip_low": "lower end of its interval",
    "flip_rate": "chance that two repeats of a case disagree",
    "inputs": "the case's inputs, JSON",
    "interval": "how the interval was made: `exact`, `effective-size` or `bounds`",
    "inverse": "whether the case aims at the inverse of its rule",
    "judge": "verdict of the judge; in `judges` and `calibration_states`: its label",
    "judge_reason": "reason of the judge",
    "judged_by": "the judge",
    "kappa": "Cohen's kappa; missing where it is not defined",
    "kappa_high": "upper end of its interval",
    "kappa_interval": "how it was made: `smoothed` where each case is there once, else `smoothed-by-cluster`",
    "kappa_low": "lower end of its interval",
    "kind": "who is compared: `code-judge`, `judges` or `again`",
    "latency_ms": "milliseconds to the answer",
    "latency_p50_ms": "median latency, milliseconds",
    "latency_p95_ms": "95th percentile of the latency, milliseconds",
    "name": "what was scored: `expected`, or the name of a metric",
    "still_failing": "cases that break their rules in as many of their repeats as before",
    "newly_failing": "cases that break their rules in more of their repeats than before",
    "mean": "mean over the cases of the mean of their scored outputs, from 0 to 1; missing where nothing was scored",
    "mean_after": "mean of the second run, on cases scored in both",
    "mean_before": "mean of the first run, on cases scored in both",
    "metric": "name of the metric",
    "message": "the error's sentence",
    "model": "label of the model",
    "model_reported": "model id that the provider returned",
    "n": "items that both passed or failed; every figure is of these",
    "non_compliance": "mean over cases of the share of scored outputs that break a rule, 0 to 1; with `at_least` "
    "of all usable ones; missing where nothing was scored",
    "non_compliance_after": "share of the second run, 0 to 1",
    "non_compliance_before": "share of the first run, 0 to 1",
    "non_compliant": "scored outputs that break at least one rule",
    "not_concerned": "outputs that the rule, which has a condition, does not concern; they are in no other column",
    "chosen_by_outcome": "whether the cases were chosen because they failed before (`--only-failed`): every share, "
    "interval and decision is missing then",
    "not_asked": "outputs, of `judges` requests, that a budget, a deadline or a stop cut off",
    "one_not_concerned": "in addition: one of the two finds that the rule does not concern the output, the other does "
    "not",
    "output": "the answer",
    "outputs": "number of outputs; of `judges`: those that it was asked about",
    "p": "p-value of exact sign flips of the differences of the cases, missing where there is no difference; of "
    "`models` corrected by Holm",
    "p_adjusted": "p corrected over the models, in `metric_changes` over models and metrics, in `rule_changes` over "
    "rules and models, by Holm",
    "pass_at_high": "upper end of its interval",
    "pass_at_k": "share of cases where at least one of k repeats passes",
    "pass_at_low": "lower end of its interval",
    "pass_hat_high": "upper end of its interval",
    "between": "variance of an outcome, broken or kept, between cases",
    "within": "mean variance of an outcome within a case",
    "repeat_worth": "more cases, asked once, that a second repeat of these cases is worth",
    "pass_hat_k": "share of cases where all of k repeats pass",
    "pass_hat_low": "lower end of its interval",
    "passed": "number of passes",
    "reason": "the reason in words",
    "reasons": "a line `id: reason` per broken rule; of a judge: how many failed for which reason",
    "repeat": "number of the repeat, from 0",
    "repeats": "times that a case was asked",
    "request": "id of the request",
    "rule": "id of the rule; of `outputs`: that the case aims at; of agreement: missing for all together",
    "scenario": "scenario of the case",
    "scored": "rows that pass or fail; of `metrics`: outputs with a score",
    "second": "the second rater",
    "second_fails": "only the second fails it",
    "share": "mean over cases of the share of scored outputs that break it, 0 to 1; with `at_least` of all usable ones",
    "source": "who decided: `check:...`, `match:...`, `judge:...`, `judges:...`, `javascript`, `none`",
    "status": "`pass`, `fail`, `unscored`, or `not_concerned`: the rule has a condition that does not hold",
    "timed": "answers whose latency is known",
    "tokens_in": "tokens of the requests",
    "tokens_out": "tokens of the answers",
    "turn": "number of the time that the judge was asked, from 0",
    "unscored": "rows that are neither pass nor fail; of `outputs`, `verdicts` and `scores`: the reason code; of "
    "`metrics`: outputs that were asked for and have no score",
    "unscored_reasons": "how many are unscored for which reason",
    "usable": "answers that were there to be judged",
    "value": "the score, from 0 (worst) to 1; missing where there is none",
    "verdict": "`pass`, `fail` or `unscored`",
    "versus": "the model it is compared with",
    "within_tolerance": "shown to be less than the tolerance worse, corrected by Holm; missing without a tolerance",
    "worst_case": "non-compliance if every output that was asked for and could not be scored had failed; in "
    "`metrics`: the mean if every missing score was 0",
    "worst_high": "upper end of the interval in that case",
    "worst_low": "lower end of the interval in that case",
}
"""What each column means, under one name everywhere."""


def page() -> str:
    """The page, as Markdown."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield "# The tables"
    yield ""
    yield "`promptpex.tables` gives a run as pandas DataFrames. Columns and dtypes never change, also when there are no"
    yield "rows; every dtype knows a missing value. The CSV files of a run's folder are these tables. This page is made"
    yield "by `python scripts/tables_page.py`."
    for name, (meaning, columns) in TABLES.items():
        yield ""
        yield f"## `{name}`"
        yield ""
        yield meaning
        yield ""
        yield "| column | dtype | meaning |"
        yield "|---|---|---|"
        for column, kind in columns.items():
            yield f"| `{column}` | {kind} | {MEANINGS[column]} |"
    yield ""


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    sys.stdout.write(page())
