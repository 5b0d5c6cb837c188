"""The answer to "which model is good enough?" in one paragraph of plain words, computed from the figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from promptpex.core.records import Manifest, PartOfSuite
from promptpex.core.translation import digits, from_data, tr, tr_n
from promptpex.report import accuracy_in_words as right
from promptpex.report import ranked_metric
from promptpex.report.caveats_in_words import caveats, not_asked
from promptpex.report.corrections_in_words import left_out
from promptpex.report.percentages import TableRow, at_least, confidence_interval, listed
from promptpex.report.translated_values import counted_reasons
from promptpex.stats import likely_gap
from promptpex.tables import RANKED_BY, Rankings

FAILING_JUDGE = 0.05
"""A judge that failed on a greater share of what it was asked is the first thing to be said."""

EVEN = 0.001
"""A mean over cases that differs by more from the share of outputs is said to be one: both would be rounded alike."""


def answer(
    rows: Sequence[TableRow],
    rankings: Rankings,
    judges: Sequence[TableRow] = (),
    *,
    references: Mapping[str, int] | None = None,
    subset: PartOfSuite | None = None,
    unchecked: int = 0,
    unread: Sequence[str] = (),
) -> str:
    """The paragraph. Where outputs were compared with expected ones, it says of every model how often it was right.

    Args:
        rows: a table of models (``tables.MODEL_COLUMNS``) as plain rows; with the cells of the metric that models are
            ranked by, where they are (``with_ranked_metric``).
        rankings: the decisions about those models.
        judges: a table of judges (``tables.JUDGE_COLUMNS``) as plain rows.
        references: how many expected outputs come from which model; people's under no name.
        subset: which part of the suite the run is of.
        unchecked: how many judges decide, whom nobody has compared with people.
        unread: what there is to say of checks that nobody has read.
    """
    sentences = [*unread, *_part(subset), *_failing(judges)]
    metric, by = _metric(rankings), _ByJudge(unchecked)
    scored = [row for row in rows if row[_scored_by(rankings)]]
    if not scored:
        nothing = _nothing_scored(rows, rankings)
        return " ".join([*sentences, *nothing, *not_asked(rows), *right.caveats(rows, references or {})])
    if any(row["decision"] == "only model" for row in rows):
        sentences += _only_model(scored[0], rankings, by)
    elif rankings.options.against is not None and any(row["decision"] == "reference" for row in rows):
        sentences += _against(scored, rankings, by)
    else:
        sentences += _ranked(scored, rankings, by)
    sentences += by.cure() if rankings.options.rank_by == "non-compliance" else ()
    sentences += _choice(scored, rankings)
    sentences += not_asked(rows) if _by_grades(rankings) else caveats(rows)
    sentences += right.caveats(rows, references or {})
    sentences += ranked_metric.caveats(rows, metric) if metric else ()
    return " ".join(sentences)


def by_these_judges(unchecked: int, rank_by: str = "non-compliance") -> list[str]:
    """The same in a sentence of its own, for what is said of several runs."""
    if not unchecked:
        return []
    if rank_by != "non-compliance":
        return [tr_n("By this judge.", "By these judges.", unchecked)]
    return [
        tr_n(
            "By this judge; check it with `promptpex grade`.",
            "By these judges; check them with `promptpex grade`.",
            unchecked,
        )
    ]


def chosen_by_outcome(rows: Sequence[TableRow], manifest: Manifest) -> str:
    """All that is said of a run whose cases were chosen because they failed: how many pass now.

    Args:
        rows: a table of models as plain rows.
        manifest: of the run.
    """
    subset = manifest.subset
    assert subset is not None
    chosen = tr_n(
        "{count} case of {all} was chosen because it failed or was unscored in run {run}.",
        "{count} cases of {all} were chosen because they failed or were unscored in run {run}.",
        subset.cases,
        all=subset.of,
        run=subset.failed_in,
    )
    passing = [_passing_now(row, of_several=len(rows) > 1) for row in rows]
    return " ".join([chosen, *passing, tr("Some would by chance: run the whole suite to know.")])


def _passing_now(row: TableRow, *, of_several: bool) -> str:
    """How many pass; not "now" where another model may have been the one that failed."""
    outputs = row["outputs"] - row["not_asked"]
    of = {"model": row["model"], "passed": row["passed"], "all": outputs, "unscored": outputs - row["scored"]}
    if outputs - row["scored"]:
        return tr("{model}: {passed} of the {all} pass in this run, {unscored} are unscored.", **of)
    if of_several:
        return tr("{model}: {passed} of the {all} pass in this run.", **of)
    return tr("{model}: {passed} of the {all} now pass.", **of)


class _ByJudge:
    """Says of the first claim that judges made it whom nobody has held against people.

    Args:
        judges: how many they are.
    """

    def __init__(self, judges: int) -> None:
        self._judges, self._said = judges, False

    def __call__(self, claim: str) -> str:
        """The claim, with this word if it is the first."""
        if self._said or not self._judges:
            return claim
        self._said = True
        return tr_n("{claim}, by this judge", "{claim}, by these judges", self._judges, claim=claim)

    def cure(self) -> list[str]:
        """What to do about it."""
        if not self._said:
            return []
        return [
            tr_n(
                "Check this judge with `promptpex grade`.",
                "Check these judges with `promptpex grade`.",
                self._judges,
            )
        ]


def _part(subset: PartOfSuite | None) -> list[str]:
    """That the figures are of a part of the suite."""
    if subset is None:
        return []
    of = tr_n("{count} case", "{count} cases", subset.of)
    return [tr("Only {cases} of {of} were run ({words}).", cases=subset.cases, of=of, words=from_data(subset.words))]


def _by_grades(rankings: Rankings) -> bool:
    return rankings.options.rank_by == "corrected"


def _by_accuracy(rankings: Rankings) -> bool:
    return rankings.options.rank_by == "accuracy"


def _metric(rankings: Rankings) -> str | None:
    """The metric that models are ranked by, if it is one."""
    rank_by = rankings.options.rank_by
    return None if rank_by in RANKED_BY else rank_by


def _scored_by(rankings: Rankings) -> str:
    """The cell of the outputs that are scored by what models are ranked by."""
    if _metric(rankings):
        return ranked_metric.SCORED
    if _by_grades(rankings):
        return "graded"
    return right.SCORED if _by_accuracy(rankings) else "scored"


def _nothing_scored(rows: Sequence[TableRow], rankings: Rankings) -> list[str]:
    """That no model can be ranked, and what else is known of them."""
    metric = _metric(rankings)
    if metric is None:
        level = rankings.options.confidence
        return [tr("Nothing was scored, so no model can be assessed."), *right.alone(rows, level)]
    scored_rows = [row for row in rows if row["scored"]]
    by_rules = [tr("{model} {did}.", model=row["model"], did=_by_rules(row, rankings)) for row in scored_rows]
    return [tr("No output has a score by {metric}, so no model can be assessed by it.", metric=metric), *by_rules]


def _failing(judges: Sequence[TableRow]) -> list[str]:
    """The judges that failed on more than a few of what they were asked."""
    return [
        tr(
            'The judge {judge} failed on {failed} of {asked} ({reasons}): shares marked "at least" count what is known '
            "to fail.",
            judge=row["judge"],
            failed=row["failed"],
            asked=_asked(row),
            reasons=counted_reasons(row["reasons"]),
        )
        for row in judges
        if row["asked"] and row["failed"] / row["asked"] > FAILING_JUDGE
    ]


def _asked(judge: TableRow) -> str:
    """How often a judge was asked: once about each output, or in several requests."""
    if judge["asked"] == judge["outputs"]:
        return tr_n("{count} output", "{count} outputs", judge["asked"])
    return tr_n("{count} request", "{count} requests", judge["asked"])


def _only_model(row: TableRow, rankings: Rankings, by: _ByJudge) -> list[str]:
    return [tr("{model} {did}.", model=row["model"], did=by(_did(row, rankings)))]


def _did(row: TableRow, rankings: Rankings, *, one_of_several: bool = False) -> str:
    """What a model did, first by what the models are ranked by: broke rules, and was right."""
    metric = _metric(rankings)
    by_rules = _by_rules(row, rankings, one_of_several=one_of_several)
    if metric is None:
        return by_rules
    mean = ranked_metric.scored(row, metric, rankings.options.confidence)
    return tr("{did}; it {broke}", did=mean, broke=by_rules) if row["scored"] else f"{mean}; {by_rules}"


def _by_rules(row: TableRow, rankings: Rankings, *, one_of_several: bool = False) -> str:
    """The same without the metric that models are ranked by, if they are."""
    by_rules = _broke(row, rankings, one_of_several=one_of_several)
    was_right = right.was_right(row, rankings.options.confidence)
    if was_right is None:
        return by_rules
    if _by_accuracy(rankings):
        return tr("{did}; it {broke}", did=was_right, broke=by_rules)
    return tr("{broke}, and {was_right}", broke=by_rules, was_right=was_right)


def _broke(row: TableRow, rankings: Rankings, *, one_of_several: bool) -> str:
    if not row["scored"] and not _by_grades(rankings):
        return tr("nothing was scored by the rules")
    figures = _figures(row, rankings)
    if one_of_several:
        return tr("broke a rule in {figures}", figures=figures)
    return tr("broke at least one rule in {figures}", figures=figures)


def _ranked(rows: Sequence[TableRow], rankings: Rankings, by: _ByJudge) -> list[str]:
    by_decision, words = _by_decision(rows, rankings), right.ranking_words(rows, rankings.options.rank_by)
    sentences = [
        tr(
            "{model} is clearly {best}: it {did}.",
            model=row["model"],
            best=by(words.best),
            did=_did(row, rankings, one_of_several=True),
        )
        for row in by_decision.get("best", [])
    ]
    tied, undecided = by_decision.get("tied", []), by_decision.get("undecided", [])
    if tied:
        sentences.append(
            tr_n(
                "{models} is clearly less than {margin} worse than {best}.",
                "{models} are tied: each is clearly less than {margin} worse than {best}.",
                len(tied),
                models=_named(tied, rankings),
                margin=_points(rankings.options.tolerance),
                best=by(words.best),
            )
        )
    sentences += [
        tr(
            "{model} is clearly {worse} than {other}: {figures}.",
            model=row["model"],
            worse=words.worse,
            other=by(row["beaten_by"]),
            figures=_in_words(row, rankings),
        )
        for row in by_decision.get("worse", [])
    ]
    if undecided:
        models = _named(undecided, rankings)
        if tied or by_decision.get("best"):
            sentences.append(tr("Undecided: {models}.", models=models))
        else:
            sentences.append(
                tr(
                    "Undecided: {models}; these data do not show which model is {best}.",
                    models=models,
                    best=by(words.is_best),
                )
            )
    return sentences + _why_undecided(undecided, rankings)


def _against(rows: Sequence[TableRow], rankings: Rankings, by: _ByJudge) -> list[str]:
    by_decision = _by_decision(rows, rankings)
    wording = right.ranking_words(rows, rankings.options.rank_by)
    sentences = [
        tr("Compared with {model} ({figures}):", model=row["model"], figures=_both(row, rankings))
        for row in by_decision.get("reference", [])
    ]
    points, parts = _points(rankings.options.tolerance), []
    for decision, words in (
        ("better", tr("clearly {better}", better=wording.better)),
        ("tied", tr("clearly less than {margin} {worse}", margin=points, worse=wording.worse)),
        ("worse", tr("clearly {worse}", worse=wording.worse)),
        ("undecided", tr("undecided")),
    ):
        if by_decision.get(decision):
            parts.append(tr("{words}: {models}", words=by(words), models=_named(by_decision[decision], rankings)))
    if parts:
        sentences.append("; ".join(parts) + ".")
    return sentences + _why_undecided(by_decision.get("undecided", []), rankings)


def _why_undecided(rows: Sequence[TableRow], rankings: Rankings) -> list[str]:
    """What keeps models undecided: what is missing, or that there are too few cases to show more."""
    reasons = dict.fromkeys(row["undecided_because"] for row in rows if row["undecided_because"])
    sentences = [tr("Undecided because {reason}.", reason=from_data(reason)) for reason in reasons]
    few, options = [row for row in rows if not row["undecided_because"]], rankings.options
    if few and options.rank_by == "non-compliance" and not options.weights:
        cases, rate = min(row["cases"] for row in few), min(row["non_compliance"] for row in few)
        repeats = min(row["repeats"] or 1 for row in few)
        gap = likely_gap(cases, len(rankings.models), rate, repeats=repeats, alpha=options.alpha)
        sentences += [_what_shows(cases, gap)] if gap is not None else []
    return sentences


def _what_shows(cases: int, gap: float) -> str:
    return tr_n(
        "{count} case probably shows differences of about {points} points or more; smaller ones may take more.",
        "{count} cases probably show differences of about {points} points or more; smaller ones may take more.",
        cases,
        points=digits(f"{100 * gap:.0f}"),
    )


def _choice(rows: Sequence[TableRow], rankings: Rankings) -> list[str]:
    pool = [row for row in rows if row["model"] in rankings.pool]
    if len(pool) < 2:
        return []
    cheapest, fastest = ([row for row in pool if row[flag]] for flag in ("cheapest", "fastest"))
    parts = []
    if cheapest and len(cheapest) < len(pool):
        parts.append(_cheapest(cheapest))
    if fastest and len(fastest) < len(pool):
        parts.append(_fastest(fastest))
    if not parts:
        return []
    which = listed(parts)
    if any(row["decision"] != "undecided" for row in pool):
        enough = right.ranking_words(rows, rankings.options.rank_by).good_enough
        sentence = tr("Of those that are {good_enough}, {which}.", good_enough=enough, which=which)
    else:
        sentence = tr("Of those that are not ruled out, {which}; the ranking may still change.", which=which)
    unknown = [row["model"] for row in pool if row["cost_per_output"] is None]
    if unknown and cheapest:
        return [sentence, tr("The price of {models} is not known.", models=listed(unknown))]
    return [sentence]


def _cheapest(rows: Sequence[TableRow]) -> str:
    return tr(
        "the cheapest is {models} (${price} per output, mean of {outputs})",
        models=listed(row["model"] for row in rows),
        price=digits(f"{rows[0]['cost_per_output']:.3g}"),
        outputs=rows[0]["answered"],
    )


def _fastest(rows: Sequence[TableRow]) -> str:
    return tr(
        "the fastest is {models} (median {seconds} s of {outputs})",
        models=listed(row["model"] for row in rows),
        seconds=digits(f"{rows[0]['latency_p50_ms'] / 1000:.2f}"),
        outputs=rows[0]["timed"],
    )


def _by_decision(rows: Iterable[TableRow], rankings: Rankings) -> dict[str, list[TableRow]]:
    """The models by their decision, each group from the best share to the worst."""
    groups: dict[str, list[TableRow]] = {}
    for row in sorted(rows, key=lambda row: _loss(row, rankings)):
        groups.setdefault(row["decision"], []).append(row)
    return groups


def _loss(row: TableRow, rankings: Rankings) -> float:
    """What models are ordered by, the best first."""
    if _metric(rankings):
        return -float(row["ranked_mean"])
    return -float(row["accuracy"]) if _by_accuracy(rankings) else float(row["non_compliance"])


def _named(rows: Iterable[TableRow], rankings: Rankings) -> str:
    return listed(f"{row['model']} ({_both(row, rankings)})" for row in rows)


def _both(row: TableRow, rankings: Rankings) -> str:
    """The share that breaks rules, the accuracy and the metric, first what the models are ranked by."""
    metric = _metric(rankings)
    if metric:
        return f"{ranked_metric.mean(row, metric, rankings.options.confidence)}; {_with_accuracy(row, rankings)}"
    return _with_accuracy(row, rankings)


def _with_accuracy(row: TableRow, rankings: Rankings) -> str:
    """The share that breaks rules and the accuracy, where there is one, first what the models are ranked by."""
    accuracy = right.accuracy(row, rankings.options.confidence)
    if accuracy is None and not _metric(rankings):
        return _short(row, rankings)
    by_rules = tr("nothing scored by the rules")
    if row["scored"]:
        by_rules = tr("non-compliance {share}", share=_short(row, rankings))
    if accuracy is None:
        return by_rules
    return f"{accuracy}; {by_rules}" if _by_accuracy(rankings) else f"{_short(row, rankings)}; {accuracy}"


def _in_words(row: TableRow, rankings: Rankings) -> str:
    if row["accuracy"] is None and not _metric(rankings):
        return f"{_share(row)} ({_interval(row, rankings)})"
    return _both(row, rankings)


def _figures(row: TableRow, rankings: Rankings) -> str:
    if _by_grades(rankings):
        return tr_n(
            "{share} of its outputs ({interval}, {count} grade{left_out})",
            "{share} of its outputs ({interval}, {count} grades{left_out})",
            row["graded"],
            share=_share(row),
            interval=_interval(row, rankings),
            left_out=left_out(row),
        )
    short = _short(row, rankings)
    if row["at_least"] and not row["non_compliant"]:
        return tr_n(
            "none of {count} usable output as far as known ({interval})",
            "none of {count} usable outputs as far as known ({interval})",
            row["usable"],
            interval=_interval(row, rankings),
        )
    if row["at_least"]:
        return tr_n(
            "at least {some} of {count} usable output ({share})",
            "at least {some} of {count} usable outputs ({share})",
            row["usable"],
            some=row["non_compliant"],
            share=short,
        )
    counts = tr_n(
        "{some} of {count} scored output",
        "{some} of {count} scored outputs",
        row["scored"],
        some=row["non_compliant"],
    )
    if abs(row["non_compliant"] / row["scored"] - row["non_compliance"]) <= EVEN:
        return f"{counts} ({short})"
    if rankings.options.weights:
        return tr("{counts}, weighted ({share})", counts=counts, share=short)
    return tr("{counts}, counted by case ({share})", counts=counts, share=short)


def _short(row: TableRow, rankings: Rankings) -> str:
    return f"{_share(row)}, {_interval(row, rankings)}"


def _share(row: TableRow) -> str:
    return at_least(row["non_compliance"], row["at_least"])


def _interval(row: TableRow, rankings: Rankings) -> str:
    return confidence_interval(row["ci_low"], row["ci_high"], rankings.options.confidence)


def _points(tolerance: float) -> str:
    return tr("{count} percentage points", count=digits(f"{100 * tolerance:g}"))


def rounded_cases(cases: int) -> str:
    """Two digits: a plan is no more exact than that."""
    return digits(f"{float(f'{cases:.2g}'):,.0f}")
