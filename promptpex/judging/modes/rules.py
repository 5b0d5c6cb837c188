"""Mode ``rules``: the rules that need a judge, with a reason and a verdict per rule."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, create_model

from promptpex.codecs.model_json import ReplyError, read_json_reply
from promptpex.core.records import NOT_CONCERNED, UNCLEAR, Rule, Spec
from promptpex.judging.judge_mode import JudgeFinding, JudgeMode, Material, has_condition
from promptpex.llm.schemas import REASON

TYPICAL_TOKENS = 650
"""Tokens of a request besides the output: the template and some eight rules, as the benchmarks' specs have."""

_WORD = BeforeValidator(lambda word: word.strip().casefold().replace("_", " ") if isinstance(word, str) else word)
"""A verdict as it is meant, however it is written: ``Not_Concerned`` is ``not concerned``."""


class RuleVerdict(BaseModel):
    """A judge's verdict on a rule that concerns every output: the reason first, so that the verdict follows from it.

    It may be empty where the rule is kept: the reasons of a long list of rules would not fit into one reply.
    """

    reason: Annotated[str, REASON] = ""
    verdict: Annotated[Literal["pass", "fail", "unclear"], _WORD]


class ConditionalVerdict(BaseModel):
    """The same for a rule with a condition."""

    reason: Annotated[str, REASON] = ""
    verdict: Annotated[Literal["pass", "fail", "not concerned", "unclear"], _WORD]


AnyVerdict = RuleVerdict | ConditionalVerdict


@lru_cache(maxsize=64)
def rules_reply(rules: tuple[tuple[str, type[AnyVerdict]], ...]) -> type[BaseModel]:
    """The shape of a reply: an object with exactly one verdict under each rule's id."""
    fields: dict[str, Any] = {f"f{index}": (kind, Field(alias=rule)) for index, (rule, kind) in enumerate(rules)}
    return create_model("RuleVerdicts", __config__=ConfigDict(populate_by_name=True), **fields)


class Mode(JudgeMode):
    """Rule by rule. Rules that need the input are asked about with the inputs shown, all others from the output alone
    unless the judge is to see the inputs."""

    name = "rules"
    labels = ("pass", "fail", "not concerned", "unclear")
    examples_template = "judging/rules_with_examples"

    def rules(self, spec: Spec, *, all_rules: bool) -> tuple[Rule, ...]:
        return tuple(rule for rule in spec.rules if not rule.stale and (all_rules or rule.needs_judge))

    def reply_type(self, rules: tuple[Rule, ...]) -> type[BaseModel]:
        return rules_reply(tuple((rule.id, _kind(rule)) for rule in rules))

    def shows(self, material: Material) -> dict[str, Any]:
        return {
            "intent": material.spec.intent,
            "rules": material.rules,
            "conditional": any(map(has_condition, material.rules)),
            "explained": [rule.id for rule in material.rules if rule.checks],
            "prompt": material.prompt.text() if material.shows_prompt else "",
        }

    def findings(self, reply: BaseModel, rules: tuple[Rule, ...]) -> Mapping[str, JudgeFinding]:
        return {rule.id: _finding(getattr(reply, f"f{index}")) for index, rule in enumerate(rules)}

    def readable(self, reply: str, rules: tuple[Rule, ...]) -> Mapping[str, JudgeFinding]:
        try:
            value = read_json_reply(reply).value
        except ReplyError:
            return {}
        mapping = value if isinstance(value, dict) else {}
        return {rule.id: finding for rule in rules if (finding := _read(mapping.get(rule.id), rule)) is not None}

    def typical_tokens(self, prompt: int) -> int:
        return TYPICAL_TOKENS


def _kind(rule: Rule) -> type[AnyVerdict]:
    return ConditionalVerdict if has_condition(rule) else RuleVerdict


def _read(given: Any, rule: Rule) -> JudgeFinding | None:
    try:
        return _finding(_kind(rule).model_validate(given))
    except ValidationError:
        return None


def _finding(verdict: AnyVerdict) -> JudgeFinding:
    if verdict.verdict == "unclear":
        return JudgeFinding("unscored", verdict.reason, code=UNCLEAR)
    return JudgeFinding(NOT_CONCERNED if verdict.verdict == "not concerned" else verdict.verdict, verdict.reason)
