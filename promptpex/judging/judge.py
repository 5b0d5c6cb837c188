"""Judging by a model: what no check decides.

Two modes. ``rules``: the rules that need a judge, one structured request per output, a reason and a verdict per rule.
``prompt``: PromptPex's own (arXiv 2503.05070v1, §3.5), the whole prompt and the output, OK or ERR, without the input.
A judge that cannot be read gives ``unscored``, never a pass and never a fail.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from promptpex.errors import ModelError
from promptpex.ids import digest
from promptpex.llm.asker import Asker
from promptpex.llm.schemas import reply_schema
from promptpex.records import PROMPT_RULE, Output, Prompt, Request, Rule, Spec, Verdict
from promptpex.templates import Rendered, fingerprint, render

Mode = Literal["rules", "prompt"]

STAGE = "judge"


class RuleVerdict(BaseModel):
    """A judge's word on one rule: the reason first, so that the verdict follows from it."""

    reason: str = Field(max_length=800)
    verdict: Literal["pass", "fail"]


class PromptVerdict(BaseModel):
    """A judge's word on compliance with the whole prompt."""

    reason: str = Field(max_length=800)
    verdict: Literal["OK", "ERR"]


@dataclass(frozen=True, slots=True)
class Judging:
    """How to judge.

    Attributes:
        mode: ``rules`` or ``prompt``.
        sees_input: whether the judge is shown the inputs.
        all_rules: whether rules that code decides are judged as well, to measure agreement.
        instructions: the owner's note for the judge.
    """

    mode: Mode = "rules"
    sees_input: bool = False
    all_rules: bool = False
    instructions: str = ""

    def rules_for_judge(self, spec: Spec) -> tuple[Rule, ...]:
        """The rules that the judge is asked about."""
        return tuple(rule for rule in spec.rules if not rule.gone and (self.all_rules or rule.needs_judge))


@dataclass(frozen=True, slots=True)
class Judge:
    """One judge model with the material that its verdicts rest on."""

    asker: Asker
    prompt: Prompt
    spec: Spec
    options: Judging = field(default_factory=Judging)

    @property
    def source(self) -> str:
        """What its verdicts name as their source."""
        return f"judge:{self.asker.label}"

    @property
    def rules(self) -> tuple[str, ...]:
        """The rule ids that it gives verdicts on."""
        if self.options.mode == "prompt":
            return (PROMPT_RULE,)
        return tuple(rule.id for rule in self.options.rules_for_judge(self.spec))

    async def judge(self, output: Output, inputs: Mapping[str, Any], *, repeat: int = 0) -> list[Verdict]:
        """A verdict per rule on a usable output, in the spec's order; unscored with the reason where none came."""
        if not self.rules:
            return []
        try:
            return await self._verdicts(output, inputs, repeat)
        except ModelError as error:
            return self.unscored(output, f"judge-{error.reason}", str(error))

    def unscored(self, output: Output, code: str, reason: str) -> list[Verdict]:
        """An unscored verdict with this reason for each of the judge's rules."""
        say = self._verdict(output)
        return [say(rule, "unscored", reason, code) for rule in self.rules]

    def request(self, output: Output, inputs: Mapping[str, Any], *, repeat: int = 0) -> Request:
        """The request that judging this output begins with."""
        request = self.asker.request(self._rendered(output, inputs), stage=STAGE, repeat=repeat)
        return request.model_copy(update={"reply_schema": reply_schema(self._shape())})

    async def _verdicts(self, output: Output, inputs: Mapping[str, Any], repeat: int) -> list[Verdict]:
        reply = await self.asker.ask(self._rendered(output, inputs), self._shape(), stage=STAGE, repeat=repeat)
        say, value = self._verdict(output), reply.value
        if isinstance(value, PromptVerdict):
            return [say(PROMPT_RULE, "pass" if value.verdict == "OK" else "fail", value.reason.strip())]
        found = {info.alias or name: getattr(value, name) for name, info in type(value).model_fields.items()}
        return [say(rule, found[rule].verdict, found[rule].reason.strip()) for rule in self.rules]

    def _shape(self) -> type[BaseModel]:
        return PromptVerdict if self.options.mode == "prompt" else rules_reply(self.rules)

    def _rendered(self, output: Output, inputs: Mapping[str, Any]) -> Rendered:
        text, note = output.text or "", self.options.instructions
        if self.options.mode == "prompt":
            return render("judging/prompt", prompt=self.prompt.text(), output=text, instructions=note)
        return render(
            "judging/rules",
            intent=self.spec.intent,
            rules=self.options.rules_for_judge(self.spec),
            output=text,
            inputs=inputs_text(inputs) if self.options.sees_input else "",
            instructions=note,
        )

    def _verdict(self, output: Output) -> Callable[..., Verdict]:
        mark = self.fingerprint()

        def say(rule: str, status: str, reason: str, code: str | None = None) -> Verdict:
            return Verdict.model_validate(
                {
                    "case": output.case,
                    "model": output.model,
                    "repeat": output.repeat,
                    "rule": rule,
                    "status": status,
                    "reason": reason,
                    "unscored": code,
                    "source": self.source,
                    "fingerprint": mark,
                }
            )

        return say

    def fingerprint(self) -> str:
        """Hash of the template, the judge's model and settings."""
        mode = self.options.mode
        return digest([fingerprint(f"judging/{mode}"), self.asker.label, self.options.sees_input], 16)


def inputs_text(inputs: Mapping[str, Any]) -> str:
    """Inputs as text: the value alone if there is one, else a paragraph a variable."""
    values = {k: v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for k, v in inputs.items()}
    if len(values) == 1:
        return next(iter(values.values()))
    return "\n\n".join(f"{name}:\n{value}" for name, value in values.items())


@lru_cache(maxsize=64)
def rules_reply(rules: tuple[str, ...]) -> type[BaseModel]:
    """The shape of a reply: an object with exactly one verdict under each rule's id."""
    fields: dict[str, Any] = {f"f{index}": (RuleVerdict, Field(alias=rule)) for index, rule in enumerate(rules)}
    return create_model("RuleVerdicts", __config__=ConfigDict(populate_by_name=True), **fields)


def judgeable(outputs: Sequence[Output]) -> list[Output]:
    """The outputs that have a usable text."""
    return [output for output in outputs if output.error is None]
