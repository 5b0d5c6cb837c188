"""Every stage that asks a model, with an author or a judge whose replies are hostile."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from fuzzing import seeds
from fuzzing.making import Maker
from promptpex.assertions.authored_checks import KINDS
from promptpex.cases.expand import expand
from promptpex.cases.expected import expected_outputs
from promptpex.cases.generate import generate
from promptpex.cases.plan import Generation, plan
from promptpex.cases.rate import rate
from promptpex.cases.validity import ValidityCheck, validity
from promptpex.core.records import (
    Case,
    Completion,
    Criterion,
    Message,
    Metric,
    ModelName,
    Output,
    Prompt,
    PromptVersion,
    Request,
    Rule,
    Spec,
    Suite,
)
from promptpex.judging import modes
from promptpex.judging.judge import Judge, Judging
from promptpex.judging.metric_judge import MetricJudge
from promptpex.judging.same_as_expected import MatchJudge
from promptpex.llm.fake import FakeClient
from promptpex.llm.model_in_role import RoleModel
from promptpex.llm.structured import Structured
from promptpex.promptfile.metric_files import SCALES
from promptpex.specs.extract import extract
from promptpex.specs.groundedness import grounded
from promptpex.specs.propose_checks import propose_checks
from promptpex.specs.propose_rules import add_inverses
from promptpex.synthesis.history.categories import categorise
from promptpex.synthesis.history.versions import deltas
from promptpex.synthesis.proposing.criteria import propose_criteria
from promptpex.synthesis.proposing.propose_candidates import exclusions_by_phrases, propose_candidates

PROMPT = Prompt(
    name="colours",
    messages=(Message(role="system", content="Name the colour in one word. {{thing}} {{count}}"),),
    variables=("thing", "count"),
    fingerprint="f",
)
SPEC = Spec.model_validate({**seeds.SPEC, "rules": seeds.SPEC["rules"][:1]})
RULE = Rule(id="r2", rule="The output is a colour.", source="a colour that nobody quotes")
JUDGED = SPEC.replace(
    rules=(
        *(RULE.replace(id=f"r{n}") for n in range(1, 6)),
        Rule(id="r6", rule="If the thing is red, the output says so.", needs="input"),
    )
)
CRITERIA = tuple(Criterion.model_validate(item) for item in seeds.CANDIDATES["criteria"])
DELTAS = deltas([PromptVersion(name="v1", messages=PROMPT.messages, fingerprint="f")])
CASE = Case(id="c1", rule="r1", inputs={"thing": "apple", "count": 2})
OUTPUT = Output(case="c1", model="m", text="RED")


def author(maker: Maker) -> RoleModel:
    """A model in a role that answers anything."""
    client = FakeClient(lambda request: _completion(maker, request))
    return RoleModel(Structured(client), ModelName(name="fake/author", label="fake/author"))


def _completion(maker: Maker, request: Request) -> Completion:
    good = fitting(maker, request.reply_schema or {})
    kind = maker.rng.random()
    if kind < 0.35:
        text = maker.json(good)
    elif kind < 0.75:
        text = maker.json(maker.changed(good))
    elif kind < 0.9:
        text = maker.mangled("Here:\n```json\n" + maker.json(good) + "\n```")
    else:
        text = maker.text()
    reason = maker.rng.choice(("stop", "stop", "stop", "stop", "length", "content_filter", maker.word()))
    return Completion(text=text.encode("utf-8", "replace").decode(), finish_reason=reason)


def fitting(maker: Maker, schema: Mapping[str, Any], depth: int = 0) -> Any:
    """A value that follows a reply's schema, with odd texts in it."""
    if "enum" in schema:
        return maker.rng.choice(list(schema["enum"]))
    if "anyOf" in schema:
        return fitting(maker, maker.rng.choice(schema["anyOf"]), depth + 1)
    kind = schema.get("type")
    if kind == "object":
        return {name: fitting(maker, part, depth + 1) for name, part in schema.get("properties", {}).items()}
    if kind == "array" and depth < 8:
        return [fitting(maker, schema.get("items", {}), depth + 1) for _ in range(_many(maker, depth))]
    plain: dict[Any, Callable[[], Any]] = {
        "integer": lambda: maker.rng.choice((0, 1, 1.0, 1.5, -1, 100, 10**30)),
        "number": lambda: maker.rng.choice((0, 0.5, 1, 2.0)),
        "boolean": lambda: maker.rng.random() < 0.5,
        "null": lambda: None,
    }
    return plain[kind]() if kind in plain else maker.text() or "a"


def _many(maker: Maker, depth: int) -> int:
    """How many items a list of a reply gets: seldom far more than were asked for."""
    return 300 if depth < 2 and maker.rng.random() < 0.02 else maker.rng.randrange(1, 4)


async def _extract(maker: Maker) -> object:
    return await extract(author(maker), PROMPT, spec_for="prompt.md")


async def _inverses(maker: Maker) -> object:
    return await add_inverses(author(maker), "Name a colour.", [RULE])


async def _checks(maker: Maker) -> object:
    """Most replies name the rules and kinds that there are, so that what they propose is tried."""

    def completion(request: Request) -> Completion:
        if maker.rng.random() < 0.3:
            return _completion(maker, request)
        reply = fitting(maker, request.reply_schema or {})
        for proposed in reply["rules"]:
            proposed["rule"] = maker.rng.choice(("r2", "r3"))
            for check in [*proposed["checks"], *proposed.get("when", ())]:
                check["kind"] = maker.rng.choice(("", "not-")) + maker.rng.choice(sorted(KINDS))
                check["path"] = maker.rng.choice(("", "", "a.b[]", maker.word()))
        return Completion(text=json.dumps(reply).encode("utf-8", "replace").decode(), finish_reason="stop")

    voice = RoleModel(Structured(FakeClient(completion)), ModelName(name="fake/author", label="fake/author"))
    rules = (RULE, RULE.replace(id="r3", needs="input"))
    return await propose_checks(voice, PROMPT, SPEC.replace(rules=rules))


async def _grounded(maker: Maker) -> object:
    return await grounded(author(maker), PROMPT, [RULE])


async def _cases(maker: Maker) -> object:
    options = Generation(per_rule=1, per_inverse=1)
    todo = plan(PROMPT, SPEC, Suite(prompt="prompt.md"), options=options)
    return await generate(author(maker), PROMPT, SPEC, todo, suite_for="prompt.md", options=options)


async def _expanded(maker: Maker) -> object:
    case = CASE.replace(origin="generated", inputs_fingerprint="x")
    return await expand(author(maker), PROMPT, SPEC, Suite(prompt="prompt.md", cases=(case,)))


async def _valid(maker: Maker) -> object:
    return await validity([CASE], ValidityCheck(PROMPT, SPEC, author(maker)))


async def _rated(maker: Maker) -> object:
    case = CASE.replace(origin="generated")
    return await rate(author(maker), PROMPT, SPEC, Suite(prompt="prompt.md", cases=(case,)))


async def _expected(maker: Maker) -> object:
    async def answer(case: Case, attempt: int) -> Output:
        return OUTPUT.replace(text=maker.text())

    return await expected_outputs([CASE], answer, [author(maker), author(maker)], prompt=PROMPT, spec=SPEC)


async def _judged(maker: Maker) -> object:
    mode = maker.rng.choice(modes.names())
    confidence, sees_input = (maker.rng.random() < share for share in (0.3, 0.5))
    options = Judging(mode=mode, all_rules=True, confidence=confidence, sees_input=sees_input)
    return await Judge(author(maker), PROMPT, JUDGED, options).judge(OUTPUT.replace(text=maker.text()), CASE.inputs)


async def _matched(maker: Maker) -> object:
    return await MatchJudge(author(maker), "Name a colour.").compare(OUTPUT, CASE.inputs, [maker.text()])


async def _scored(maker: Maker) -> object:
    criteria = PROMPT.replace(messages=(Message(role="system", content="Is it a colour? {{output}}"),))
    metric = Metric(name="tone", scale=maker.rng.choice(SCALES), criteria=criteria)
    return await MetricJudge(author(maker), metric).score(OUTPUT, maker.text())


async def _categorised(maker: Maker) -> object:
    return await categorise(author(maker), PROMPT, DELTAS)


async def _criteria(maker: Maker) -> object:
    return await propose_criteria(author(maker), PROMPT, DELTAS, known=CRITERIA[:1])


async def _candidates(maker: Maker) -> object:
    """Most replies name the criteria and kinds that there are, so that what they propose is compiled."""

    def completion(request: Request) -> Completion:
        if maker.rng.random() < 0.3:
            return _completion(maker, request)
        reply = fitting(maker, request.reply_schema or {})
        for proposed in reply["items"]:
            proposed["criteria"] = [maker.rng.choice(("c1", "c2"))]
            proposed["kind"] = maker.rng.choice((*sorted(KINDS), "not-regex", "python", "question"))
            proposed["path"] = maker.rng.choice(("", "", "a.b[]", maker.word()))
        return Completion(text=json.dumps(reply).encode("utf-8", "replace").decode(), finish_reason="stop")

    voice = RoleModel(Structured(FakeClient(completion)), ModelName(name="fake/author", label="fake/author"))
    made = await propose_candidates(voice, PROMPT, CRITERIA)
    return made, exclusions_by_phrases(CRITERIA, made.candidates)


STAGES: Mapping[str, Callable[[Maker], Awaitable[object]]] = {
    "extract": _extract, "inverse": _inverses, "checks": _checks, "groundedness": _grounded, "cases": _cases,
    "expand": _expanded, "validity": _valid, "rate": _rated, "expected": _expected,
    "judge": _judged, "match": _matched, "metric": _scored, "categories": _categorised, "criteria": _criteria,
    "candidates": _candidates,
}  # fmt: skip


def stage_reader(name: str) -> Callable[[Maker, Path], object]:
    """The stage as a reader of replies."""

    def read(maker: Maker, folder: Path) -> object:
        async def work() -> object:
            return await STAGES[name](maker)

        return asyncio.run(work())

    return read
