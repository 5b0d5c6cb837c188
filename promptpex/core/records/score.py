"""Scores: how good an output is in one respect, from 0 to 1; and the metrics that the owner of a prompt writes."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from promptpex.core.ids import digest
from promptpex.core.records._base import Ordinal, Record
from promptpex.core.records.prompt import Prompt

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
        return (self.case, self.model, self.repeat)


METRIC_NAME = r"^[A-Za-z][A-Za-z0-9_-]{0,39}$"
"""Metric names are also columns and keys of ``--min-metric NAME=VALUE``."""

Scale = Literal["pass-fail", "0-100"]

Language = Literal["javascript", "python"]
"""What a metric's code is written in; also the kind of check that evaluates it, and the source of its scores."""


class Metric(Record):
    """One metric: criteria that a judge scores an output by, or code.

    Attributes:
        name: of its file: ``tone`` of ``tone.metric.md``.
        description: for reports.
        scale: whether a judge says OK or ERR, or gives 0 to 100.
        criteria: the file's text, a template over ``prompt``, ``intent``, ``input_spec``, ``rules``, ``input``,
            ``output`` and ``expected``; None for code.
        code: an expression, function body or, in Python, function over ``output`` and ``context``, which gives true,
            false or a number from 0 to 1.
        language: of the code.
    """

    name: str = Field(pattern=METRIC_NAME)
    description: str = ""
    scale: Scale = "pass-fail"
    criteria: Prompt | None = None
    code: str | None = None
    language: Language = "javascript"

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.criteria is None) == (self.code is None):
            raise ValueError("a metric has either criteria or code")
        if self.name == EXPECTED:
            raise ValueError(f"{EXPECTED!r} is the name of the comparison with expected outputs")
        return self

    def fingerprint(self) -> str:
        text = self.criteria.fingerprint if self.criteria else self.code
        of_python = ["python"] if self.code is not None and self.language == "python" else []
        return digest([self.name, self.scale, text, *of_python], 16)
