"""Mode ``prompt``: PromptPex's own (arXiv 2503.05070v1, §3.4). The whole prompt and the output, OK or ERR, without the
input; one verdict per output, on a rule that stands for the prompt as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel

from promptpex.core.records import Rule, Spec
from promptpex.judging.judge_mode import JudgeFinding, JudgeMode, Material
from promptpex.llm.schemas import REASON

WHOLE_PROMPT = Rule(id="prompt", rule="The output complies with the prompt.", origin="added")
"""The rule whose verdicts are on the prompt as a whole."""

TEMPLATE_TOKENS = 250
"""Tokens of the template itself."""


class PromptVerdict(BaseModel):
    """A judge's verdict on compliance with the whole prompt: the reason first."""

    reason: Annotated[str, REASON]
    verdict: Literal["OK", "ERR"]


class Mode(JudgeMode):
    """The prompt as a whole."""

    name = "prompt"
    labels = ("OK", "ERR")
    shows_inputs = False
    own_rules = (WHOLE_PROMPT,)

    def rules(self, spec: Spec, *, all_rules: bool) -> tuple[Rule, ...]:
        return self.own_rules

    def reply_type(self, rules: tuple[Rule, ...]) -> type[BaseModel]:
        return PromptVerdict

    def shows(self, material: Material) -> dict[str, Any]:
        return {"prompt": material.prompt.text()}

    def findings(self, reply: BaseModel, rules: tuple[Rule, ...]) -> Mapping[str, JudgeFinding]:
        assert isinstance(reply, PromptVerdict)
        return {WHOLE_PROMPT.id: JudgeFinding("pass" if reply.verdict == "OK" else "fail", reply.reason)}

    def typical_tokens(self, prompt: int) -> int:
        return prompt + TEMPLATE_TOKENS
