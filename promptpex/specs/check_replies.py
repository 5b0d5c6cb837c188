"""What the author of checks replies, and the checks that it means by that."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Literal

from pydantic import BaseModel, Field, create_model

from promptpex.assertions.authored_checks import check_from_text
from promptpex.core.errors import CheckError
from promptpex.core.records import Check, InputCheck
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
