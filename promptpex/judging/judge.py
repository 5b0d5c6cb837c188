"""Judging by a model: what no check decides.

What the judge is shown and how it replies is up to the judge mode (``judging.modes``). A judge that cannot be read
gives ``unscored``, never a pass and never a fail.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pydantic import BaseModel

from promptpex.codecs.inputs_as_text import inputs_text
from promptpex.core.errors import ModelError
from promptpex.core.ids import digest
from promptpex.core.records import Output, Prompt, Request, Rule, Spec, Verdict
from promptpex.core.stage_templates import Rendered, fingerprint, render
from promptpex.judging import modes
from promptpex.judging.confidence import confidences
from promptpex.judging.judge_mode import JudgeMode, Material
from promptpex.llm.role_model import RoleModel
from promptpex.llm.schemas import reply_schema

STAGE = "judge"


@dataclass(frozen=True, slots=True)
class Judging:
    """How to judge.

    Attributes:
        mode: the name of the judge mode.
        sees_input: whether the judge is shown the inputs, where its mode can show them.
        all_rules: whether rules that code decides are judged as well, to measure agreement.
        turns: how often each output is judged; later turns have the rules in another order and other words.
        confidence: whether log-probabilities are asked for, to tell how sure the judge was.
        instructions: the owner's note for the judge.
    """

    mode: str = modes.DEFAULT
    sees_input: bool = False
    all_rules: bool = False
    turns: int = 1
    confidence: bool = False
    instructions: str = ""

    @property
    def judge_mode(self) -> JudgeMode:
        """The mode itself."""
        return modes.mode(self.mode)

    def rules(self, spec: Spec) -> tuple[Rule, ...]:
        """The rules that the judge is asked about."""
        return self.judge_mode.rules(spec, all_rules=self.all_rules)


@dataclass(frozen=True, slots=True)
class Judge:
    """One judge model with the material that its verdicts rest on."""

    role_model: RoleModel
    prompt: Prompt
    spec: Spec
    options: Judging = field(default_factory=Judging)

    @property
    def source(self) -> str:
        """What its verdicts name as their source."""
        return f"judge:{self.role_model.label}"

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that it gives verdicts on."""
        return self.options.rules(self.spec)

    async def judge(self, output: Output, inputs: Mapping[str, Any], *, turn: int = 0) -> list[Verdict]:
        """A verdict per rule on a usable output, in the spec's order; unscored with the reason where none came.

        A later ``turn`` asks again, with the rules in another order and in other words around them.
        """
        if not self.rules:
            return []
        try:
            return await self._verdicts(output, inputs, turn)
        except ModelError as error:
            verdict = self._verdict(output, turn)
            return [verdict(rule.id, "unscored", str(error), code=f"judge-{error.reason}") for rule in self.rules]

    def request(self, output: Output, inputs: Mapping[str, Any], *, turn: int = 0) -> Request:
        """The request that judging this output begins with."""
        request = self._role_model.request(self._rendered(output, inputs, turn), stage=STAGE, repeat=turn)
        return request.replace(reply_schema=reply_schema(self._reply_type(turn)))

    @property
    def _role_model(self) -> RoleModel:
        wanted = self.options.confidence and not self.role_model.defaults.logprobs
        return (
            replace(self.role_model, defaults=self.role_model.defaults.replace(logprobs=True))
            if wanted
            else self.role_model
        )

    async def _verdicts(self, output: Output, inputs: Mapping[str, Any], turn: int) -> list[Verdict]:
        reply = await self._role_model.ask(
            self._rendered(output, inputs, turn), self._reply_type(turn), stage=STAGE, repeat=turn
        )
        mode, rules = self.options.judge_mode, self._in_turn(turn)
        findings = mode.findings(reply.value, rules)
        shares = confidences(reply.completion, mode.labels)
        sure = dict(zip((rule.id for rule in rules), shares, strict=True)) if len(shares) == len(rules) else {}
        verdict = self._verdict(output, turn)
        return [
            verdict(rule.id, findings[rule.id].status, findings[rule.id].reason.strip(), sure=sure.get(rule.id))
            for rule in self.rules
        ]

    def _in_turn(self, turn: int) -> tuple[Rule, ...]:
        """The rules in the order of a turn: later turns begin further down the list."""
        start = turn % max(len(self.rules), 1)
        return self.rules[start:] + self.rules[:start]

    def _reply_type(self, turn: int) -> type[BaseModel]:
        return self.options.judge_mode.reply_type(self._in_turn(turn))

    def _rendered(self, output: Output, inputs: Mapping[str, Any], turn: int) -> Rendered:
        mode = self.options.judge_mode
        shown_inputs = inputs_text(inputs) if self.options.sees_input and mode.shows_inputs else ""
        material = Material(self.prompt, self.spec, self._in_turn(turn), shown_inputs)
        return render(
            mode.template,
            output=output.text or "",
            instructions=self.options.instructions,
            wording=turn % 2,
            **mode.shows(material),
        )

    def _verdict(self, output: Output, turn: int) -> Callable[..., Verdict]:
        own_fingerprint = self.fingerprint()

        def verdict(
            rule: str, status: str, reason: str, *, code: str | None = None, sure: float | None = None
        ) -> Verdict:
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
                    "fingerprint": own_fingerprint,
                    "confidence": sure,
                    "turn": turn,
                }
            )

        return verdict

    def fingerprint(self) -> str:
        """Hash of all that shapes its verdicts: the template, who answers, its settings, the rules and how they are
        put to it."""
        mode, role_model = self.options.judge_mode, self.role_model
        rules = [rule.to_dict() for rule in self.rules if rule not in mode.own_rules]
        who = [
            role_model.label,
            role_model.model.api_base,
            role_model.model.backend,
            role_model.model.params.to_dict(),
            role_model.defaults.to_dict(),
        ]
        return digest([fingerprint(mode.template), who, asdict(self.options), self.spec.intent, rules], 16)


def judgeable(outputs: Sequence[Output]) -> list[Output]:
    """The outputs that have a usable text."""
    return [output for output in outputs if output.error is None]
