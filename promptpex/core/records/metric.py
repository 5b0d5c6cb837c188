"""Metrics that the owner of a prompt writes: one respect in which an output is good or bad, apart from the rules."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from promptpex.core.ids import digest
from promptpex.core.records._base import Record
from promptpex.core.records.prompt import Prompt
from promptpex.core.records.score import EXPECTED

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
        """Hash of what decides its scores."""
        text = self.criteria.fingerprint if self.criteria else self.code
        of_python = ["python"] if self.code is not None and self.language == "python" else []
        return digest([self.name, self.scale, text, *of_python], 16)
