"""A judge that scores outputs by a metric's criteria (PromptPex's custom metrics): OK or ERR, or 0 to 100."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from promptpex.core.errors import ModelError
from promptpex.core.ids import digest
from promptpex.core.records import Metric, Output, Request, Score
from promptpex.core.stage_templates import Rendered, fence, fingerprint, render
from promptpex.llm.model_in_role import RoleModel
from promptpex.llm.schemas import REASON, reply_schema

TEMPLATE = "judging/metric"
STAGE = "metric"

OUTPUT_FORMAT: Mapping[str, str] = {"pass-fail": "Say OK or ERR.", "0-100": "Give a score from 0 to 100."}
"""What criteria show as ``output_format``: the reply's real form is described around them."""


class PassFailScore(BaseModel):
    """A judge's word on an output: the reason first."""

    reason: Annotated[str, REASON]
    verdict: Literal["OK", "ERR", "unclear"]


class PercentScore(BaseModel):
    """A judge's score of an output: the reason first."""

    reason: Annotated[str, REASON]
    score: Annotated[int, Field(ge=-1, le=100)]


@dataclass(frozen=True, slots=True)
class MetricJudge:
    """One judge with one metric.

    Attributes:
        role_model: who is asked.
        metric: what it scores; one with criteria.
        instructions: the owner's note.
    """

    role_model: RoleModel
    metric: Metric
    instructions: str = ""

    @property
    def source(self) -> str:
        return f"judge:{self.role_model.label}"

    async def score(self, output: Output, criteria: str) -> Score:
        """The score of a usable output; unscored where the judge cannot tell or cannot be read.

        Args:
            criteria: the metric's criteria with this output and its case filled in, each value fenced (``shown``).
        """
        try:
            reply = (await self.role_model.ask(self._rendered(criteria), self._reply_type, stage=STAGE)).value
        except ModelError as error:
            return self._score(output, None, str(error), f"judge-{error.reason}")
        value = _value(reply)
        return self._score(output, value, reply.reason.strip(), "judge-unclear" if value is None else None)

    def request(self, criteria: str) -> Request:
        request = self.role_model.request(self._rendered(criteria), stage=STAGE)
        return request.replace(reply_schema=reply_schema(self._reply_type))

    def fingerprint(self) -> str:
        how = [self.role_model.defaults.to_dict(), self.instructions]
        return digest([fingerprint(TEMPLATE), self.role_model.identity, how, self.metric.fingerprint()], 16)

    @property
    def _reply_type(self) -> type[PassFailScore] | type[PercentScore]:
        return PassFailScore if self.metric.scale == "pass-fail" else PercentScore

    def _rendered(self, criteria: str) -> Rendered:
        return render(TEMPLATE, scale=self.metric.scale, criteria=criteria, instructions=self.instructions)

    def _score(self, output: Output, value: float | None, reason: str, code: str | None) -> Score:
        name, own_fingerprint = self.metric.name, self.fingerprint()
        return Score.of(
            output.key, name, self.source, value=value, reason=reason, unscored=code, fingerprint=own_fingerprint
        )


def _value(reply: PassFailScore | PercentScore) -> float | None:
    if isinstance(reply, PassFailScore):
        return {"OK": 1.0, "ERR": 0.0}.get(reply.verdict)
    return None if reply.score < 0 else reply.score / 100


def shown(values: Mapping[str, str]) -> dict[str, str]:
    """Values as criteria show them: fenced, since outputs and inputs may say anything; empty ones stay empty."""
    return {name: fence(value, name) if value else "" for name, value in values.items()}
