"""The answer to "which model is good enough?" in one paragraph of plain words, computed from the figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from promptpex.tables import Standings

FEW = 20
"""Below so many scored outputs a share is marked as resting on few."""

Row = Mapping[str, Any]


def answer(rows: Sequence[Row], standing: Standings) -> str:
    """The paragraph.

    Args:
        rows: a table of models (``tables.MODEL_COLUMNS``) as plain rows.
        standing: where those models stand.
    """
    scored = [row for row in rows if row["scored"]]
    if not scored:
        return "Nothing was scored, so nothing can be said of any model."
    if standing.basis == "limit":
        told = _beside_limit(scored, standing)
    elif len(scored) == 1:
        told = _alone(scored[0])
    elif standing.anchor is not None and any(row["place"] == "reference" for row in rows):
        told = _against(scored, standing)
    else:
        told = _ranked(scored, standing)
    told += _choice(scored, standing)
    told += _caveats(rows)
    return " ".join(told)


def _alone(row: Row) -> list[str]:
    return [f"{row['model']} broke at least one rule in {_figures(row)}."]


def _ranked(rows: Sequence[Row], standing: Standings) -> list[str]:
    by_place = _by_place(rows)
    told = []
    for row in by_place.get("best", []):
        told.append(f"{row['model']} is the best for certain: it broke a rule in {_figures(row)}.")
    tied, open_ = by_place.get("tied", []), by_place.get("undecided", [])
    if tied:
        verb = "is shown to be" if len(tied) == 1 else "are tied: each is shown to be"
        named = _listed(f"{row['model']} ({_short(row)})" for row in tied)
        told.append(f"{named} {verb} less than {_points(standing.tolerance)} worse than the best.")
    if open_:
        named = _listed(f"{row['model']} ({_short(row)})" for row in open_)
        rest = "" if tied else ": these data do not tell which model is best"
        told.append(f"Undecided {'is' if len(open_) == 1 else 'are'} {named}{rest}.")
        told += _more(open_)
    return told + _worse(by_place.get("worse", []))


def _against(rows: Sequence[Row], standing: Standings) -> list[str]:
    by_place = _by_place(rows)
    told = [f"Against {row['model']} ({_short(row)}):" for row in by_place.get("reference", [])]
    parts = []
    for place, words in (
        ("better", "certainly better"),
        ("tied", f"shown to be less than {_points(standing.tolerance)} worse"),
        ("worse", "certainly worse"),
        ("undecided", "undecided"),
    ):
        if by_place.get(place):
            parts.append(f"{words}: {_listed(row['model'] + ' (' + _short(row) + ')' for row in by_place[place])}")
    if parts:
        told.append("; ".join(parts) + ".")
    return told + _more(by_place.get("undecided", []))


def _beside_limit(rows: Sequence[Row], standing: Standings) -> list[str]:
    by_place, limit = _by_place(rows), percent(standing.limit or 0.0)
    told = []
    for place, words in (
        ("below limit", f"Certainly below the limit of {limit}"),
        ("above limit", f"Certainly above the limit of {limit}"),
        ("undecided", f"Not settled whether above or below the limit of {limit}"),
    ):
        if by_place.get(place):
            told.append(f"{words}: {_listed(row['model'] + ' (' + _short(row) + ')' for row in by_place[place])}.")
    return told


def _worse(rows: Sequence[Row]) -> list[str]:
    if not rows:
        return []
    named = _listed(f"{row['model']} ({_short(row)}, than {row['beaten_by']})" for row in rows)
    return [f"Certainly worse {'is' if len(rows) == 1 else 'are'} {named}."]


def _more(rows: Sequence[Row]) -> list[str]:
    known = [(row["model"], row["more_cases"]) for row in rows if row["more_cases"] is not None]
    if not known:
        return []
    wanted = max(more for _, more in known)
    return [f"About {_rounded(wanted)} more cases would probably decide, if what was seen is how it is."]


def _choice(rows: Sequence[Row], standing: Standings) -> list[str]:
    pool = [row for row in rows if row["model"] in standing.pool]
    if len(pool) < 2:
        return []
    cheapest, fastest = ([row for row in pool if row[flag]] for flag in ("cheapest", "fastest"))
    parts = []
    if cheapest and len(cheapest) < len(pool):
        price = cheapest[0]["cost_per_output"]
        parts.append(f"the cheapest is {_listed(row['model'] for row in cheapest)} (${price:.3g} an output)")
    if fastest and len(fastest) < len(pool):
        wait = fastest[0]["latency_p50_ms"] / 1000
        parts.append(f"the fastest is {_listed(row['model'] for row in fastest)} ({wait:.2f} s in the middle)")
    if not parts:
        return []
    shown = any(row["place"] != "undecided" for row in pool)
    among = "Of those that are good enough" if shown else "Of those that are not ruled out"
    caveat = "" if shown else "; any of them may still prove to be the worse one"
    unknown = [row["model"] for row in pool if row["cost_per_output"] is None]
    prices = f" The price of {_listed(unknown)} is not known." if unknown and cheapest else ""
    return [f"{among}, {' and '.join(parts)}{caveat}.{prices}"]


def _caveats(rows: Sequence[Row]) -> list[str]:
    told = []
    few = [row for row in rows if 0 < row["scored"] < FEW]
    if few:
        named = _listed(f"{row['model']} ({row['scored']})" for row in few)
        told.append(f"Few outputs were scored of {named}: read those shares as hints.")
    none = [row["model"] for row in rows if not row["scored"]]
    if none:
        told.append(f"Nothing was scored of {_listed(none)}.")
    open_ = [row for row in rows if row["scored"] and row["unscored"]]
    if open_:
        named = _listed(
            f"{row['model']}'s non-compliance between {percent(row['best_case'])} and {percent(row['worst_case'])}"
            for row in open_
        )
        told.append(f"The unscored outputs leave {named}.")
    return told


def _by_place(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row["non_compliance"]):
        found.setdefault(row["place"], []).append(row)
    return found


def _figures(row: Row) -> str:
    return f"{row['non_compliant']} of {row['scored']} scored outputs ({_short(row)})"


def _short(row: Row) -> str:
    return f"{percent(row['non_compliance'])}, interval {100 * row['ci_low']:.0f}–{100 * row['ci_high']:.0f} %"


def percent(share: float) -> str:
    """A share as a percentage, without a digit after the point unless it is small."""
    return f"{100 * share:.3g} %" if 0 < share < 0.1 else f"{100 * share:.0f} %"


def _points(tolerance: float) -> str:
    return f"{100 * tolerance:g} percentage points"


def _rounded(cases: int) -> str:
    """Two digits: a plan is no more exact."""
    return f"{float(f'{cases:.2g}'):,.0f}"


def _listed(names: Iterable[str]) -> str:
    *head, last = list(names)
    return f"{', '.join(head)} and {last}" if head else last
