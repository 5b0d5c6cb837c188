"""The answer to "which model is good enough?" in one paragraph of plain words, computed from the figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from promptpex.tables import Standings

FEW = 20
"""Below so many scored outputs a share is marked as resting on few."""

FAILING_JUDGE = 0.05
"""A judge that failed on a greater share of what it was asked is the first thing to be said."""

SMALL, ALMOST_ALL = 0.0995, 0.995
"""Below the one and above the other a share is shown with a digit after the point."""

FINEST = 6
"""Digits after the point at most."""

EVEN = 0.001
"""A mean over cases that differs by more from the share of outputs is said to be one."""

Row = Mapping[str, Any]


def answer(rows: Sequence[Row], standing: Standings, judges: Sequence[Row] = ()) -> str:
    """The paragraph.

    Args:
        rows: a table of models (``tables.MODEL_COLUMNS``) as plain rows.
        standing: where those models stand.
        judges: a table of judges (``tables.JUDGE_COLUMNS``) as plain rows.
    """
    told = _failing(judges)
    scored = [row for row in rows if row["scored"]]
    if not scored:
        return " ".join([*told, "Nothing was scored, so nothing can be said of any model.", *_not_asked(rows)])
    if standing.basis == "limit":
        told += _beside_limit(scored, standing)
    elif any(row["place"] == "alone" for row in rows):
        told += _alone(scored[0], standing)
    elif standing.question.against is not None and any(row["place"] == "reference" for row in rows):
        told += _against(scored, standing)
    else:
        told += _ranked(scored, standing)
    told += _choice(scored, standing)
    told += _caveats(rows)
    return " ".join(told)


def _failing(judges: Sequence[Row]) -> list[str]:
    """The judges that failed on more than a few of what they were asked."""
    return [
        f"The judge {row['judge']} gave no usable verdict on {row['failed']} of {_asked(row)} "
        f'({row["reasons"]}): shares marked "at least" are what checks alone prove.'
        for row in judges
        if row["asked"] and row["failed"] / row["asked"] > FAILING_JUDGE
    ]


def _asked(judge: Row) -> str:
    """How often a judge was asked: once about each output, or in several requests."""
    once = judge["asked"] == judge["outputs"]
    return f"{judge['asked']} {'outputs' if once else 'requests'}"


def _alone(row: Row, standing: Standings) -> list[str]:
    return [f"{row['model']} broke at least one rule in {_figures(row, standing)}."]


def _ranked(rows: Sequence[Row], standing: Standings) -> list[str]:
    by_place = _by_place(rows)
    told = [
        f"{row['model']} is shown to be the best: it broke a rule in {_figures(row, standing)}."
        for row in by_place.get("best", [])
    ]
    tied, open_ = by_place.get("tied", []), by_place.get("undecided", [])
    if tied:
        verb = "is shown to be" if len(tied) == 1 else "are tied: each is shown to be"
        told.append(f"{_named(tied)} {verb} less than {_points(standing.question.tolerance)} worse than the best.")
    worse = by_place.get("worse", [])
    if worse:
        named = listed(f"{row['model']} ({_short(row)}, worse than {row['beaten_by']})" for row in worse)
        told.append(f"Shown to be worse: {named}.")
    if open_:
        rest = "" if tied or by_place.get("best") else "; these data do not tell which model is best"
        told.append(f"Undecided: {_named(open_)}{rest}.")
    return told + _sampled(rows) + _why_open(open_)


def _against(rows: Sequence[Row], standing: Standings) -> list[str]:
    by_place = _by_place(rows)
    told = [f"Against {row['model']} ({_short(row)}):" for row in by_place.get("reference", [])]
    parts = []
    for place, words in (
        ("better", "shown to be better"),
        ("tied", f"shown to be less than {_points(standing.question.tolerance)} worse"),
        ("worse", "shown to be worse"),
        ("undecided", "undecided"),
    ):
        if by_place.get(place):
            parts.append(f"{words}: {_named(by_place[place])}")
    if parts:
        told.append("; ".join(parts) + ".")
    return told + _sampled(rows) + _why_open(by_place.get("undecided", []))


def _beside_limit(rows: Sequence[Row], standing: Standings) -> list[str]:
    by_place, limit = _by_place(rows), as_given(standing.question.limit or 0.0)
    told = []
    for place, words in (
        ("below limit", f"Shown to be below the limit of {limit}"),
        ("above limit", f"Shown to be above the limit of {limit}"),
        ("undecided", f"Undecided whether above or below the limit of {limit}"),
    ):
        if by_place.get(place):
            told.append(f"{words}: {_named(by_place[place])}.")
    return told + _why_open(by_place.get("undecided", []))


def _sampled(rows: Sequence[Row]) -> list[str]:
    """Whether what is shown would also be shown if the rules were a sample."""
    claims = [row for row in rows if row["holds_sampled"] is not None]
    weak = [row["model"] for row in claims if not row["holds_sampled"]]
    if not claims:
        return []
    if not weak:
        return ["This would also be shown if the rules were only a sample of the prompt's."]
    return [f"If the rules were only a sample of the prompt's, this would not be shown of {listed(weak)}."]


def _why_open(rows: Sequence[Row]) -> list[str]:
    """What keeps models undecided: what is missing, or how many cases more would probably decide."""
    reasons = dict.fromkeys(row["because"] for row in rows if row["because"])
    told = [f"Undecided because {reason}." for reason in reasons]
    known = [row for row in rows if row["more_cases_low"] is not None]
    if known:
        told.append(_more(known))
    return told


def _more(rows: Sequence[Row]) -> str:
    low = _rounded(max(row["more_cases_low"] for row in rows))
    highs = [row["more_cases_high"] for row in rows]
    if any(high is None for high in highs):
        return f"At least about {low} more cases would probably be needed to decide, perhaps very many more."
    high = _rounded(max(highs))
    span = f"Between {low} and {high}" if low != high else f"About {low}"
    return f"{span} more cases would probably decide, going by what was seen."


def _choice(rows: Sequence[Row], standing: Standings) -> list[str]:
    pool = [row for row in rows if row["model"] in standing.pool]
    if len(pool) < 2:
        return []
    cheapest, fastest = ([row for row in pool if row[flag]] for flag in ("cheapest", "fastest"))
    parts = []
    if cheapest and len(cheapest) < len(pool):
        price = f"${cheapest[0]['cost_per_output']:.3g} an output, the mean of {cheapest[0]['answered']}"
        parts.append(f"the cheapest seen is {listed(row['model'] for row in cheapest)} ({price})")
    if fastest and len(fastest) < len(pool):
        wait = f"{fastest[0]['latency_p50_ms'] / 1000:.2f} s, the median of {fastest[0]['timed']}"
        parts.append(f"the fastest seen is {listed(row['model'] for row in fastest)} ({wait})")
    if not parts:
        return []
    shown = any(row["place"] != "undecided" for row in pool)
    among = "Of those that are good enough" if shown else "Of those that are not ruled out"
    caveat = "" if shown else "; any of them may still prove to be the worse one"
    unknown = [row["model"] for row in pool if row["cost_per_output"] is None]
    prices = f" The price of {listed(unknown)} is not known." if unknown and cheapest else ""
    return [f"{among}, {' and '.join(parts)}{caveat}.{prices}"]


def _caveats(rows: Sequence[Row]) -> list[str]:
    told = []
    few = [row for row in rows if 0 < row["scored"] < FEW]
    if few:
        named = listed(f"{row['model']} ({row['scored']})" for row in few)
        told.append(f"Few outputs were scored of {named}: read those shares as hints.")
    none = [row["model"] for row in rows if not row["scored"] and row["outputs"] > row["not_asked"]]
    if none:
        told.append(f"Nothing was scored of {listed(none)}.")
    told += _not_asked(rows)
    open_ = [row for row in rows if row["scored"] and row["worst_case"] > row["best_case"]]
    if open_:
        named = listed(
            f"{row['model']}'s non-compliance between {percent(row['best_case'])} and {percent(row['worst_case'])}"
            for row in open_
        )
        told.append(f"The unscored outputs leave {named}.")
    return told


def _not_asked(rows: Sequence[Row]) -> list[str]:
    """What a budget, a deadline or a stop left out: whole models, or a part of the cases."""
    told = []
    left = [row for row in rows if row["outputs"] <= row["not_asked"]]
    never = [row["model"] for row in left if not row["answered"]]
    if never:
        told.append(f"Not asked: {listed(never)}.")
    unjudged = [row["model"] for row in left if row["answered"]]
    if unjudged:
        told.append(f"The run ended before a judge was asked about {listed(unjudged)}.")
    part = [row for row in rows if 0 < row["not_asked"] < row["outputs"]]
    if part:
        named = listed(f"{row['not_asked']} of {row['outputs']} outputs of {row['model']}" for row in part)
        told.append(
            f"The run ended before {named}: what is said rests on the others, "
            "and models are compared on the cases asked of both."
        )
    return told


def _by_place(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row["non_compliance"]):
        found.setdefault(row["place"], []).append(row)
    return found


def _named(rows: Iterable[Row]) -> str:
    return listed(f"{row['model']} ({_short(row)})" for row in rows)


def _figures(row: Row, standing: Standings) -> str:
    if row["at_least"]:
        return f"at least {row['non_compliant']} of {row['usable']} usable outputs ({_short(row)})"
    counts = f"{row['non_compliant']} of {row['scored']} scored outputs"
    if abs(row["non_compliant"] / row["scored"] - row["non_compliance"]) > EVEN:
        return f"{counts}, {'weighted' if standing.question.weights else 'counted by case'} ({_short(row)})"
    return f"{counts} ({_short(row)})"


def _short(row: Row) -> str:
    bound = "at least " if row["at_least"] else ""
    return f"{bound}{percent(row['non_compliance'])}, interval {ends(row['ci_low'], row['ci_high'])}"


def percent(share: float) -> str:
    """A share as a percentage, with a digit after the point where it is small. Every report rounds so."""
    return f"{_rounded_share(share)}%"


def as_given(limit: float) -> str:
    """A limit as a percentage, with all the digits that somebody gave it."""
    return f"{100 * limit:g}%"


def ends(low: float, high: float) -> str:
    """The ends of an interval as percentages."""
    return f"{_rounded_share(low)}–{_rounded_share(high)}%"


def _rounded_share(share: float) -> str:
    """In percent; never 0 or 100 for what is only near it."""
    edge = min(share, 1.0 - share)
    if edge <= 0.0:
        return f"{100 * share:.0f}"
    digits = 0 if SMALL <= share <= ALMOST_ALL else 1
    while round(100 * edge, digits) == 0.0 and digits < FINEST:
        digits += 1
    return f"{100 * share:.{digits}f}".removesuffix(".0")


def _points(tolerance: float) -> str:
    return f"{100 * tolerance:g} percentage points"


def _rounded(cases: int) -> str:
    """Two digits: a plan is no more exact."""
    return f"{float(f'{cases:.2g}'):,.0f}"


def listed(names: Iterable[str]) -> str:
    """Names as a sentence lists them."""
    *head, last = list(names)
    return f"{', '.join(head)} and {last}" if head else last
