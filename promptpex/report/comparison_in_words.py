"""What has changed between two runs, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from promptpex.core.records import EXPECTED, Manifest
from promptpex.core.translation import Key, from_data, tr, tr_n
from promptpex.report.caveats_in_words import FEW
from promptpex.report.comparison.what_changed import changed_rules
from promptpex.report.ids import shortened_list
from promptpex.report.percentages import TableRow, at_least, percent
from promptpex.report.run_tables import RunTables
from promptpex.tables import AnyRun, MetricCounts, Table

CHANGED = {
    "worse": Key(
        "{model} is clearly worse: {before} before, {after} after ({failing} newly failing, {fixed} fixed of {cases})."
    ),
    "better": Key(
        "{model} is clearly better: {before} before, {after} after ({failing} newly failing, {fixed} fixed of {cases})."
    ),
    "undecided": Key(
        "{model} shows no clear change: {before} before, {after} after "
        "({failing} newly failing, {fixed} fixed of {cases})."
    ),
    "same outputs": Key(
        "The verdicts on {model} changed ({why}), the outputs did not: {before} before, {after} after "
        "({failing} newly failing, {fixed} fixed of {cases}, each with the same text)."
    ),
    "unlike": Key(
        "No claim about {model}: {before} before, {after} after ({failing} newly failing, {fixed} fixed of {cases}), "
        "but not by the same ({why}); what was decided alike shows no clear change. `promptpex judge` holds the first "
        "run to other rules."
    ),
}
ACCURACY_CHANGED = {
    "worse": Key("Its accuracy is clearly lower{shares} ({cases} with an expected output)."),
    "better": Key("Its accuracy is clearly higher{shares} ({cases} with an expected output)."),
    "undecided": Key("Its accuracy shows no clear change{shares} ({cases} with an expected output)."),
}
METRIC_CHANGED = {
    "worse": Key("The metric {metric} is clearly lower: {before} before, {after} after ({cases})."),
    "better": Key("The metric {metric} is clearly higher: {before} before, {after} after ({cases})."),
}


_WHAT_IS_CLEAR = Key(
    "points: after minus before, on cases that both runs scored; a change is clear if exact sign flips of the "
    "differences per case show it, however the unscored outputs would have come out, corrected for the number of "
    "models (Holm); the intervals hold for all models together."
)


def changes_answer(rows: Sequence[TableRow], by_metric: Table, unlike: str = "") -> str:
    """What is shown of each model, a paragraph of plain words.

    Args:
        rows: a table of changes (``tables.COMPARISON_COLUMNS``) as plain rows.
        by_metric: the changes in the owner's metrics.
        unlike: by what the two runs were decided otherwise, in words; empty where by nothing.
    """
    return " ".join(
        f"{_sentence(row, unlike)}{_accuracy_sentence(row)}{_metric_sentences(row, by_metric)}" for row in rows
    )


def decided_otherwise(before: AnyRun, after: AnyRun, unlike: Sequence[str]) -> str:
    """By what two runs were decided otherwise, in words: the judge, and the rules that read otherwise."""
    if not unlike:
        return ""
    ids = [rule.id for rule in changed_rules(before, after)]
    rules = [tr_n("rule {ids}", "rules {ids}", len(ids), ids=shortened_list(ids))] if ids else []
    return ", ".join([*([tr("judge")] if set(unlike) - set(ids) else []), *rules])


def no_claim(rows: Sequence[TableRow], before: Manifest, after: Manifest) -> str:
    """Why nothing is claimed where the cases of a run were chosen because they failed, and what became of them.

    Args:
        rows: a table of changes as plain rows.
        before, after: of the two runs.
    """
    which = tr("the first run") if before.failed_in else tr("the second run")
    why = tr(
        "No claim: the cases of {which} were chosen because they failed or were unscored in run {run}, and some that "
        "failed pass by chance. Run the whole suite to know.",
        which=which,
        run=before.failed_in or after.failed_in,
    )
    counts = (
        tr("{model}: {fixed} fixed, {failing} newly failing of {cases}.", **_became(row))
        for row in rows
        if row["cases"]
    )
    return " ".join([why, *counts])


def _became(row: TableRow) -> dict[str, object]:
    counts = {"fixed": row["fixed"], "failing": row["newly_failing"], "cases": _cases(row["cases"])}
    return {"model": row["model"], **counts}


def _sentence(row: TableRow, unlike: str) -> str:
    if not row["cases"]:
        return tr("{model}: no case was scored in both runs.", model=row["model"])
    changed = row["newly_failing"] + row["fixed"]
    is_unlike = row["decision"] == "undecided" and unlike and changed
    sentence = CHANGED["unlike" if is_unlike else row["decision"]].tr(
        why=unlike or tr("judged again"),
        model=row["model"],
        before=at_least(row["non_compliance_before"], row["at_least"]),
        after=at_least(row["non_compliance_after"], row["at_least"]),
        failing=row["newly_failing"],
        fixed=row["fixed"],
        cases=_cases(row["cases"]),
    )
    if row["changed_same_texts"] and row["decision"] != "same outputs":
        sentence += " " + tr(
            "In {count} of the {changed} cases that changed the text is the same, so they decide nothing.",
            count=row["changed_same_texts"],
            changed=changed,
        )
    return f"{sentence}{_because(row['undecided_because'])}"


def _cases(count: int) -> str:
    return tr_n("{count} case", "{count} cases", count)


def _because(reason: str | None) -> str:
    return " " + tr("Undecided because {reason}.", reason=from_data(reason)) if reason else ""


def _accuracy_sentence(row: TableRow) -> str:
    """The change in accuracy; nothing where outputs were not compared in both runs."""
    if not row["accuracy_cases"]:
        return ""
    shares = ""
    if row["accuracy_before"] is not None:
        before, after = percent(row["accuracy_before"]), percent(row["accuracy_after"])
        shares = tr(": {before} before, {after} after", before=before, after=after)
    change, cases = ACCURACY_CHANGED[row["accuracy_decision"]], _cases(row["accuracy_cases"])
    return f" {change.tr(shares=shares, cases=cases)}{_because(row['accuracy_undecided_because'])}"


def _metric_sentences(row: TableRow, by_metric: Table) -> str:
    """The clear changes of a model in the owner's metrics."""
    sentences = (
        METRIC_CHANGED[metric["decision"]].tr(
            metric=metric["metric"],
            before=percent(metric["mean_before"]),
            after=percent(metric["mean_after"]),
            cases=_cases(metric["cases"]),
        )
        for metric in by_metric.records()
        if metric["model"] == row["model"] and metric["decision"] in METRIC_CHANGED
    )
    return "".join(f" {sentence}" for sentence in sentences)


def metric_note(scores: tuple[MetricCounts, MetricCounts], by_metric: Table) -> Iterator[str]:
    """Which metrics are not the same measure in both runs: other criteria, another judge, other settings."""
    before, after = scores
    names = dict.fromkeys(by_metric.column("metric"))
    other = [name for name in names if before.fingerprints(name) != after.fingerprints(name)]
    if other:
        yield tr(
            "Scored in another way in the two runs (criteria, judge or settings): {metrics}.", metrics=", ".join(other)
        )


def change_notes(before: RunTables, after: RunTables, common: int, rows: Sequence[TableRow]) -> Iterator[str]:
    """What a reader has to know of a comparison.

    Args:
        common: how many cases are the same in both.
        rows: a table of changes as plain rows.
    """
    one, two = before.run.manifest, after.run.manifest
    if not (one.failed_in or two.failed_in):
        yield _WHAT_IS_CLEAR.tr()
    if one.run == two.run:
        yield tr(
            "Both runs were made from the same prompt, spec, cases, models and settings: what differs is noise, or "
            "what a provider or promptpex has changed since."
        )
    if one.prompt_fingerprint != two.prompt_fingerprint:
        yield tr("The prompt has changed between the runs.")
    if one.spec_digest != two.spec_digest and any(changed_rules(before.run, after.run)):
        yield tr("The specs differ: the verdicts of the two runs rest on different rules or checks.")
    if one.judges != two.judges:
        was, now = (", ".join(judges) or tr("none") for judges in (one.judges, two.judges))
        yield tr("The judges differ: {before} before, {after} after.", before=was, after=now)
    ways = [_comparisons(summary) for summary in (before, after)]
    if all(ways) and ways[0] != ways[1]:
        was, now = (", ".join(way) for way in ways)
        yield tr("Expected outputs were compared by {before} before, by {after} after.", before=was, after=now)
    left = [len(made.run.suite.cases) - common for made in (before, after)]
    if any(left):
        yield tr(
            "Cases that are not the same in both are left out: {first} of the first run, {second} of the second.",
            first=left[0],
            second=left[1],
        )
    removed_notes = [
        model for model in dict.fromkeys([*one.models, *two.models]) if (model in one.models) != (model in two.models)
    ]
    if removed_notes and len(rows) < len(set(one.models) | set(two.models)):
        yield tr("Models of one run only are left out: {models}.", models=", ".join(removed_notes))
    if one.partial:
        yield tr("The first run is not complete ({reason}).", reason=from_data(one.partial))
    if two.partial:
        yield tr("The second run is not complete ({reason}).", reason=from_data(two.partial))
    if any(row["cases"] < FEW for row in rows) and not (one.failed_in or two.failed_in):
        yield tr("Fewer than {few} cases were scored in both: only a large change could be detected.", few=FEW)


def _comparisons(made: RunTables) -> list[str]:
    """By what the outputs of a run were compared with expected ones: ``match:json``, ``judge:gpt-4o``."""
    made_by = "SELECT DISTINCT source FROM score WHERE name = ? AND unscored IS NULL ORDER BY source"
    return made.database.listed(made_by, [EXPECTED])
