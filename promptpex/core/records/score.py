"""Scores: how good an output is in one respect, from 0 to 1, such as whether it is the expected one."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from promptpex.core.records._base import Ordinal, Record

EXPECTED = "expected"
"""The name of the scores that say whether an output is the expected one: 1 or 0. Accuracy is made of these alone."""


class Score(Record):
    """How good an output is in one respect.

    Attributes:
        case, model, repeat: the output's key.
        name: what was scored: ``expected``, or the name of a metric.
        value: from 0 (worst) to 1; None where there is no score.
        reason: in words.
        unscored: the reason code where there is no score (``truncated``, ``judge-malformed``, ...).
        source: what decided: ``match:normalised``, ``judge:gpt-4o``, ``javascript``, ``judges:mean``, ``none``.
        fingerprint: hash of what shapes the score, such as the comparison, or the judge's template and settings.
        counts: whether it is the output's score under this name; False for one judge of several.
        turn: from 0, the times the same judge was asked before; later turns never count.
    """

    case: str
    model: str
    repeat: Ordinal = 0
    name: str = Field(min_length=1)
    value: float | None = Field(default=None, ge=0, le=1)
    reason: str = ""
    unscored: str | None = None
    source: str
    fingerprint: str = ""
    counts: bool = True
    turn: Ordinal = 0

    @model_validator(mode="after")
    def _scored_or_not(self) -> Self:
        if (self.value is None) == (self.unscored is None):
            raise ValueError("a score has either a value or the reason why there is none")
        return self

    @classmethod
    def of(
        cls,
        key: tuple[str, str, int],
        name: str,
        source: str,
        *,
        value: float | None = None,
        reason: str = "",
        unscored: str | None = None,
        fingerprint: str = "",
        counts: bool = True,
    ) -> Self:
        """The score under ``name`` of the output with this ``key``."""
        case, model, repeat = key
        return cls(
            case=case,
            model=model,
            repeat=repeat,
            name=name,
            value=value,
            reason=reason,
            unscored=unscored,
            source=source,
            fingerprint=fingerprint,
            counts=counts,
        )

    @property
    def key(self) -> tuple[str, str, int]:
        """The key of the output that it is about."""
        return (self.case, self.model, self.repeat)
