"""An author of checks with chosen replies, and what becomes of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from promptpex.core.events import Event
from promptpex.core.records import Prompt, Request, Rule, Spec
from promptpex.llm.fake import FakeClient
from promptpex.specs.check_trials import Evidence, Proposal
from promptpex.specs.propose_checks import propose_checks
from tests.samples import prompt, role_model

RULE = Rule(id="r1", rule="The output is one word in capitals.")
OTHER = Rule(id="r2", rule="The output is a colour.")
NO_EVIDENCE = Evidence()
Reply = dict[str, Any]


def proposed(kind: str, value: str = "", path: str = "") -> dict[str, str]:
    return {"path": path, "kind": kind, "value": value}


def reply(*checks: dict[str, str], rule: str = "r1", decides: str = "wholly", **more: Any) -> Reply:
    """What an author says of a rule; its examples are those of ``RULE`` unless others are given."""
    given = {"keeps": ["RED", "DARK-BLUE"], "keeps_only_this": ["XYZZY"], "breaks": ["red", "RED CAR"], "after": ""}
    return {"rule": rule, **given, "checks": list(checks), "decides": decides, **more}


def nothing(rule: str, *keeps: str) -> Reply:
    return reply(rule=rule, keeps=list(keeps), keeps_only_this=[], breaks=[], decides="condition")


class Author:
    """Says of each rule what it was told to: the first time it is asked, the second, and so on."""

    def __init__(self, *given: Reply | Sequence[Reply]) -> None:
        turns = [[one] if isinstance(one, dict) else list(one) for one in given]
        self._answers = {
            one["rule"]: [each for turn in turns for each in turn if each["rule"] == one["rule"]]
            for turn in turns
            for one in turn
        }
        self._times: dict[str, int] = {}

    def __call__(self, request: Request) -> str:
        return json.dumps({"rules": [self._next(rule) for rule in asked(request) if rule in self._answers]})

    def _next(self, rule: str) -> Reply:
        self._times[rule] = self._times.get(rule, 0) + 1
        answers = self._answers[rule]
        return answers[min(self._times[rule], len(answers)) - 1]


def asked(request: Request) -> list[str]:
    """The rules that a request asks for."""
    return fenced(request, "asked").split("\n")


def fenced(request: Request, label: str) -> str:
    text = request.messages[1].content
    start = text.index(f"<{label}-")
    end = text.index(f"</{label}-", start)
    return text[start:end].split("\n", 1)[1].rstrip("\n")


async def outcome(
    answers: Callable[[Request], Any],
    *rules: Rule,
    evidence: Evidence = NO_EVIDENCE,
    under_test: Prompt | None = None,
    heard: list[Event] | None = None,
) -> tuple[list[Proposal], FakeClient]:
    author, client = role_model(answers)
    spec = Spec(prompt="prompt.md", intent="Name a colour.", rules=rules or (RULE,))
    emit = (heard if heard is not None else []).append
    proposals = await propose_checks(author, under_test or prompt(), spec, evidence=evidence, emit=emit)
    return proposals, client
