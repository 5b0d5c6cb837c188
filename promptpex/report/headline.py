"""The answer to "which model is good enough?" in one paragraph of plain words, computed from the figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from promptpex.codecs.wording import plural
from promptpex.core.records import PartOfSuite
from promptpex.report import accuracy_in_words as right
from promptpex.report import ranked_metric
from promptpex.report.percentages import TableRow, as_given, confidence_interval, listed, percent
from promptpex.tables import RANKED_BY, Rankings

FEW = 20
"""Scored outputs below which a share is marked: its 95% interval is then more than 40 points wide at 50%."""

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
) -> str:
    """The paragraph. Where outputs were compared with expected ones, it says of every model how often it was right.

    Args:
        rows: a table of models (``tables.MODEL_COLUMNS``) as plain rows; with the cells of the metric that models are
            ranked by, where they are (``with_ranked_metric``).
        rankings: the decisions about those models.
        judges: a table of judges (``tables.JUDGE_COLUMNS``) as plain rows.
        references: how many expected outputs come from which model; people's under no name.
        subset: which part of the suite the run is of.
    """
    sentences = [*_part(subset), *_failing(judges)]
    metric = _metric(rankings)
    scored = [row for row in rows if row[_scored_by(rankings)]]
    if not scored:
        nothing = _nothing_scored(rows, rankings)
        return " ".join([*sentences, *nothing, *_not_asked(rows), *right.caveats(rows, references or {})])
    if rankings.basis == "limit":
        sentences += _versus_limit(scored, rankings)
    elif any(row["decision"] == "only model" for row in rows):
        sentences += _only_model(scored[0], rankings)
    elif rankings.options.against is not None and any(row["decision"] == "reference" for row in rows):
        sentences += _against(scored, rankings)
    else:
        sentences += _ranked(scored, rankings)
    sentences += _choice(scored, rankings)
    sentences += _caveats(rows)
    sentences += right.caveats(rows, references or {})
    sentences += ranked_metric.caveats(rows, metric) if metric else ()
    return " ".join(sentences)


def _part(subset: PartOfSuite | None) -> list[str]:
    """That the figures are of a part of the suite."""
    return [f"Only {subset.cases} of {plural(subset.of, 'case')} were run ({subset.words})."] if subset else []


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
    return right.SCORED if _by_accuracy(rankings) else "scored"


def _nothing_scored(rows: Sequence[TableRow], rankings: Rankings) -> list[str]:
    """That no model can be ranked, and what else is known of them."""
    metric = _metric(rankings)
    if metric is None:
        level = rankings.options.confidence
        return ["Nothing was scored, so no model can be assessed.", *right.alone(rows, level)]
    known = [row for row in rows if row["scored"]]
    by_rules = [f"{row['model']} {_by_rules('broke at least one rule', row, rankings)}." for row in known]
    return [f"No output has a score by {metric}, so no model can be assessed by it.", *by_rules]


def _failing(judges: Sequence[TableRow]) -> list[str]:
    """The judges that failed on more than a few of what they were asked."""
    return [
        f"The judge {row['judge']} failed on {row['failed']} of {_asked(row)} "
        f'({row["reasons"]}): shares marked "at least" count what is known to fail.'
        for row in judges
        if row["asked"] and row["failed"] / row["asked"] > FAILING_JUDGE
    ]


def _asked(judge: TableRow) -> str:
    """How often a judge was asked: once about each output, or in several requests."""
    once = judge["asked"] == judge["outputs"]
    return plural(judge["asked"], "output" if once else "request")


def _only_model(row: TableRow, rankings: Rankings) -> list[str]:
    return [f"{row['model']} {_did('broke at least one rule', row, rankings)}."]


def _did(broke: str, row: TableRow, rankings: Rankings) -> str:
    """What a model did, first by what the models are ranked by: broke rules, and was right."""
    metric = _metric(rankings)
    by_rules = _by_rules(broke, row, rankings)
    if metric is None:
        return by_rules
    mean = ranked_metric.scored(row, metric, rankings.options.confidence)
    return f"{mean}; it {by_rules}" if row["scored"] else f"{mean}; {by_rules}"


def _by_rules(broke: str, row: TableRow, rankings: Rankings) -> str:
    """The same without the metric that models are ranked by, if they are."""
    by_rules = f"{broke} in {_figures(row, rankings)}" if row["scored"] else "nothing was scored by the rules"
    was_right = right.was_right(row, rankings.options.confidence)
    if was_right is None:
        return by_rules
    return f"{was_right}; it {by_rules}" if _by_accuracy(rankings) else f"{by_rules}, and {was_right}"


def _ranked(rows: Sequence[TableRow], rankings: Rankings) -> list[str]:
    by_decision, words = _by_decision(rows, rankings), right.ranking_words(rows, rankings.options.rank_by)
    sentences = [
        f"{row['model']} is clearly {words.best}: it {_did('broke a rule', row, rankings)}."
        for row in by_decision.get("best", [])
    ]
    tied, undecided = by_decision.get("tied", []), by_decision.get("undecided", [])
    if tied:
        verb = "is" if len(tied) == 1 else "are tied: each is"
        margin = _points(rankings.options.tolerance)
        sentences.append(f"{_named(tied, rankings)} {verb} clearly less than {margin} worse than {words.best}.")
    sentences += [
        f"{row['model']} is clearly {words.worse} than {row['beaten_by']}: {_in_words(row, rankings)}."
        for row in by_decision.get("worse", [])
    ]
    if undecided:
        rest = "" if tied or by_decision.get("best") else f"; these data do not show which model is {words.is_best}"
        sentences.append(f"Undecided: {_named(undecided, rankings)}{rest}.")
    return sentences + _sampled(rows) + _why_undecided(undecided)


def _against(rows: Sequence[TableRow], rankings: Rankings) -> list[str]:
    by_decision = _by_decision(rows, rankings)
    wording = right.ranking_words(rows, rankings.options.rank_by)
    sentences = [f"Compared with {row['model']} ({_both(row, rankings)}):" for row in by_decision.get("reference", [])]
    parts = []
    for decision, words in (
        ("better", f"clearly {wording.better}"),
        ("tied", f"clearly less than {_points(rankings.options.tolerance)} {wording.worse}"),
        ("worse", f"clearly {wording.worse}"),
        ("undecided", "undecided"),
    ):
        if by_decision.get(decision):
            parts.append(f"{words}: {_named(by_decision[decision], rankings)}")
    if parts:
        sentences.append("; ".join(parts) + ".")
    return sentences + _sampled(rows) + _why_undecided(by_decision.get("undecided", []))


def _versus_limit(rows: Sequence[TableRow], rankings: Rankings) -> list[str]:
    by_decision, limit = _by_decision(rows, rankings), as_given(rankings.options.limit or 0.0)
    sentences = []
    for decision, words in (
        ("below limit", f"Clearly below the limit of {limit}"),
        ("above limit", f"Clearly above the limit of {limit}"),
        ("undecided", f"Undecided whether above or below the limit of {limit}"),
    ):
        if by_decision.get(decision):
            sentences.append(f"{words}: {_named(by_decision[decision], rankings)}.")
    return sentences + _why_undecided(by_decision.get("undecided", []))


def _sampled(rows: Sequence[TableRow]) -> list[str]:
    """Whether what is shown would also be shown if the rules were a sample."""
    claims = [row for row in rows if row["holds_sampled"] is not None]
    weak = [row["model"] for row in claims if not row["holds_sampled"]]
    if not claims:
        return []
    if not weak:
        return ["This would also hold if the rules were only a sample of the prompt's."]
    return [f"If the rules were only a sample of the prompt's, this would not hold for {listed(weak)}."]


def _why_undecided(rows: Sequence[TableRow]) -> list[str]:
    """What keeps models undecided: what is missing, or how many more cases would probably settle it."""
    reasons = dict.fromkeys(row["because"] for row in rows if row["because"])
    sentences = [f"Undecided because {reason}." for reason in reasons]
    estimated = [row for row in rows if row["more_cases_low"] is not None]
    return [*sentences, _more(estimated)] if estimated else sentences


def _more(rows: Sequence[TableRow]) -> str:
    low = _rounded(max(row["more_cases_low"] for row in rows))
    highs = [row["more_cases_high"] for row in rows]
    if any(high is None for high in highs):
        return f"At least about {low} more cases would probably be needed to settle it, perhaps very many more."
    high = _rounded(max(highs))
    span = f"Between {low} and {high}" if low != high else f"About {low}"
    return f"{span} more cases would probably settle it, if the true rates are close to these."


def _choice(rows: Sequence[TableRow], rankings: Rankings) -> list[str]:
    pool = [row for row in rows if row["model"] in rankings.pool]
    if len(pool) < 2:
        return []
    cheapest, fastest = ([row for row in pool if row[flag]] for flag in ("cheapest", "fastest"))
    parts = []
    if cheapest and len(cheapest) < len(pool):
        price = f"${cheapest[0]['cost_per_output']:.3g} per output, mean of {cheapest[0]['answered']}"
        parts.append(f"the cheapest is {listed(row['model'] for row in cheapest)} ({price})")
    if fastest and len(fastest) < len(pool):
        wait = f"median {fastest[0]['latency_p50_ms'] / 1000:.2f} s of {fastest[0]['timed']}"
        parts.append(f"the fastest is {listed(row['model'] for row in fastest)} ({wait})")
    if not parts:
        return []
    shown = any(row["decision"] != "undecided" for row in pool)
    enough = right.ranking_words(rows, rankings.options.rank_by).good_enough
    among = f"Of those that are {enough}" if shown else "Of those that are not ruled out"
    caveat = "" if shown else "; the ranking may still change"
    unknown = [row["model"] for row in pool if row["cost_per_output"] is None]
    prices = f" The price of {listed(unknown)} is not known." if unknown and cheapest else ""
    return [f"{among}, {' and '.join(parts)}{caveat}.{prices}"]


def _caveats(rows: Sequence[TableRow]) -> list[str]:
    sentences = _few([row for row in rows if 0 < row["scored"] < FEW])
    none = [row["model"] for row in rows if not row["scored"] and row["outputs"] > row["not_asked"]]
    if none:
        sentences.append(f"No output of {listed(none)} was scored.")
    sentences += _contradicted(rows)
    sentences += _not_asked(rows)
    open_ = [row for row in rows if row["scored"] and row["worst_case"] > row["best_case"]]
    if open_:
        ranges = listed(
            f"{row['model']}'s non-compliance between {percent(row['best_case'])} and {percent(row['worst_case'])}"
            for row in open_
        )
        sentences.append(f"The unscored outputs leave {ranges}.")
    return sentences


def _few(rows: Sequence[TableRow]) -> list[str]:
    """The models of which few outputs are scored, in one sentence."""
    if not rows:
        return []
    if len(rows) == 1:
        scored = plural(rows[0]["scored"], "scored output")
        return [f"{rows[0]['model']} has only {scored}; treat its share as a rough guide."]
    models = listed(f"{row['model']} ({row['scored']})" for row in rows)
    return [f"{models} have fewer than {FEW} scored outputs each; treat their shares as rough guides."]


def _contradicted(rows: Sequence[TableRow]) -> list[str]:
    """The failures that are open to doubt, since a judge does not share what a check says."""
    doubtful = [row for row in rows if row["contradicted"]]
    if not doubtful:
        return []
    parts = listed(
        f"{row['contradicted']} of {plural(row['non_compliant'], 'failure')} of {row['model']}" for row in doubtful
    )
    verb = "rests" if sum(row["contradicted"] for row in doubtful) == 1 else "rest"
    return [f"{parts} {verb} on a check that the judge contradicts: one of the two is wrong, so read these first."]


def _not_asked(rows: Sequence[TableRow]) -> list[str]:
    """What a budget, a deadline or a stop left out: whole models, or a part of the cases."""
    sentences = []
    left = [row for row in rows if row["outputs"] <= row["not_asked"]]
    never = [row["model"] for row in left if not row["answered"]]
    if never:
        sentences.append(f"Not asked: {listed(never)}.")
    unjudged = [row["model"] for row in left if row["answered"]]
    if unjudged:
        sentences.append(f"The run ended before a judge was asked about {listed(unjudged)}.")
    part = [row for row in rows if 0 < row["not_asked"] < row["outputs"]]
    if part:
        missing = listed(f"{row['not_asked']} of {row['outputs']} outputs of {row['model']}" for row in part)
        sentences.append(
            f"The run ended before {missing}: the figures rest on the others, "
            "and models are compared on the cases asked of both."
        )
    return sentences


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
    by_rules = f"non-compliance {_short(row, rankings)}" if row["scored"] else "nothing scored by the rules"
    if accuracy is None:
        return by_rules
    return f"{accuracy}; {by_rules}" if _by_accuracy(rankings) else f"{_short(row, rankings)}; {accuracy}"


def _in_words(row: TableRow, rankings: Rankings) -> str:
    if row["accuracy"] is None and not _metric(rankings):
        return f"{_share(row)} ({_interval(row, rankings)})"
    return _both(row, rankings)


def _figures(row: TableRow, rankings: Rankings) -> str:
    short = _short(row, rankings)
    if row["at_least"]:
        return f"at least {row['non_compliant']} of {plural(row['usable'], 'usable output')} ({short})"
    counts = f"{row['non_compliant']} of {plural(row['scored'], 'scored output')}"
    if abs(row["non_compliant"] / row["scored"] - row["non_compliance"]) > EVEN:
        return f"{counts}, {'weighted' if rankings.options.weights else 'counted by case'} ({short})"
    return f"{counts} ({short})"


def _short(row: TableRow, rankings: Rankings) -> str:
    return f"{_share(row)}, {_interval(row, rankings)}"


def _share(row: TableRow) -> str:
    return f"{'at least ' if row['at_least'] else ''}{percent(row['non_compliance'])}"


def _interval(row: TableRow, rankings: Rankings) -> str:
    return confidence_interval(row["ci_low"], row["ci_high"], rankings.options.confidence)


def _points(tolerance: float) -> str:
    return f"{100 * tolerance:g} percentage points"


def _rounded(cases: int) -> str:
    """Two digits: a plan is no more exact than that."""
    return f"{float(f'{cases:.2g}'):,.0f}"
