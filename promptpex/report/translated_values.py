"""The words that files of data keep of a run in English, and that reports show in the reader's language."""

from __future__ import annotations

from functools import lru_cache

from promptpex.core.translation import Language, from_data, spoken, stored

DECISIONS = (
    stored("only model"),
    stored("best"),
    stored("tied"),
    stored("worse"),
    stored("undecided"),
    stored("unscored"),
    stored("reference"),
    stored("better"),
)
"""About models (``tables.RankingOutcome``); and changes from one run to another."""
CHANGES = (stored("newly failing"), stored("fixed"), stored("no longer scored"))
"""Of cases, from one run to another."""
CASE_TYPES = (stored("rule"), stored("inverse"), stored("no rule"))
"""What cases aim at (``tables.CASE_TYPE_COLUMNS``)."""
STATUSES = (stored("pass"), stored("fail"), stored("not_concerned"), stored("unscored"))
"""Of verdicts."""
REASONS = (
    stored("error"),
    stored("rate-limited"),
    stored("timed-out"),
    stored("deadline"),
    stored("unavailable"),
    stored("not-authorised"),
    stored("unknown-model"),
    stored("retired-model"),
    stored("context-too-small"),
    stored("filtered"),
    stored("bad-request"),
    stored("budget"),
    stored("empty"),
    stored("truncated"),
    stored("malformed"),
    stored("not-recorded"),
    stored("interrupted"),
    stored("cut-by-budget"),
    stored("cut-by-deadline"),
    stored("cut-by-stop"),
    stored("no-judge"),
    stored("needs-judge"),
    stored("untrusted-judge"),
    stored("judge-{reason}", reason="error"),
)
"""Why an output or a verdict is unscored."""


MISSING = (
    stored("{outputs} is unscored"),
    stored("{outputs} are unscored"),
    stored("{some} of {all} outputs of {model}"),
    stored("{others}, {some} of {all} outputs of {model}"),
    stored("{others} and {some} of {all} outputs of {model}"),
    stored("{some} of {all} outputs before"),
    stored("{some} of {all} outputs after"),
    stored("{others} and {some} of {all} outputs after"),
    stored("the judge was not asked about {model}"),
    stored("{model} was not asked"),
    stored("no output of {model} was scored by {metric}"),
    stored("{some} of {all} outputs of {model} have no score by {metric}"),
    stored("running"),
    stored("killed"),
)
"""What keeps a decision open (column ``undecided_because``, with its parts), or a run (``Manifest.partial``)."""
CANDIDATES = (
    stored("chosen"),
    stored("implied"),
    stored("left out"),
    stored("open"),
    stored("never"),
    stored("screened"),
    stored("good"),
    stored("bad"),
    stored("unsure"),
    stored("disputed"),
    stored("the same code"),
    stored("a judge"),
    stored("a person"),
    stored("accepted"),
    stored("struck"),
    stored("a person said must"),
    stored("a person said never"),
    stored("{kind}, asks a judge"),
    stored("by {names} and {count} more"),
    stored("waiting"),
    stored("done"),
    stored("failed"),
    stored("dropped"),
    stored("culled"),
    stored("counts"),
    stored("does not count: struck"),
    stored("does not count: one of the two flags too many good outputs"),
    stored("does not count: {count} output passes the first and fails the second"),
    stored("does not count: {count} outputs pass the first and fail the second"),
)
"""States, labels and evidence of candidate assertions, and of the work on them."""
COUNTED = (
    stored("{count} rule"),
    stored("{count} rules"),
    stored("{count} request"),
    stored("{count} requests"),
    stored("{count} question"),
    stored("{count} questions"),
    stored("{count} graded output"),
    stored("{count} graded outputs"),
)
"""Counted things within notices."""
WORDS = (*COUNTED, *CANDIDATES, *MISSING, *DECISIONS, *CHANGES, *STATUSES, *CASE_TYPES, *REASONS)


def reason_of(reason: str, source: str, *, unscored: bool = False) -> str:
    """The reason of a verdict or score in the reader's language; what a judge wrote stays, even where it reads as a
    sentence of a check, and so do the words of several judges, each behind its name. Of what is ``unscored`` the reason
    is why the judge wrote nothing."""
    wrote = source.startswith("judge:") or (source.startswith("judges:") and ": " in reason)
    return reason if wrote and not unscored else from_data(reason)


def counted_reasons(counts: str) -> str:
    """``3 timed-out, 1 empty`` in the reader's language."""
    parts = (part.partition(" ") for part in counts.split(", "))
    return ", ".join(f"{number} {from_data(reason)}" if reason else number for number, _, reason in parts)


def in_english(shown: str) -> str:
    """The word for which a report shows this one."""
    return _english(spoken()).get(shown, shown)


@lru_cache(maxsize=8)
def _english(language: Language) -> dict[str, str]:
    """What a language shows, and the first of ``WORDS`` that it is shown for."""
    return {language.stored(word): word for word in reversed(WORDS)}
