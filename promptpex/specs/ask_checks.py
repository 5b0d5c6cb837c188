"""Asking the author for checks: many rules in one request, in parts where that fails."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import ceil
from typing import Annotated, Literal, cast

from pydantic import BaseModel, Field, create_model

from promptpex.assertions.authored_checks import check_from_text
from promptpex.codecs.text.comparing import without_passages
from promptpex.core.errors import CheckError, ModelError
from promptpex.core.events import Listener, Notice
from promptpex.core.records import Check, InputCheck, Prompt, Rule, Spec
from promptpex.core.stage_templates import Rendered, render
from promptpex.core.translation import stored
from promptpex.llm.model_in_role import RoleModel, map_requests
from promptpex.llm.schemas import list_up_to, shortened

Text = Annotated[str, shortened(50_000)]
Decides = Literal["wholly", "partly", "condition"]
"""How far checks decide a rule; ``condition``: code tells nothing but whether it concerns an output."""


class CheckReply(BaseModel):
    """One proposed check, on the whole output or on a value of a JSON output."""

    path: str = ""
    kind: str
    value: Text


class ConditionReply(CheckReply):
    """One check of a condition, on one input."""

    variable: str


class InputReply(BaseModel):
    """One input of the examples."""

    name: str
    value: Text


class ProposedChecks(BaseModel):
    """The checks for one rule, with outputs to try them on."""

    rule: str
    keeps: list_up_to(Text, 4)  # type: ignore[valid-type]
    keeps_only_this: list_up_to(Text, 2)  # type: ignore[valid-type]
    breaks: list_up_to(Text, 4)  # type: ignore[valid-type]
    checks: list_up_to(CheckReply, 4)  # type: ignore[valid-type]
    decides: Decides
    after: str = ""


class ConditionalChecks(ProposedChecks):
    """The same for a rule that may need the input."""

    when: list_up_to(ConditionReply, 3) = []  # type: ignore[valid-type]
    inputs: list_up_to(InputReply, 50) = []  # type: ignore[valid-type]
    other_inputs: list_up_to(InputReply, 50) = []  # type: ignore[valid-type]


@lru_cache(maxsize=64)
def checks_reply(limit: int, conditional: bool = False) -> type[BaseModel]:
    """The shape of a reply about up to ``limit`` rules: proposals, and under ``no_checks`` the ids of rules that code
    cannot help. ``conditional``: some rules need the input."""
    kind = ConditionalChecks if conditional else ProposedChecks
    return create_model(
        "ChecksReply",
        rules=(list_up_to(kind, limit), ...),
        no_checks=(list_up_to(Text, limit), Field(default_factory=list)),
    )


def no_checks(rule: str) -> ProposedChecks:
    """What it means that the author names a rule as one that code cannot help."""
    return ProposedChecks(rule=rule, keeps=[], keeps_only_this=[], breaks=[], checks=[], decides="condition")


def read_check(reply: CheckReply, variables: frozenset[str]) -> Check:
    """The check that a reply means.

    Args:
        variables: the inputs that its value may name.

    Raises:
        CheckError: as ``check_from_text``.
    """
    return check_from_text(reply.kind, reply.value, reply.path, variables)


def read_condition(reply: ConditionReply, variables: frozenset[str]) -> InputCheck:
    """The check of a condition that a reply means.

    Raises:
        CheckError: as ``read_check``; or the prompt has no such variable.
    """
    if reply.variable not in variables:
        raise CheckError(f"the condition names {reply.variable[:40]!r}, which is not an input of the prompt")
    return InputCheck.model_validate({**read_check(reply, variables).to_dict(), "variable": reply.variable})


STAGE = "checks"
BATCH = 10
"""Rules that one request asks for: about 3,000 tokens of answer."""

_JSON = re.compile(r"json|\b(?:objects?|arrays?|keys)\b|\[\s*\\?[\"'{\[]|(?<!\{)\{\s*\\?[\"'\[]", re.IGNORECASE)
_MARKUP = re.compile(r"xml|html|sql", re.IGNORECASE)
"""Signs that outputs may be JSON, or in one of these languages."""

Replies = dict[str, ProposedChecks]
"""By the id of the rule."""


def requests_for(rules: int) -> int:
    return ceil(rules / BATCH)


@dataclass(frozen=True, slots=True)
class CheckRequests:
    """Asks for the checks of a spec's rules.

    Attributes:
        prompt, spec: which the author is shown, the rules that are stale left out.
        has_expected: whether checks may name the expected output.
        failed: ids of rules that could not even be asked for alone.
    """

    author: RoleModel
    prompt: Prompt
    spec: Spec
    has_expected: bool
    instructions: str
    emit: Listener
    failed: set[str] = field(default_factory=set)

    async def ask(self, rules: Sequence[Rule], refusals: Mapping[str, str] | None = None) -> Replies:
        """The replies by rule; rules that a reply leaves out are asked for once more.

        Args:
            refusals: why earlier proposals were refused, by rule.

        Raises:
            ModelError: of a kind that holds for the whole model.
        """
        replies = await self._batches(rules, refusals or {})
        left_out = [rule for rule in rules if rule.id not in replies and rule.id not in self.failed]
        return {**replies, **await self._batches(left_out, refusals or {})} if replies else replies

    async def _batches(self, rules: Sequence[Rule], refusals: Mapping[str, str]) -> Replies:
        async def ask(batch: Sequence[Rule]) -> Replies:
            return await self._batch(batch, refusals, size=ceil(len(batch) / 2))

        size = ceil(len(rules) / max(1, requests_for(len(rules))))
        nothing: Replies = {}
        replies = await map_requests(STAGE, self.author.label, _parts(rules, size), ask, self.emit, default=nothing)
        return {rule: reply for part in replies for rule, reply in part.items()}

    async def _batch(self, rules: Sequence[Rule], refusals: Mapping[str, str], size: int) -> Replies:
        """The replies for these rules; where the request fails, for parts of this size, and then for single rules."""
        try:
            return await self._request(rules, refusals)
        except ModelError as error:
            if error.model_wide:
                raise
            self._failed(rules, error)
        replies: Replies = {}
        for part in _parts(rules, size) if len(rules) > 1 else ():
            replies |= await self._batch(part, refusals, size=1)
        return replies

    def _failed(self, rules: Sequence[Rule], error: ModelError) -> None:
        if len(rules) > 1:
            message = stored(
                "{stage}: {label} gave no usable reply for {count} rules ({reason}); asking for them in parts",
                stage=STAGE,
                label=self.author.label,
                count=len(rules),
                reason=error.reason,
            )
            self.emit(Notice(message))
            return
        self.failed.add(rules[0].id)
        message = stored(
            "{stage}: {label} gave no usable reply for {count} rule ({reason}): {part}",
            stage=STAGE,
            label=self.author.label,
            count=1,
            reason=error.reason,
            part=error,
        )
        self.emit(Notice(message, "warning"))

    async def _request(self, rules: Sequence[Rule], refusals: Mapping[str, str]) -> Replies:
        conditional = any(rule.needs == "input" for rule in rules)
        rendered = self._rendered(rules, refusals, conditional)
        reply = await self.author.ask(rendered, checks_reply(len(rules), conditional), stage=STAGE)
        rule_ids = {rule.id for rule in rules}
        proposed = cast("list[ProposedChecks]", reply.value.rules)  # type: ignore[attr-defined]
        hopeless = cast("list[str]", reply.value.no_checks)  # type: ignore[attr-defined]
        proposals = [*(no_checks(name) for name in hopeless), *reversed(proposed)]
        return {each.rule.strip(): each for each in proposals if each.rule.strip() in rule_ids}

    def _rendered(self, rules: Sequence[Rule], refusals: Mapping[str, str], conditional: bool) -> Rendered:
        text, json = self.prompt.text(), self._speaks_of(_JSON)
        return render(
            "specs/checks",
            prompt=text,
            description=self.prompt.description,
            all_rules=without_passages("\n".join(_line(rule) for rule in self.spec.rules if not rule.stale), text),
            json=json,
            json_inputs=json or any(variable.type == "json" for variable in self.spec.inputs.values()),
            markup=self._speaks_of(_MARKUP),
            asked="\n".join(rule.id for rule in rules),
            conditional=conditional,
            has_expected=self.has_expected,
            refused="\n".join(f"{rule.id}: {refusals[rule.id]}" for rule in rules if rule.id in refusals),
            instructions=self.instructions,
        )

    def _speaks_of(self, signs: re.Pattern[str]) -> bool:
        """Whether the prompt or a rule has one of these signs; without them the author need not read of some kinds."""
        texts = (
            self.prompt.text(),
            *(rule.rule for rule in self.spec.rules),
            *(rule.source or "" for rule in self.spec.rules),
        )
        return any(map(signs.search, texts))


def _line(rule: Rule) -> str:
    needs = " (needs the input)" if rule.needs == "input" else ""
    return f"{rule.id}{needs}: {' '.join(rule.rule.split())}"


def _parts(rules: Sequence[Rule], size: int) -> list[Sequence[Rule]]:
    return [rules[start : start + size] for start in range(0, len(rules), max(1, size))]
