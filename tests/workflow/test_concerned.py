"""Rules with conditions and rules that come after others, from the spec to the verdicts of a run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from promptpex.config import load
from promptpex.core.errors import SpecError
from promptpex.core.records import (
    Case,
    Check,
    InputCheck,
    Request,
    Rule,
    Run,
    Spec,
    Suite,
    VariableSpec,
    Verdict,
)
from promptpex.judging.verdict_precedence import after_broken, causes
from promptpex.llm.fake import FakeClient
from promptpex.promptfile import parse
from promptpex.report.summary import summarise
from promptpex.specs.file import in_circles, read_spec
from promptpex.tables import records
from promptpex.workflow.estimate import estimate
from promptpex.workflow.execution import run_records
from promptpex.workflow.session import open_session
from tests.tables.by_hand import verdict

PROMPT = parse("Answer {{message}} about an order that is {{status}}, as JSON.", "p.md")
OPEN = InputCheck(variable="status", kind="equals", value="open")
JSON = Rule(id="json", rule="The output is JSON.", checks=(Check(kind="is-json"),))
REPLY = Rule(
    id="reply", rule="It has a reply.", checks=(Check(kind="is-json", value={"required": ["reply"]}),), after="json"
)
CANCEL = Rule(id="cancel", rule="If the order is open, the output cancels it.", needs="input", when=(OPEN,))
POLITE = Rule(id="polite", rule="The output is polite.")
RULES = (JSON, REPLY, CANCEL, POLITE)
STATUSES = ("open", "sent", "open", "lost")


def spec_of(*rules: Rule) -> Spec:
    return Spec(
        prompt="p.md", intent="Answer.", inputs={"message": VariableSpec(), "status": VariableSpec()}, rules=rules
    )


SUITE = Suite(
    prompt="p.md",
    cases=tuple(
        Case(id=f"c{n}", rule="json", inputs={"message": f"number {n}", "status": status})
        for n, status in enumerate(STATUSES)
    ),
)


def answers(request: Request) -> str:
    """The second answer is fenced text, the others are JSON; the judge passes everything."""
    if request.model == "fake/m":
        number = request.messages[-1].content.split("number ")[1][0]
        return "Sure: all done." if number == "1" else json.dumps({"reply": f"done {number}"})
    asked = request.reply_schema["properties"] if request.reply_schema else {}
    return json.dumps({rule: {"reason": "so it is", "verdict": "pass"} for rule in asked})


def resolved(folder: Path, **settings: Any) -> Any:
    given = {"models": ["fake/m"], "judge": ["fake/j"], "store": str(folder / "s.db"), **settings}
    return load(given, start=folder, env={})


async def run(
    folder: Path, *rules: Rule, reply: Callable[[Request], str] = answers, **settings: Any
) -> tuple[Run, FakeClient]:
    client = FakeClient(reply)
    async with open_session(resolved(folder, **settings), provider=client) as session:
        begun = await run_records.begin(session, PROMPT, spec_of(*rules), SUITE)
        return await run_records.execute(session, begun), client


def counted(run: Run, rule: str) -> list[tuple[str, str | None, str]]:
    return [(v.status, v.unscored, v.source) for v in run.verdicts if v.rule == rule and v.counts]


async def test_code_decides_whom_a_rule_concerns_and_no_request_is_made_for_the_others(tmp_path: Path) -> None:
    made, client = await run(tmp_path, CANCEL)
    concerned, other = ("pass", None, "judge:fake/j"), ("not_concerned", None, "check:when")
    assert counted(made, "cancel") == [concerned, other, concerned, other]
    reasons = {v.reason for v in made.verdicts if v.status == "not_concerned"}
    assert all("the input status" in reason and "the output" not in reason for reason in reasons)
    assert sum(request.stage == "judge" for request in client.requests) == 2
    (row,) = records(summarise(made).models)
    assert (row["scored"], row["non_compliant"], row["unscored"]) == (4, 0, 0)


async def test_conditions_hold_for_checks_too_and_without_a_judge(tmp_path: Path) -> None:
    says = CANCEL.replace(checks=(Check(kind="contains", value="cancelled"),))
    made, _ = await run(tmp_path, says, POLITE, judge=["none"])
    assert [status for status, _, _ in counted(made, "cancel")] == ["fail", "not_concerned", "fail", "not_concerned"]
    nobody = await run(tmp_path, CANCEL, judge=["none"])
    assert [(v.status, v.counts) for v in nobody[0].verdicts] == [
        ("unscored", False), ("not_concerned", True), ("unscored", False), ("not_concerned", True),
    ]  # fmt: skip
    assert summarise(nobody[0]).gaps.unjudged_rules == ("cancel",)


async def test_an_answer_that_is_no_json_fails_the_rule_that_says_so_and_no_other(tmp_path: Path) -> None:
    made, _ = await run(tmp_path, JSON, REPLY, POLITE)
    assert [status for status, _, _ in counted(made, "json")] == ["pass", "fail", "pass", "pass"]
    assert counted(made, "reply")[1] == ("unscored", "after", "none")
    assert [status for status, _, _ in counted(made, "polite")] == ["pass"] * 4
    summary = summarise(made)
    rows = {row["rule"]: row for row in records(summary.rules)}
    assert (rows["reply"]["broken"], rows["reply"]["scored"], rows["reply"]["unscored"]) == (0, 3, 1)
    assert rows["reply"]["at_least"] is False
    assert summary.outputs["broken_rules"].dropna().tolist() == ["json"]


KIND = Rule(id="kind", rule="The reply is kind.", after="reply")
SHORT = Rule(
    id="short", rule="It is short.", after="json", checks=(Check(kind="contains", value="{"),), decides="partly"
)


def asked_of_judges(client: FakeClient) -> list[list[str]]:
    """The rules that each request to a judge asks about, in the order of the outputs."""
    asked = sorted((one for one in client.requests if one.stage == "judge"), key=lambda one: str(one.messages))
    return sorted(sorted((one.reply_schema or {})["properties"]) for one in asked)


async def test_no_judge_is_asked_about_a_rule_that_code_has_closed(tmp_path: Path) -> None:
    rules = (JSON, REPLY, KIND, SHORT, POLITE)
    made, client = await run(tmp_path, *rules)
    assert asked_of_judges(client) == [["kind", "polite", "short"]] * 3 + [["polite"]]
    closed = [v for v in made.verdicts if v.unscored == "after"]
    assert [(v.case, v.rule, v.source, v.counts) for v in closed] == [
        ("c1", rule, "none", True) for rule in ("reply", "kind", "short")
    ]
    assert all({v.status for v in made.verdicts if v.rule == rule.id and v.case != "c1"} == {"pass"} for rule in rules)
    assert {v.reason for v in closed} == {"json is broken, and this rule can only be looked at where that one is kept"}
    assert [v.rule for v in made.verdicts if v.case == "c1" and v.source.startswith("judge:")] == ["polite"]


async def test_where_all_rules_are_closed_no_request_is_made_for_that_output(tmp_path: Path) -> None:
    made, client = await run(tmp_path, JSON, KIND.replace(after="json"))
    assert asked_of_judges(client) == [["kind"]] * 3
    assert [unscored for _, unscored, _ in counted(made, "kind")] == [None, "after", None, None]
    everything, client = await run(tmp_path, JSON, REPLY, judge_all=True, store=str(tmp_path / "all.db"))
    assert asked_of_judges(client) == [["json"]] + [["json", "reply"]] * 3
    assert counted(everything, "reply")[1] == ("unscored", "after", "none")


async def test_several_judges_give_one_verdict_on_a_closed_rule(tmp_path: Path) -> None:
    made, _ = await run(tmp_path, JSON, KIND.replace(after="json"), judge=["fake/j", "fake/k"])
    assert [(v.unscored, v.source) for v in made.verdicts if v.case == "c1" and v.rule == "kind"] == [("after", "none")]


async def test_a_rule_that_needs_the_closing_rule_judged_is_asked_about(tmp_path: Path) -> None:
    """What a judge finds broken closes rules too, but is known only with the verdicts that it came with."""
    made, client = await run(tmp_path, POLITE, KIND.replace(after="polite"))
    assert asked_of_judges(client) == [["kind", "polite"]] * 4
    assert [status for status, _, _ in counted(made, "kind")] == ["pass"] * 4


async def test_the_whole_prompt_is_judged_whatever_code_has_closed(tmp_path: Path) -> None:
    def reply(request: Request) -> str:
        return answers(request) if request.model == "fake/m" else '{"broken": []}'

    made, client = await run(tmp_path, JSON, KIND.replace(after="json"), reply=reply, judge_mode="prompt")
    assert sum(request.stage == "judge" for request in client.requests) == 4
    assert counted(made, "kind") == []


async def test_the_estimate_leaves_out_what_stored_answers_have_closed(tmp_path: Path) -> None:
    rules = (JSON, KIND.replace(after="json"))
    await run(tmp_path, *rules, judge=["none"])
    async with open_session(resolved(tmp_path), provider=FakeClient(answers)) as session:
        lines = await estimate(session, PROMPT, spec_of(*rules), SUITE)
    assert {line.stage: line.calls for line in lines} == {"output": 0, "judge": 3}


async def test_the_estimate_counts_the_requests_that_a_run_then_makes(tmp_path: Path) -> None:
    async def lines() -> dict[str, tuple[int, int]]:
        async with open_session(resolved(tmp_path), provider=FakeClient(answers)) as session:
            return {
                line.stage: (line.calls, line.stored)
                for line in await estimate(session, PROMPT, spec_of(*RULES), SUITE)
            }

    before = await lines()
    _, client = await run(tmp_path, *RULES)
    assert before["judge"] == (sum(request.stage == "judge" for request in client.requests), 0) == (6, 0)
    assert (await lines())["judge"] == (0, 6)


async def test_replies_that_cannot_be_read_cost_no_more_than_the_estimate_says(tmp_path: Path) -> None:
    def once_more(request: Request) -> str:
        return "?" if request.stage == "judge" and len(request.messages) < 3 else answers(request)

    async with open_session(resolved(tmp_path), provider=FakeClient(answers)) as session:
        lines = await estimate(session, PROMPT, spec_of(CANCEL, POLITE), SUITE)
    _, client = await run(tmp_path, CANCEL, POLITE, reply=once_more)
    assert len(client.requests) == sum(line.calls + line.again for line in lines) == 4 + 2 * 6


async def test_equal_outputs_may_differ_on_a_rule_that_needs_the_input(tmp_path: Path) -> None:
    def reply(request: Request) -> str:
        if request.model == "fake/m":
            return "{}"
        text = "\n".join(message.content for message in request.messages)
        asked = request.reply_schema["properties"] if request.reply_schema else {}
        word = "fail" if "number 1" in text or "number 2" in text else "pass"
        return json.dumps({rule: {"reason": "", "verdict": word} for rule in asked})

    made, _ = await run(tmp_path, CANCEL.replace(when=()), POLITE, reply=reply)
    assert summarise(made).details.inconsistent_verdicts.empty
    assert [status for status, _, _ in counted(made, "cancel")] == ["pass", "fail", "fail", "pass"]


def test_one_cause_is_one_failure_also_where_a_judge_finds_it_and_along_a_chain() -> None:
    first, second, third = (Rule(id=f"r{n}", rule="x", after=f"r{n - 1}" if n > 1 else None) for n in (1, 2, 3))
    judged = [
        verdict("fail", "r1", source="judge:j"),
        verdict("fail", "r2"),
        verdict("pass", "r3"),
        verdict("fail", "r3", source="judge:j"),
        verdict("not_concerned", "r2", "c2"),
        verdict("fail", "r3", "c2"),
    ]
    settled = after_broken([first, second, third], judged)
    assert [(v.rule, v.case, v.status, v.unscored, v.source, v.counts) for v in settled] == [
        ("r1", "c1", "fail", None, "judge:j", True),
        ("r2", "c1", "unscored", "after", "none", True),
        ("r3", "c1", "unscored", "after", "none", True),
        ("r3", "c1", "fail", None, "judge:j", False),
        ("r2", "c2", "not_concerned", None, "check:x", True),
        ("r3", "c2", "fail", None, "check:x", True),
    ]
    assert all(v.reason.startswith("r1 is broken") for v in settled if v.unscored == "after")


def test_rules_in_a_circle_that_no_file_would_allow_end_all_the_same() -> None:
    circle = [Rule(id="r1", rule="x", after="r2"), Rule(id="r2", rule="x", after="r1")]
    judged: list[Verdict] = [verdict("fail", "r1"), verdict("pass", "r2")]
    assert [v.status for v in after_broken(circle, judged)] == ["fail", "unscored"]


class Counted(dict[str, str]):
    """Counts how often it is looked at."""

    looks = 0

    def get(self, key: str, default: Any = None) -> Any:
        self.looks += 1
        return super().get(key, default)


@pytest.mark.parametrize("work", [in_circles, lambda after: causes(after, {"r400"})])
def test_an_order_of_many_rules_is_gone_through_once(work: Callable[[Counted], object]) -> None:
    chain = Counted({f"r{n}": f"r{n + 1}" for n in range(400)})
    work(chain)
    assert chain.looks <= 3 * len(chain)


def test_of_a_chain_the_broken_rule_that_all_begins_from_is_the_cause() -> None:
    chain = {f"r{n}": f"r{n + 1}" for n in range(5)}
    assert causes(chain, {"r2", "r4"}) == {**dict.fromkeys(("r0", "r1", "r2", "r3"), "r4"), "r4": None, "r5": None}
    assert in_circles({"a": "b", "b": "c", "c": "b", "d": None, "e": "gone", "s": "s"}) == {"b", "c", "s"}


@pytest.mark.parametrize(("after", "message", "hint"), [
    ("r3", "the rule 'r1' comes after 'r3', which is not a rule", "name a rule of this spec"),
    ("r1", "the rule 'r1' comes after itself", "leave 'after' out"),
    ("r2", "the rule 'r1' comes after itself, by way of 'r2'", "leave 'after' out"),
])  # fmt: skip
def test_an_order_of_rules_that_cannot_be_is_named_with_its_line(
    tmp_path: Path, after: str, message: str, hint: str
) -> None:
    path = tmp_path / "p.spec.yaml"
    rules = f"  - id: r1\n    rule: One.\n    after: {after}\n  - id: r2\n    rule: Two.\n    after: r1\n"
    path.write_text(f"prompt: p.md\nrules:\n{rules}", encoding="utf-8")
    with pytest.raises(SpecError, match=message) as error:
        read_spec(path)
    assert (error.value.line, hint in str(error.value)) == (5, True)


def test_after_comes_back_from_a_file_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "p.spec.yaml"
    rules = "  - {id: r1, rule: One.}\n  - {id: r2, rule: Two., after: r1}\n"
    path.write_text(f"prompt: p.md\nrules:\n{rules}", encoding="utf-8")
    assert [rule.after for rule in read_spec(path).rules] == [None, "r1"]


def test_a_rule_right_after_itself_is_reported_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "p.spec.yaml"
    path.write_text("prompt: p.md\nrules:\n  - {id: r1, rule: One., after: r1}\n", encoding="utf-8")
    with pytest.raises(SpecError) as error:
        read_spec(path)
    assert error.value.message == "the rule 'r1' comes after itself; leave 'after' out"
