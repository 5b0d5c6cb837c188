"""The comparison ``asked``: a judge says whether an output says the same as the expected one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel

from promptpex.codecs.text.inputs_as_text import inputs_text
from promptpex.core.errors import ModelError
from promptpex.core.ids import digest
from promptpex.core.records import EXPECTED, Output, Request, Status, Verdict
from promptpex.core.stage_templates import Rendered, fingerprint, render
from promptpex.llm.model_in_role import RoleModel
from promptpex.llm.schemas import REASON, reply_schema

TEMPLATE = "judging/match"
STAGE = "match"

_STATUS: Mapping[str, Status] = {"same": "pass", "different": "fail", "unclear": "unscored"}


class MatchReply(BaseModel):
    """A judge's comparison: what differs, then whether the answers are the same."""

    differences: Annotated[str, REASON]
    verdict: Literal["same", "different", "unclear"]


@dataclass(frozen=True, slots=True)
class MatchJudge:
    """One judge that compares outputs with expected ones.

    Attributes:
        role_model: who is asked.
        intent: what the prompt is for, as the spec says it.
        instructions: the owner's note.
    """

    role_model: RoleModel
    intent: str
    instructions: str = ""

    @property
    def source(self) -> str:
        return f"judge:{self.role_model.label}"

    async def compare(self, output: Output, inputs: Mapping[str, Any], expected: Sequence[str]) -> Verdict:
        """Whether a usable output says the same as one of the ``expected``, as a verdict on a rule called ``expected``.

        Unscored where the judge cannot tell or cannot be read.
        """
        rendered = self._rendered(output, inputs, expected)
        try:
            reply = (await self.role_model.ask(rendered, MatchReply, stage=STAGE)).value
        except ModelError as error:
            return self._verdict(output, "unscored", str(error), f"judge-{error.reason}")
        code = "judge-unclear" if reply.verdict == "unclear" else None
        return self._verdict(output, _STATUS[reply.verdict], reply.differences.strip() or f"{reply.verdict}", code)

    def request(self, output: Output, inputs: Mapping[str, Any], expected: Sequence[str]) -> Request:
        request = self.role_model.request(self._rendered(output, inputs, expected), stage=STAGE)
        return request.replace(reply_schema=reply_schema(MatchReply))

    def fingerprint(self) -> str:
        who, defaults = self.role_model.identity, self.role_model.defaults.to_dict()
        return digest([fingerprint(TEMPLATE), who, defaults, self.intent, self.instructions], 16)

    def _rendered(self, output: Output, inputs: Mapping[str, Any], expected: Sequence[str]) -> Rendered:
        return render(
            TEMPLATE,
            intent=self.intent,
            inputs=inputs_text(inputs),
            expected="\n\nor\n\n".join(expected),
            output=output.text or "",
            instructions=self.instructions,
        )

    def _verdict(self, output: Output, status: Status, reason: str, code: str | None) -> Verdict:
        own_fingerprint = self.fingerprint()
        return Verdict.of(
            output.key, EXPECTED, status, self.source, reason=reason, unscored=code, fingerprint=own_fingerprint
        )
