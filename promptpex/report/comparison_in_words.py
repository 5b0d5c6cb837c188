"""What has changed between two runs, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from promptpex import tables
from promptpex.codecs.wording import plural
from promptpex.core.records import EXPECTED, AnyRun
from promptpex.report.caveats_in_words import FEW
from promptpex.report.percentages import TableRow, percent
from promptpex.tables import records

if TYPE_CHECKING:
    import pandas as pd


def changes_answer(rows: Sequence[TableRow], by_metric: pd.DataFrame) -> str:
    """What is shown of each model, a paragraph of plain words.

    Args:
        rows: a table of changes (``tables.COMPARISON_COLUMNS``) as plain rows.
        by_metric: the changes in the owner's metrics.
    """
    return " ".join(f"{_sentence(row)}{_accuracy_sentence(row)}{_metric_sentences(row, by_metric)}" for row in rows)


def _sentence(row: TableRow) -> str:
    if not row["cases"]:
        return f"{row['model']}: no case was scored in both runs."
    bound = "at least " if row["at_least"] else ""
    shares = (
        f"{bound}{percent(row['non_compliance_before'])} before, {bound}{percent(row['non_compliance_after'])} after"
    )
    counts = f"{row['newly_failing']} newly failing, {row['fixed']} fixed of {plural(row['cases'], 'case')}"
    words = {"worse": "is clearly worse", "better": "is clearly better", "undecided": "shows no clear change"}
    sentence = f"{row['model']} {words[row['change']]}: {shares} ({counts})."
    if row["holds_sampled"] is False:
        sentence += " This would not hold if the rules were only a sample of the prompt's."
    return f"{sentence} Undecided because {row['because']}." if row["because"] else sentence


def _accuracy_sentence(row: TableRow) -> str:
    """The change in accuracy; nothing where outputs were not compared in both runs."""
    if not row["accuracy_cases"]:
        return ""
    words = {"worse": "is clearly lower", "better": "is clearly higher", "undecided": "shows no clear change"}
    shares = ""
    if row["accuracy_before"] is not None:
        shares = f": {percent(row['accuracy_before'])} before, {percent(row['accuracy_after'])} after"
    of = f" ({plural(row['accuracy_cases'], 'case')} with an expected output)"
    sentence = f" Its accuracy {words[row['accuracy_change']]}{shares}{of}."
    return f"{sentence} Undecided because {row['accuracy_because']}." if row["accuracy_because"] else sentence


def _metric_sentences(row: TableRow, by_metric: pd.DataFrame) -> str:
    """The clear changes of a model in the owner's metrics."""
    words = {"worse": "clearly lower", "better": "clearly higher"}
    own = by_metric[by_metric["model"].isin([row["model"]]) & by_metric["change"].isin(list(words))]
    return "".join(
        f" The metric {metric['metric']} is {words[metric['change']]}: {percent(metric['mean_before'])} before, "
        f"{percent(metric['mean_after'])} after ({plural(metric['cases'], 'case')})."
        for metric in records(own)
    )


def metric_note(scores: tuple[pd.DataFrame, pd.DataFrame], by_metric: pd.DataFrame) -> Iterator[str]:
    """Which metrics are not the same measure in both runs: other criteria, another judge, other settings."""
    marks = [
        {
            name: set(tables.counting_scores(frame, name).query("source != 'none'")["fingerprint"])
            for name in by_metric["metric"].unique()
        }
        for frame in scores
    ]
    other = [name for name, was in marks[0].items() if was != marks[1][name]]
    if other:
        yield f"Scored in another way in the two runs (criteria, judge or settings): {', '.join(other)}."


def change_notes(before: AnyRun, after: AnyRun, common: int, rows: Sequence[TableRow]) -> Iterator[str]:
    """What a reader has to know of a comparison.

    Args:
        common: how many cases are the same in both.
        rows: a table of changes as plain rows.
    """
    one, two = before.manifest, after.manifest
    yield (
        "points: after minus before, on cases that both runs scored; a change is clear if exact sign flips of the "
        "differences per case show it, however the unscored outputs would have come out, corrected for the number of "
        "models (Holm)."
    )
    if one.run == two.run:
        yield (
            "Both runs were made from the same prompt, spec, cases, models and settings: what differs is noise, or "
            "what a provider or promptpex has changed since."
        )
    if one.prompt_fingerprint != two.prompt_fingerprint:
        yield "The prompt has changed between the runs."
    if one.spec_digest != two.spec_digest:
        yield "The specs differ: the verdicts of the two runs rest on different rules or checks."
    if one.judges != two.judges:
        names = [", ".join(judges) or "none" for judges in (one.judges, two.judges)]
        yield f"The judges differ: {names[0]} before, {names[1]} after."
    ways = [_comparisons(run) for run in (before, after)]
    if all(ways) and ways[0] != ways[1]:
        yield f"Expected outputs were compared by {', '.join(ways[0])} before, by {', '.join(ways[1])} after."
    left = [len(run.suite.cases) - common for run in (before, after)]
    if any(left):
        yield f"Cases that are not the same in both are left out: {left[0]} of the first run, {left[1]} of the second."
    gone = [
        model for model in dict.fromkeys([*one.models, *two.models]) if (model in one.models) != (model in two.models)
    ]
    if gone and len(rows) < len(set(one.models) | set(two.models)):
        yield f"Models of one run only are left out: {', '.join(gone)}."
    for run, name in ((one, "first"), (two, "second")):
        if run.partial:
            yield f"The {name} run is not complete ({run.partial})."
    if any(row["cases"] < FEW for row in rows):
        yield f"Fewer than {FEW} cases were scored in both: only a large change could be detected."


def _comparisons(run: AnyRun) -> list[str]:
    """By what the outputs of a run were compared with expected ones: ``match:json``, ``judge:gpt-4o``."""
    scores = tables.scores(run)
    sources = scores.loc[scores["name"].eq(EXPECTED) & scores["value"].notna(), "source"]
    return sorted(set(map(str, sources)))
