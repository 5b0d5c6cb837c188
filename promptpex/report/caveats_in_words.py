"""What a reader has to know of the shares of models, for the report's answer: how few outputs they rest on, what is
missing, what is open to doubt."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from promptpex.codecs.text.wording import NAMED, cut
from promptpex.core.records import EXPECTED, Check, Rule
from promptpex.core.translation import tr, tr_n
from promptpex.report.percentages import TableRow, listed, percent

FEW = 20
"""Scored cases below which a share is marked: its 95% interval is then more than 40 points wide at 50%."""


def scored_cases(row: TableRow) -> int:
    """The cases that a model's share rests on, at most: repeats of a case do not make up for others."""
    return int(min(row["scored"], row["cases"]))


def caveats(rows: Sequence[TableRow]) -> list[str]:
    """Few outputs, none that is scored, doubtful failures, and what is missing.

    Args:
        rows: a table of models (``tables.MODEL_COLUMNS``) as plain rows.
    """
    sentences = _few([row for row in rows if 0 < scored_cases(row) < FEW])
    none = [row["model"] for row in rows if not row["scored"] and row["outputs"] > row["not_asked"]]
    if none:
        sentences.append(tr("No output of {models} was scored.", models=listed(none)))
    sentences += _contradicted(rows)
    sentences += _dropped(rows)
    sentences += not_asked(rows)
    open_ = [row for row in rows if row["scored"] and row["worst_case"] > row["best_case"]]
    if open_:
        ranges = listed(
            tr(
                "{model}'s non-compliance between {low} and {high}",
                model=row["model"],
                low=percent(row["best_case"]),
                high=percent(row["worst_case"]),
            )
            for row in open_
        )
        sentences.append(tr("The unscored outputs leave {ranges}.", ranges=ranges))
    return sentences


def unread_checks(outputs: Mapping[str, int], prompt: str | None) -> list[str]:
    """The proposed checks all of whose failures the judges contradict, and how to be rid of them.

    Args:
        outputs: by rule, how many outputs its checks fail and judges pass.
        prompt: its file; None where there is none.
    """
    file = shlex.quote(prompt or "PROMPT")
    return [
        tr_n(
            "The check on {rule}, which nobody has read, fails {count} output that the judge passes, and none that it "
            "fails: read the check, or remove it with `promptpex validate {file} --drop-check {rule}`.",
            "The check on {rule}, which nobody has read, fails {count} outputs that the judge passes, and none that it "
            "fails: read the check, or remove it with `promptpex validate {file} --drop-check {rule}`.",
            count,
            rule=rule,
            file=file,
        )
        for rule, count in outputs.items()
    ]


def not_scored(outputs: Mapping[tuple[str, str], int]) -> list[str]:
    """What the end of a run left without a score; a sentence for each metric, and for the expected outputs.

    Args:
        outputs: by name of the score and model, how many.
    """
    sentences = []
    for name in dict.fromkeys(name for name, _ in outputs):
        missing = listed(
            tr_n("{count} output of {model}", "{count} outputs of {model}", count, model=model)
            for (one, model), count in outputs.items()
            if one == name
        )
        if name == EXPECTED:
            words = tr("The run ended before {missing} were compared with expected ones.", missing=missing)
        else:
            words = tr("The run ended before {missing} were scored by {metric}.", missing=missing, metric=name)
        sentences.append(words)
    return sentences


def without_value(rules: Iterable[Rule], outputs: Mapping[str, int]) -> list[str]:
    """The rules whose checks look at a value that some outputs lack, the check, and what to do; a sentence each.

    Args:
        outputs: by rule, how many outputs lack it.
    """
    return [
        tr_n(
            "{rule} looks at {values}, which {count} output lacks, so it is unscored: where it may be missing, use an "
            "is-json check whose schema does not require it, in place of the path.",
            "{rule} looks at {values}, which {count} outputs lack, so they are unscored: where it may be missing, use "
            "an is-json check whose schema does not require it, in place of the path.",
            outputs[rule.id],
            rule=rule.id,
            values=listed(list(_looked_at(rule.checks))[:NAMED]),
        )
        for rule in rules
        if outputs.get(rule.id)
    ]


def _looked_at(checks: Iterable[Check]) -> Iterator[str]:
    """The paths of the checks, and of those in their sets."""
    for check in checks:
        if check.path:
            yield f"`{cut(check.path, 40)}` ({check.kind})"
        yield from _looked_at(check.asserts or ())


def _few(rows: Sequence[TableRow]) -> list[str]:
    """The models of which few cases are scored, in one sentence."""
    if not rows:
        return []
    if len(rows) == 1:
        return [
            tr_n(
                "{model} has only {count} scored case; treat its share as a rough guide.",
                "{model} has only {count} scored cases; treat its share as a rough guide.",
                scored_cases(rows[0]),
                model=rows[0]["model"],
            )
        ]
    models = listed(f"{row['model']} ({scored_cases(row)})" for row in rows)
    return [
        tr(
            "{models} have fewer than {few} scored cases each; treat their shares as rough guides.",
            models=models,
            few=FEW,
        )
    ]


def _dropped(rows: Sequence[TableRow]) -> list[str]:
    """The models that were asked no further, since they were shown to be worse."""
    cases = max((row["cases"] for row in rows), default=0)
    return [
        tr(
            "{model} was not asked further: it was shown to be worse after {some} of {count} cases.",
            model=row["model"],
            some=row["dropped_after"],
            count=cases,
        )
        for row in rows
        if row["dropped_after"] is not None
    ]


def _contradicted(rows: Sequence[TableRow]) -> list[str]:
    """The failures that are open to doubt, since a judge does not share what a check says."""
    doubtful = [row for row in rows if row["contradicted"]]
    if not doubtful:
        return []
    parts = listed(
        tr_n(
            "{some} of {count} failure of {model}",
            "{some} of {count} failures of {model}",
            row["non_compliant"],
            some=row["contradicted"],
            model=row["model"],
        )
        for row in doubtful
    )
    return [
        tr_n(
            "{failures} rests on a check that the judge contradicts: one of the two is wrong, so read these first.",
            "{failures} rest on a check that the judge contradicts: one of the two is wrong, so read these first.",
            sum(row["contradicted"] for row in doubtful),
            failures=parts,
        )
    ]


def not_asked(rows: Sequence[TableRow]) -> list[str]:
    """What a budget, a deadline or a stop left out: whole models, or a part of the cases."""
    sentences = []
    left = [row for row in rows if row["outputs"] <= row["not_asked"]]
    never = [row["model"] for row in left if not row["answered"]]
    if never:
        sentences.append(tr("Not asked: {models}.", models=listed(never)))
    unjudged = [row["model"] for row in left if row["answered"]]
    if unjudged:
        sentences.append(tr("The run ended before a judge was asked about {models}.", models=listed(unjudged)))
    part = [row for row in rows if 0 < row["not_asked"] < row["outputs"]]
    if part:
        missing = listed(
            tr("{some} of {all} outputs of {model}", some=row["not_asked"], all=row["outputs"], model=row["model"])
            for row in part
        )
        if not any(row["scored"] for row in rows):
            words = tr("The run ended before {missing}.", missing=missing)
        elif len(rows) > 1:
            words = tr(
                "The run ended before {missing}: the figures rest on the others, and models are compared on the cases "
                "asked of both.",
                missing=missing,
            )
        else:
            words = tr("The run ended before {missing}: the figures rest on the others.", missing=missing)
        sentences.append(words)
    return sentences
