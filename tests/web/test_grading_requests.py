"""What the grading page asks of the server, without a browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from promptpex.documents.human_grades import read_grades
from promptpex.grading.book import WHOLE, Subject
from tests.web.grading_pool import RULES, SECRET, desk_of, ports_of, texts
from tests.web.serving import served


async def ask(session: aiohttp.ClientSession, what: str, status: int = 200, **sent: Any) -> dict[str, Any]:
    """What the server answers."""
    async with session.post(f"/grade/{what}", json=sent) as response:
        answer = await response.text()
        assert response.status == status, answer
        data = json.loads(answer)
        assert isinstance(data, dict)
        return data


def grade(item: str, **changed: Any) -> dict[str, Any]:
    """A grade as the page sends it."""
    return {
        "grader": "ada",
        "item": item,
        "subject": "output",
        "wording": None,
        "value": "bad",
        **changed,
    }


async def test_a_grade_is_on_disk_before_the_answer(tmp_path: Path) -> None:
    path = tmp_path / "pos.grades.jsonl"
    desk = desk_of(path, texts(3))
    with served(ports_of(desk)) as server:
        async with server.session() as session:
            given = (await ask(session, "next", grader="ada", policy="random"))["item"]
            chosen = {"policy": given["policy"], "probability": given["probability"]}
            sent = [grade(given["id"], note="why", **chosen), grade(given["id"], value="good")]
            assert await ask(session, "give", grades=sent) == {"results": [{}, {}]}
            first, second = read_grades(path)
    assert (first.value, first.note, first.policy) == ("bad", "why", "random")
    assert first.probability == pytest.approx(1 / 3)
    assert (second.value, second.replaces) == ("good", first.id)


async def test_what_cannot_be_taken_is_said_and_the_rest_is_written(tmp_path: Path) -> None:
    path = tmp_path / "pos.grades.jsonl"
    desk = desk_of(path, texts(2))
    item = desk.pool[0].id
    with served(ports_of(desk)) as server:
        async with server.session() as session:
            sent = [
                grade("0" * 32),
                grade(item, subject="r9"),
                grade(item, subject="r1", wording="0" * 32),
                grade(item, value="great"),
                grade(item, grader=""),
                grade(item, surprise=1),
                "no grade",
                grade(item),
            ]
            results = (await ask(session, "give", grades=sent))["results"]
            problems = [result.get("problem", "") for result in results]
            expected = (
                "not among those",
                "no rule or criterion",
                "reworded",
                "good",
                "grader",
                "surprise",
                "",
            )
            assert all(part in problem for part, problem in zip(expected, problems, strict=False)), problems
            assert (all(problems[:-1]), problems[-1]) == (True, "")
            assert "list" in (await ask(session, "give", 422, grades="all"))["error"]
    assert [one.subject for one in read_grades(path)] == ["output"]


async def test_a_file_that_cannot_be_written_is_the_servers_trouble(tmp_path: Path) -> None:
    path = tmp_path / "pos.grades.jsonl"
    desk = desk_of(path, texts(1))
    path.mkdir()
    with served(ports_of(desk)) as server:
        async with server.session() as session:
            answer = await ask(session, "give", 503, grades=[grade(desk.pool[0].id)])
    assert "pos.grades.jsonl" in answer["error"]


async def test_nothing_that_machines_or_others_say_is_sent_before_the_grade(tmp_path: Path) -> None:
    path = tmp_path / "pos.grades.jsonl"
    desk = desk_of(path, texts(2))
    item = desk.pool[0].id
    desk.give("bob", item, "output", "bad", "bob's secret")
    with served(ports_of(desk)) as server:
        async with server.session() as session:
            before = [
                await ask(session, "state", grader="ada"),
                await ask(session, "next", grader="ada", policy="random"),
                await ask(session, "item", grader="ada", item=item),
                await ask(session, "opinions", 422, grader="ada", item=item),
            ]
            assert "secret" not in json.dumps(before)
            assert (before[1]["item"]["model_name"], "model" in before[1]["item"]) == ("", False)
            assert SECRET not in json.dumps(before)
            chosen = (await ask(session, "next", grader="ada", policy="highest"))["item"]
            assert (chosen["policy"] != "", chosen["policy_name"]) == (True, "")
            await ask(session, "give", grades=[grade(item, value="good")])
            opinions = (await ask(session, "opinions", grader="ada", item=item))["opinions"]
    assert [(one["who"], one["subject"], one["status"]) for one in opinions] == [
        ("bob", "output", "fail"),
        *(("judge j", rule.id, "fail") for rule in RULES[1:]),
    ]
    assert (opinions[0]["reason"], opinions[1]["reason"]) == ("bob's secret", SECRET)


async def test_grades_of_other_programs_appear_and_old_words_are_marked(tmp_path: Path) -> None:
    path = tmp_path / "pos.grades.jsonl"
    older = desk_of(path, texts(2), (WHOLE, Subject("r1", "The output is short.", "output")))
    item = older.pool[0].id
    desk = desk_of(path, texts(2))
    with served(ports_of(desk)) as server:
        async with server.session() as session:
            older.give("ada", item, "r1", "bad", "too long")
            older.give("bob", item, "output", "good")
            view = (await ask(session, "item", grader="ada", item=item))["item"]
            state = await ask(session, "state", grader="ada")
            progress = (await ask(session, "progress", grader="ada"))["progress"]
    assert view["grades"] == {}
    assert {name: (one["value"], one["note"]) for name, one in view["stale"].items()} == {"r1": ("bad", "too long")}
    assert (state["graders"], state["trail"]) == (["ada", "bob"], [item])
    sentences = " ".join(progress["sentences"])
    assert "1 of 2 outputs graded by anybody: 1 good" in sentences
    assert "1 output has a grade under an older wording" in sentences


async def test_progress_says_how_far_grading_is(tmp_path: Path) -> None:
    desk = desk_of(tmp_path / "pos.grades.jsonl", texts(60))
    with served(ports_of(desk)) as server:
        async with server.session() as session:
            for number in range(12):
                item = (await ask(session, "next", grader="ada", policy="random"))["item"]
                chosen = {"policy": item["policy"], "probability": item["probability"]}
                given = [
                    grade(
                        item["id"],
                        value="bad" if number % 3 else "good",
                        **chosen,
                    )
                ]
                await ask(session, "give", grades=given)
            progress = (await ask(session, "progress", grader="ada"))["progress"]
            item = (await ask(session, "next", grader="ada", policy="random"))["item"]
            await ask(session, "give", grades=[grade(item["id"], subject="r1", wording=RULES[1].digest, value="good")])
            begun = (await ask(session, "progress", grader="ada"))["progress"]
    assert (progress["mine"], progress["begun"]) == (12, 0)
    assert (begun["mine"], begun["begun"]) == (12, 1)
    assert "12 of 60 outputs graded by anybody: 4 good, 8 bad, 0 unsure." in progress["sentences"]
    assert "Chosen: random 12." in progress["sentences"]
    assert "The random sample is 12 outputs: estimates for all 60 are made from it." in progress["sentences"]
    assert progress["finish"][0] == "The grades come to 4 good and 8 bad outputs."
    measured = "Judges are measured on the random sample alone. So far it has: r1 0, r2 0, r3 0."
    waiting = "8 bad outputs are still to be graded on r1: go back, or run `promptpex grade --on r1`."
    assert waiting in progress["finish"]
    assert measured in progress["finish"], "the whole outputs that are bad say nothing of a single rule"
