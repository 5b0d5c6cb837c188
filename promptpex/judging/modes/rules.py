"""Mode ``rules``: the rules that need a judge, one request per output, with a reason and a verdict per rule."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from promptpex.core.records import Rule, Spec
from promptpex.judging.judge_mode import JudgeFinding, JudgeMode, Material
from promptpex.llm.schemas import REASON

TYPICAL_TOKENS = 600
"""Tokens of a request besides the output: the template and some eight rules, as the benchmarks' specs have."""


class RuleVerdict(BaseModel):
    """A judge's verdict on one rule: the reason first, so that the verdict follows from it."""

    reason: Annotated[str, REASON]
    verdict: Literal["pass", "fail"]


@lru_cache(maxsize=64)
def rules_reply(rules: tuple[str, ...]) -> type[BaseModel]:
    """The shape of a reply: an object with exactly one verdict under each rule's id."""
    fields: dict[str, Any] = {f"f{index}": (RuleVerdict, Field(alias=rule)) for index, rule in enumerate(rules)}
    return create_model("RuleVerdicts", __config__=ConfigDict(populate_by_name=True), **fields)


class Mode(JudgeMode):
    """Rule by rule, from the output alone unless the judge is to see the inputs."""

    name = "rules"

    def rules(self, spec: Spec, *, all_rules: bool) -> tuple[Rule, ...]:
        return tuple(rule for rule in spec.rules if not rule.stale and (all_rules or rule.needs_judge))

    def reply_type(self, rules: tuple[Rule, ...]) -> type[BaseModel]:
        return rules_reply(tuple(rule.id for rule in rules))

    def shows(self, material: Material) -> dict[str, Any]:
        return {"intent": material.spec.intent, "rules": material.rules, "inputs": material.inputs}

    def findings(self, reply: BaseModel, rules: tuple[Rule, ...]) -> Mapping[str, JudgeFinding]:
        verdicts: dict[str, RuleVerdict] = {rule.id: getattr(reply, f"f{index}") for index, rule in enumerate(rules)}
        return {rule: JudgeFinding(verdict.verdict, verdict.reason) for rule, verdict in verdicts.items()}

    def typical_tokens(self, prompt: int) -> int:
        return TYPICAL_TOKENS
