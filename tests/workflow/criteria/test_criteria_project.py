"""Criteria and candidates while people grade: real files, and an author and a judge who answer as told."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from promptpex.core.errors import ConfigError, NotAuthorised, SynthesisError
from promptpex.core.records import Request
from promptpex.specs.file import read_spec
from tests.samples import asked
from tests.workflow.criteria.criteria_bench import CAPITALS, HANGS_S, Bench, candidate, criterion, proposed

TEXT = "The colour is written in capitals."


def test_candidates_are_made_run_and_culled_with_their_reasons(bench: Bench) -> None:
    bench.replies["candidates"] = CAPITALS
    assert bench.project.add(TEXT, "Capitals") == "capitals is a criterion now."
    bench.grade_capitals(24, text=TEXT)
    assert bench.project.make() == "The author is asked for candidates for 1 criterion."
    board = bench.settled()
    shown = criterion(board, "capitals")
    assert {one.id: one.state for one in shown.candidates} == {
        "all_capitals": "kept",
        "shouts": "culled",
        "breaks": "culled",
    }
    assert candidate(board, "shouts").why == "shouts passes and fails the same examples as all_capitals"
    assert candidate(board, "breaks").why.startswith("breaks errs on all 24 examples: script-error")
    assert "does not compile" in shown.refused["wrong"]
    assert (board.made, board.culled, board.tried, board.to_try) == (3, 2, 72, 0)
    good = candidate(board, "all_capitals")
    measured = [one for one in bench.pool if not one.is_shown]
    assert (good.good + good.bad, good.caught, good.flagged) == (len(measured), good.bad, 0)
    assert shown.verdict == "1 of 1 candidate agrees with people so far."
    assert board.spent.startswith("2 requests")
    assert board.work[0].sentence.startswith("3 new candidates, 1 refused; the author saw ")


def test_the_page_says_that_there_is_work_until_others_know_what_came_of_it(bench: Bench) -> None:
    at_work: list[bool] = []
    bench.when_told = lambda: at_work.append(bench.project.board().is_working)
    bench.project.add(TEXT, "Capitals")
    bench.project.add_candidate("capitals", "yaml", "kind: regex\nvalue: '^[A-Z]+$'")
    assert bench.settled().to_try == 0
    by_now = len(at_work)
    bench.project.keep_candidate("checks_capitals")
    bench.settled()
    after_the_edit = at_work[by_now + 1 :]
    assert set(after_the_edit) == {True}


def test_the_author_sees_grades_of_the_part_that_never_measures(bench: Bench) -> None:
    bench.replies["candidates"] = CAPITALS[:1]
    bench.project.add(TEXT, "Capitals")
    bench.grade_capitals(24, text=TEXT)
    bench.project.make("capitals", "less strict")
    bench.settled()
    text = asked(bench.asked("candidates")[0])
    assert "less strict" in text
    shown = [one for one in bench.pool if one.is_shown]
    assert any(f"not in capitals: {one.output}" in text for one in shown)
    for one in bench.pool:
        assert one.is_shown or f"{one.inputs['thing']}\n" not in text


def test_nothing_is_lost_when_the_server_dies_and_nothing_is_paid_twice(bench: Bench) -> None:
    bench.replies["candidates"] = CAPITALS
    bench.project.add(TEXT, "Capitals")
    bench.project.make()
    before = bench.settled()
    again = bench.opened()
    try:
        board = again.board()
        assert [one.id for one in criterion(board, "capitals").candidates] == ["all_capitals", "shouts", "breaks"]
        assert (board.tried, criterion(board, "capitals").refused) == (72, criterion(before, "capitals").refused)
        assert again.make() == "Candidates have been requested for every criterion; ask for more at the criterion."
    finally:
        again.close()
    assert len(bench.asked("candidates")) == 2


def test_a_criterion_is_made_of_a_note_at_once_and_reworded(bench: Bench) -> None:
    grade = bench.grade(bench.pool[2], "bad", "why  not in\ncapitals?!")
    assert bench.project.board().noted == 1
    sentence = bench.note(grade)
    (made,) = bench.on_file().criteria
    assert (made.text, made.origin, made.notes) == ("why not in capitals?!", "added", (grade.id,))
    assert sentence.startswith(f"{made.id} is a criterion now")
    assert bench.note(grade) == f"{made.id} was made from this note."
    assert bench.project.board().noted == 0
    with pytest.raises(SynthesisError, match="write the criterion"):
        bench.project.reword(made.id, " ")
    bench.project.reword(made.id, TEXT)
    (shown,) = bench.project.board().criteria
    assert (shown.text, shown.comes_from, shown.notes) == (TEXT, "from 1 note", ("why  not in\ncapitals?!",))
    with pytest.raises(SynthesisError, match="no note"):
        bench.note(bench.grade(bench.pool[0], "good"))


def test_criteria_come_from_the_prompt_and_from_the_first_grades(bench: Bench) -> None:
    told_from = {"told_from": "output", "type": "code"}
    bench.replies["infer"] = [{"title": "capitals", "criterion": TEXT, **told_from}]
    bench.replies["notes"] = [{"title": "a colour", "criterion": "It is a colour.", "answers": ["b1"], **told_from}]
    bench.project.infer()
    board = bench.settled()
    assert (board.criteria[0].by, board.criteria[0].comes_from) == ("code", "inferred from the prompt")
    for item in bench.pool[:5]:
        bench.grade(
            item, "bad" if item.output == "a stone" else "good", "no colour" if item.output == "a stone" else ""
        )
    bench.project.from_notes()
    board = bench.settled()
    assert [(one.id, one.comes_from) for one in board.criteria[1:]] == [("a_colour", "from 1 note")]
    assert bench.told >= 2


def test_an_author_that_gives_nothing_is_named_and_breaks_nothing(bench: Bench) -> None:
    bench.replies = dict.fromkeys(("infer", "candidates"), "Sure! Here you are.")
    bench.project.add(TEXT, "Capitals")
    bench.project.infer()
    bench.project.make()
    board = bench.settled()
    sentences = " ".join(one.sentence for one in board.work)
    assert "openai/author gave nothing usable for infer" in sentences
    assert "openai/author gave nothing usable for candidates" in sentences
    assert criterion(board, "capitals").verdict.startswith("The author gave no candidate that can be used.")
    bench.replies["candidates"] = CAPITALS[2:]
    bench.project.make()
    board = bench.settled()
    assert criterion(board, "capitals").verdict.startswith("Each of its candidates errs on every output.")
    bench.replies["candidates"] = []
    bench.project.add("It is kind.", "Kind")
    bench.project.make()
    shown = criterion(bench.settled(), "kind")
    assert shown.is_lacking
    assert shown.verdict.startswith("The author gave no candidate that can be used. Ask for others, write one, keep")


def test_candidates_are_made_again_as_grades_come_and_no_oftener_than_is_said(bench: Bench) -> None:
    bench.replies["candidates"] = lambda request: [
        proposed(
            f"guess_{len(bench.asked('candidates'))}", "regex", f"x{{{len(bench.asked('candidates'))}}}", "capitals"
        )
    ]
    bench.project.add(TEXT, "Capitals")
    bench.project.renew(True)
    bench.until(lambda board: board.made == 1 and not board.is_working)
    shown = [one for one in bench.pool if one.is_shown]
    assert len(shown) >= 4
    for rounds, item in enumerate(shown[:4], start=1):
        bench.grade(item, "good", subject="capitals", text=TEXT)
        wanted = 1 + (rounds >= 2) + (rounds >= 4)
        bench.until(lambda board, wanted=wanted: board.made == wanted and not board.is_working)  # type: ignore[misc]
    bench.project.stop()
    assert not bench.project.board().renewing
    assert len(bench.asked("candidates")) == 3


def test_a_candidate_that_agrees_is_enough(bench: Bench) -> None:
    bench.replies["candidates"] = CAPITALS[:1]
    bench.project.add(TEXT, "Capitals")
    bench.project.renew(True)
    bench.until(lambda board: board.made == 1 and not board.is_working)
    bench.grade_capitals(24, text=TEXT)
    bench.until(lambda board: board.criteria[0].good > 0 and not board.is_working)
    assert bench.project._due(bench.project._sources()) == []


def test_people_write_candidates_edit_them_and_choose(bench: Bench) -> None:
    bench.project.add(TEXT, "Capitals")
    with pytest.raises(Exception, match="kind 'quiz'"):
        bench.project.add_candidate("capitals", "yaml", "kind: quiz")
    with pytest.raises(Exception, match="nothing was written"):
        bench.project.add_candidate("capitals", "question", " ")
    code = "def is_large(example, prompt, response):\n    return response.isupper()"
    assert bench.project.add_candidate("capitals", "python", code) == "is_large is a candidate now."
    bench.project.add_candidate("capitals", "yaml", "kind: regex\nvalue: '^[A-Z]+$'")
    board = bench.settled()
    large = candidate(board, "is_large")
    assert (large.yours, large.passes, large.fails, large.form) == (True, 12, 12, "python")
    bench.project.edit_candidate("is_large", "python", "def is_large(example, prompt, response):\n    return True")
    board = bench.until(lambda board: candidate(board, "is_large").passes == 24)
    assert candidate(board, "is_large").why == "is_large passes all 24 examples"
    bench.project.choose("is_large", "never")
    assert bench.on_file().candidates[0].choice == "never"
    bench.project.delete_candidate("is_large")
    assert [one.id for one in bench.on_file().candidates] == ["checks_capitals"]


def test_rewording_makes_grades_and_candidates_stale_until_somebody_says_they_fit(bench: Bench) -> None:
    bench.replies["candidates"] = CAPITALS[:1]
    bench.project.add(TEXT, "Capitals")
    bench.grade_capitals(8, text=TEXT)
    bench.project.make()
    bench.settled()
    bench.project.reword("capitals", "All letters are capitals.")
    board = bench.settled()
    shown = criterion(board, "capitals")
    assert (shown.stale, shown.good, shown.bad) == (8, 0, 0)
    assert shown.candidates[0].outdated
    assert shown.verdict.startswith("Its candidates were written for another wording.")
    assert bench.project.make() == "The author is asked for candidates for 1 criterion."
    bench.settled()
    bench.project.keep_candidate("all_capitals")
    assert not candidate(bench.project.board(), "all_capitals").outdated


def test_criteria_are_set_aside_and_deleted_and_their_candidates_follow(bench: Bench) -> None:
    for title in ("one", "two", "three"):
        bench.project.add(f"It is {title}.", title)
        bench.project.add_candidate(title, "yaml", f"kind: contains\nvalue: {title}")
    bench.grade(bench.pool[0], "bad", subject="two", text="It is two.")
    bench.project.delete("two")
    board = bench.settled()
    assert [one.id for one in board.criteria] == ["one", "three"]
    assert board.notices == ("1 grade on removed rules or criteria (two) not counted",)
    bench.project.settle("three", "both", False, None, False)
    board = bench.settled()
    assert criterion(board, "three").verdict.startswith("Set aside")
    assert criterion(board, "three").candidates[0].state == "aside"
    bench.project.delete("three")
    synthesis = bench.on_file()
    assert ([one.id for one in synthesis.criteria], len(synthesis.candidates)) == (["one"], 1)


def test_without_an_author_nothing_is_begun_and_people_write(tmp_path: Path) -> None:
    bench = Bench(tmp_path, author="none")
    bench.project.add(TEXT, "Capitals")
    asking: tuple[Callable[[], str], ...] = (
        bench.project.infer,
        bench.project.from_notes,
        bench.project.make,
        lambda: bench.project.renew(True),
    )
    for ask in asking:
        with pytest.raises(ConfigError, match="an author is needed here, but it is set to none"):
            ask()
    bench.project.add_candidate("capitals", "yaml", "kind: regex\nvalue: '^[A-Z]+$'")
    board = bench.settled()
    assert (board.work, board.renewing, board.tried, bench.client.requests) == ((), False, 24, [])
    bench.project.close()


def test_servers_on_the_same_prompt_lose_none_of_each_others_changes(bench: Bench) -> None:
    other = bench.opened()
    try:
        pages = [bench.project, other]

        def write(number: int) -> None:
            for step in range(6):
                pages[number].add(f"It is {number} {step}.", f"c {number} {step}")

        threads = [threading.Thread(target=write, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        other.close()
    assert {one.id for one in bench.on_file().criteria} == {f"c_{a}_{b}" for a in range(2) for b in range(6)}


def test_comments_and_what_people_wrote_by_hand_survive(bench: Bench) -> None:
    bench.project.add(TEXT, "Capitals")
    text = bench.file.read_text(encoding="utf-8").replace("criteria:", "criteria:  # mine\n  # the first one", 1)
    bench.file.write_text(text, encoding="utf-8")
    bench.replies["candidates"] = CAPITALS[:1]
    bench.project.make()
    bench.settled()
    bench.project.reword("capitals", "All letters are capitals.")
    after = bench.file.read_text(encoding="utf-8")
    assert "# mine" in after
    assert "# the first one" in after
    assert "origin: added" in after


def test_a_file_that_is_broken_meanwhile_is_named_and_left_alone(bench: Bench) -> None:
    bench.project.add(TEXT, "Capitals")
    bench.settled()
    bench.file.write_text("criteria: [", encoding="utf-8")
    assert "candidates.yaml:1" in bench.project.board().trouble
    with pytest.raises(SynthesisError, match="valid YAML"):
        bench.project.add("It is kind.")
    assert bench.file.read_text(encoding="utf-8") == "criteria: ["


def test_rules_of_the_spec_are_criteria_and_are_reworded_there_too(ruled: Bench) -> None:
    shown = criterion(ruled.project.board(), "c1")
    assert (shown.comes_from, [one.form for one in shown.candidates]) == ("rule r1 of the spec", ["yaml"])
    assert not ruled.file.exists(), "looking writes no criteria"
    sentence = ruled.project.reword("c1", "The output is a single word.")
    assert "and so is the rule r1 of the spec." in sentence
    (rule,) = read_spec(ruled.path / "colours.spec.yaml").rules
    assert (rule.rule, rule.origin, len(rule.checks)) == ("The output is a single word.", rule.origin, 1)
    board = ruled.settled()
    assert criterion(board, "c1").candidates[0].outdated
    ruled.project.delete("c1")
    assert ruled.settled().criteria == (), "what a person deleted stays away"
    assert ruled.project.add("It is kind.", "r1") == "r1_2 is a criterion now."


def test_questions_wait_for_a_word_and_then_go_to_the_judge(bench: Bench) -> None:
    bench.replies["question"] = lambda request: json.dumps(
        {"reason": "Look.", "answer": "no" if "a stone" in asked(request) else "yes"}
    )
    bench.project.add("It is a colour.", "Colour")
    bench.project.add_candidate("colour", "question", "Is it a colour?")
    board = bench.settled()
    assert (board.to_ask, bench.asked("question")) == (24, [])
    bench.project.ask_judge()
    board = bench.settled()
    assert (candidate(board, "is_it_a_colour").passes, candidate(board, "is_it_a_colour").fails) == (21, 3)
    assert board.to_ask == 0
    bench.project.settle("colour", "code", True, None, False)
    assert candidate(bench.settled(), "is_it_a_colour").why == "the criterion is to be decided by code alone"


def test_stopping_sends_nothing_more_and_keeps_what_is_on_its_way(bench: Bench) -> None:
    at_work, go_on = asyncio.Event(), asyncio.Event()

    async def slowly(request: Request) -> str:
        at_work.set()
        await go_on.wait()
        names = [name for name in (f"c_{number}" for number in range(8)) if f"<{name}-" in asked(request)]
        return json.dumps({"items": [proposed(f"has_{names[0]}", "contains", names[0], names[0])]})

    bench.client._reply = slowly
    for number in range(8):
        bench.project.add(f"It is {number}.", f"c {number}")
    bench.project.make()
    bench.until(lambda board: at_work.is_set() and len(bench.asked("candidates")) == 3)
    assert bench.project.stop() == "Stopped; 5 requests not sent. What is on its way still comes in."
    bench.project._background._loop.call_soon_threadsafe(go_on.set)
    board = bench.settled()
    assert (board.made, len(bench.asked("candidates"))) == (3, 3)
    assert len(bench.on_file().candidates) == 3


def test_closing_in_the_middle_keeps_what_is_there_and_the_next_start_goes_on(bench: Bench) -> None:
    begun = threading.Event()

    def slowly(request: Request) -> str:
        begun.set()
        return json.dumps({"reason": "Look.", "answer": "yes"})

    bench.replies["question"] = slowly
    bench.project.add(TEXT, "Capitals")
    bench.project.add_candidate("capitals", "question", "Is it in capitals?")
    bench.project.ask_judge()
    assert begun.wait(HANGS_S)
    bench.project.close()
    asked_before = len(bench.asked("question"))
    bench.project = bench.opened()
    bench.project.ask_judge()
    board = bench.settled()
    assert candidate(board, "is_it_in_capitals").passes == 24
    assert len(bench.asked("question")) == 24 >= asked_before, "no answer is paid for twice"


def test_a_budget_that_is_spent_ends_it_in_a_sentence(tmp_path: Path) -> None:
    bench = Bench(tmp_path, max_requests=2)
    try:
        bench.replies["candidates"] = lambda request: CAPITALS[:1]
        for number in range(6):
            bench.project.add(f"It is {number}.", f"c {number}")
        bench.project.renew(True)
        bench.project.make()
        board = bench.settled()
        assert len(bench.asked("candidates")) == 2
        assert any(one.state == "failed" and "budget of 2 requests" in one.sentence for one in board.work)
        assert not board.renewing
    finally:
        bench.project.close()


def test_an_author_that_cannot_be_asked_is_said_once_and_the_rest_works(bench: Bench) -> None:
    bench.replies["candidates"] = lambda request: NotAuthorised("openai/author: no key", model="openai/author")
    bench.project.add(TEXT, "Capitals")
    bench.project.make()
    board = bench.settled()
    assert [(one.state, "no key" in one.sentence) for one in board.work] == [("failed", True)]
    bench.project.add_candidate("capitals", "yaml", "kind: contains\nvalue: R")
    assert candidate(bench.until(lambda board: not board.to_try), "checks_capitals").fails > 0


def test_the_price_is_said_before_anything_is_asked(bench: Bench) -> None:
    bench.project.add(TEXT, "Capitals")
    board = bench.until(lambda board: bool(board.price))
    assert board.price.startswith("about 1 request")
    assert "openai/author" in board.price
    assert bench.client.requests == []


HOSTILE: tuple[Any, ...] = (
    "</script><img src=x onerror=alert(1)>",
    "{{ 7 * 7 }} {% raw %}",
    "\u202eevil\u202c \x00\x1b[31m",
    "- key: [value, 'x",
    "# not a comment",
    "日本語 العربية 😀",
    "a" * 900,
)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_stay_texts(bench: Bench, text: str) -> None:
    bench.project.add(text)
    (made,) = bench.on_file().criteria
    assert made.text == " ".join(text.split())
    bench.project.add_candidate(made.id, "question", text if "{" not in text else "Is it?")
    bench.replies["candidates"] = [proposed(text, "contains", text.replace("{", ""), made.id)]
    bench.project.make()
    board = bench.settled()
    assert len(board.criteria[0].candidates) == 2
    assert json.loads(board.model_dump_json())["criteria"][0]["text"] == made.text
