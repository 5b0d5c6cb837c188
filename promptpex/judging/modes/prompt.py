"""Mode ``prompt``: PromptPex's own (arXiv 2503.05070v1, §3.4).

The judge sees the whole prompt and the output, without the input unless it is to see it, and lists what is broken: an
output of which it lists nothing complies. There is one verdict per output, on a rule that stands for the prompt as a
whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel

from promptpex.core.records import Rule, Spec
from promptpex.core.sentences import on_one_line
from promptpex.judging.judge_mode import JudgeFinding, JudgeMode, Material
from promptpex.llm.schemas import list_up_to, shortened

WHOLE_PROMPT = Rule(id="prompt", rule="The output complies with the prompt.", origin="added")
"""The rule whose verdicts are on the prompt as a whole."""

TEMPLATE_TOKENS = 350
"""Tokens of the template itself."""

_SHORT = shortened(600)


class BrokenInstruction(BaseModel):
    """An instruction that the output breaks, and the words that show it."""

    instruction: Annotated[str, _SHORT]
    evidence: Annotated[str, _SHORT]


class PromptVerdict(BaseModel):
    """A judge's verdict on compliance with the whole prompt: what is broken; nothing if it complies."""

    broken: list_up_to(BrokenInstruction, 20)  # type: ignore[valid-type]


class Mode(JudgeMode):
    """The prompt as a whole."""

    name = "prompt"
    labels = ()
    own_rules = (WHOLE_PROMPT,)

    def rules(self, spec: Spec, *, all_rules: bool) -> tuple[Rule, ...]:
        return self.own_rules

    def reply_type(self, rules: tuple[Rule, ...]) -> type[BaseModel]:
        return PromptVerdict

    def shows(self, material: Material) -> dict[str, Any]:
        return {"prompt": material.prompt.text()}

    def findings(self, reply: BaseModel, rules: tuple[Rule, ...]) -> Mapping[str, JudgeFinding]:
        assert isinstance(reply, PromptVerdict)
        if not reply.broken:
            return {WHOLE_PROMPT.id: JudgeFinding("pass", "the judge found no instruction that it breaks")}
        lines = "\n".join(f"{on_one_line(item.instruction)}: {on_one_line(item.evidence)}" for item in reply.broken)
        return {WHOLE_PROMPT.id: JudgeFinding("fail", lines)}

    def typical_tokens(self, prompt: int) -> int:
        return prompt + TEMPLATE_TOKENS
