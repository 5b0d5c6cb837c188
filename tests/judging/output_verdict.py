"""The definition of an output's verdict in its plain form, which the tables are held to."""

from __future__ import annotations

from collections.abc import Iterable

from promptpex.core.records import Verdict


def row_status(verdicts: Iterable[Verdict]) -> tuple[str, str | None]:
    """An output's own verdict: fail when a verdict that counts fails, else unscored when one could not judge, else
    pass; with the reason code when unscored. Without any verdict that counts: unscored, ``no-judge``.

    Tables decide the same by columns (``tables.row_verdicts``).
    """
    counting = [verdict for verdict in verdicts if verdict.counts]
    if any(verdict.status == "fail" for verdict in counting):
        return "fail", None
    open_ = next((verdict for verdict in counting if verdict.status == "unscored"), None)
    if open_ is not None:
        return "unscored", open_.unscored
    return ("pass", None) if counting else ("unscored", "no-judge")
