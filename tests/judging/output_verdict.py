"""The definition of an output's verdict in its plain form, which the tables are held to."""

from __future__ import annotations

from collections.abc import Iterable

from promptpex.core.records import NOT_CONCERNED, Verdict


def row_status(verdicts: Iterable[Verdict]) -> tuple[str, str | None]:
    """An output's own verdict: fail when a verdict that counts fails, else unscored when one could not judge, else
    pass, whether its rules are kept or do not concern it; with the reason code when unscored. Without any verdict that
    counts: unscored, ``no-judge``.

    Tables decide the same by columns (``tables.row_verdicts``).
    """
    counting = [verdict for verdict in verdicts if verdict.counts]
    if any(verdict.status == "fail" for verdict in counting):
        return "fail", None
    open_ = next((verdict for verdict in counting if verdict.status == "unscored"), None)
    if open_ is not None:
        return "unscored", open_.unscored
    return ("pass", None) if counting else ("unscored", "no-judge")


def rule_status(verdicts: Iterable[Verdict]) -> tuple[str, str | None]:
    """The same for the verdicts on one rule: what does not break it is not concerned where one of them says so."""
    counting = [verdict for verdict in verdicts if verdict.counts]
    status, code = row_status(counting)
    left_out = any(verdict.status == NOT_CONCERNED for verdict in counting)
    return (NOT_CONCERNED if status == "pass" and left_out else status), code
