"""A spec is brought up to date: what is marked, what comes back, what is asked, and what is said of it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from promptpex.config import load
from promptpex.core.events import Event, Notice
from promptpex.llm.fake import FakeClient
from promptpex.specs.file import read_spec, write_spec
from promptpex.workflow.authoring import extract, generate, planned, update
from promptpex.workflow.generating import Wishes
from promptpex.workflow.project_files import Files, files_of
from promptpex.workflow.session import open_session
from tests.e2e.scripted_author import Author

ONE, SMALL, STOP = "Reply in one word.", "Use small letters only.", "End with a full stop."
RULES = {ONE: "The output is one word.", SMALL: "It is in small letters.", STOP: "It ends with a full stop."}
AGAIN = {**RULES, "Reply in one single word.": RULES[ONE]}


def folder(tmp_path: Path, *sentences: str, front: str = "") -> Files:
    body = f"{front}Label the mood of a review. {' '.join(sentences)}\n\n{{{{review}}}}\n"
    (tmp_path / "prompt.md").write_text(body, encoding="utf-8")
    return files_of(tmp_path / "prompt.md")


async def do(job: Any, files: Files, author: FakeClient, events: list[Event] | None = None, /, **flags: Any) -> Any:
    given = {"author": "openai/author", "store": str(files.prompt.parent / "store.db"), "checks": False, **flags}
    resolved = load({name: value for name, value in given.items() if value is not None}, start=Path("/"), env={})
    async with open_session(resolved, provider=author, emit=(events if events is not None else []).append) as session:
        done = job(session, files)
        return await done if hasattr(done, "__await__") else done


async def test_words_that_change_and_promise_the_same_keep_their_rule_and_its_cases(tmp_path: Path) -> None:
    author = Author(AGAIN).client()
    await do(extract, folder(tmp_path, ONE, SMALL), author)
    await do(generate, files_of(tmp_path / "prompt.md"), author)
    files = folder(tmp_path, "Reply in one single word.", SMALL)
    done = await do(update, files, author)
    assert (done.added, done.stale, done.back) == ((), (), ())
    assert [(rule.id, rule.source, rule.stale) for rule in done.spec.rules] == [
        ("r1", "Reply in one single word.", False),
        ("r2", SMALL, False),
    ]
    plan, _ = await do(planned, files, author)
    assert plan.missing == 0
    assert not plan.retire


async def test_what_goes_is_marked_and_comes_back_under_its_id(tmp_path: Path) -> None:
    author = Author(RULES).client()
    await do(extract, folder(tmp_path, ONE, SMALL), author)
    done = await do(update, folder(tmp_path, ONE), author)
    assert done.stale == ("r2",)
    made = await do(generate, files_of(tmp_path / "prompt.md"), author)
    assert {case.rule for case in made.suite.cases} == {"r1"}
    done = await do(update, folder(tmp_path, ONE, STOP), author)
    assert (done.added, done.back) == (("r3",), ())
    done = await do(update, folder(tmp_path, ONE, SMALL, STOP), author)
    assert (done.back, done.added) == (("r2",), ())
    assert [rule.stale for rule in read_spec(tmp_path / "prompt.spec.yaml").rules] == [False, False, False]


async def test_an_unchanged_prompt_asks_nobody(tmp_path: Path) -> None:
    author = Author(RULES).client()
    files = folder(tmp_path, ONE)
    await do(extract, files, author)
    asked, before = len(author.requests), files.spec.read_bytes()
    events: list[Event] = []
    await do(update, files, author, events)
    assert len(author.requests) == asked
    assert files.spec.read_bytes() == before
    assert any(isinstance(event, Notice) and "was not asked" in event.message for event in events)


async def test_a_rule_that_a_person_struck_out_is_not_proposed_again(tmp_path: Path) -> None:
    author = Author(RULES).client()
    files = folder(tmp_path, ONE, SMALL)
    await do(extract, files, author)
    spec = read_spec(files.spec)
    struck = tuple(rule.replace(stale=True, origin="edited") if rule.id == "r2" else rule for rule in spec.rules)
    write_spec(files.spec, spec.replace(rules=struck), by_hand=True)
    done = await do(update, folder(tmp_path, ONE, SMALL, STOP), author)
    assert done.added == ("r3",)
    assert next(rule for rule in done.spec.rules if rule.id == "r2").stale


async def test_a_new_variable_gets_its_spec_and_its_cases(tmp_path: Path) -> None:
    author = Author(RULES).client()
    files = folder(tmp_path, ONE)
    await do(extract, files, author)
    await do(generate, files, author)
    text = files.prompt.read_text(encoding="utf-8")
    files.prompt.write_text(text + "Language: {{language}}\n", encoding="utf-8")
    done = await do(update, files, author)
    assert list(done.spec.inputs) == ["review", "language"]
    made = await do(partial(generate, wishes=Wishes(replace=True)), files, author)
    assert all(set(case.inputs) == {"review", "language"} for case in made.suite.cases)
    assert len(made.plan.retire) == 3


@pytest.mark.parametrize("where", ["flag", "front matter"])
async def test_an_effort_says_what_it_means_before_anything_is_asked(tmp_path: Path, where: str) -> None:
    author = Author(RULES).client()
    files = folder(tmp_path, ONE, front="---\neffort: medium\n---\n" if where == "front matter" else "")
    flags = {"effort": "medium"} if where == "flag" else {}
    for job in (extract, generate):
        before = len(author.requests)
        events = Efforts(author)
        await do(job, files, author, events, inverse_cases=1, checks=None, **flags)
        assert events.when == [before] != [len(author.requests)]
        assert "max-rules 30, cases-per-rule 2, inverse-cases 1 (flag), rounds 1" in events.messages[0]
        assert "requests" in events.messages[0]
        assert "price of openai/author" in events.messages[0]


class Efforts(list[Event]):
    """What was said of the effort, and how many requests had been sent by then."""

    def __init__(self, author: FakeClient) -> None:
        super().__init__()
        self.author, self.messages, self.when = author, list[str](), list[int]()

    def append(self, event: Event) -> None:
        if isinstance(event, Notice) and event.message.startswith("effort medium: "):
            self.messages.append(event.message)
            self.when.append(len(self.author.requests))


async def test_no_inverse_is_paid_for_before_a_case_needs_it(tmp_path: Path) -> None:
    author = Author(RULES)
    client, files = author.client(), folder(tmp_path, ONE, SMALL)
    small = await do(extract, files, client, effort="min")
    assert [rule.inverse for rule in small.spec.rules] == [None, None]
    assert author.stages["inverse"] == 0
    events: list[Event] = []
    await do(generate, files, client, events)
    assert "no inverse is written for r1, r2" in "".join(e.message for e in events if isinstance(e, Notice))
    unasked = await do(update, files, client, effort="min")
    assert [rule.inverse for rule in unasked.spec.rules] == [None, None]
    assert author.stages["inverse"] == 0
    done = await do(update, files, client)
    assert author.stages["inverse"] == 2
    assert all(rule.inverse for rule in read_spec(files.spec).rules)
    assert (done.added, done.stale) == ((), ())
    made = await do(generate, files, client)
    assert {case.rule for case in made.suite.cases if case.inverse} == {"r1", "r2"}


async def test_more_rules_are_asked_for_without_a_change_and_edits_stay(tmp_path: Path) -> None:
    author = Author(RULES)
    files = folder(tmp_path, ONE, SMALL, STOP)
    events: list[Event] = []
    await do(extract, files, author.client(), events, max_rules=1)
    assert "the list of rules is full (1)" in notices(events)
    assert f"no rule cites: “{SMALL}”" in notices(events)
    spec = read_spec(files.spec)
    mine = spec.rules[0].replace(inverse="Two words.", origin="edited")
    write_spec(files.spec, spec.replace(rules=(mine,)), by_hand=True)
    client = author.client()
    done = await do(partial(update, more=True), files, client, max_rules=1)
    assert (done.added, done.stale) == (("r2",), ())
    shown = "\n".join(message.content for message in client.requests[0].messages)
    assert RULES[ONE] in shown
    assert f"{SMALL}\n{STOP}" in shown
    assert done.uncited == ("Label the mood of a review.", STOP)
    events.clear()
    done = await do(partial(update, more=True), files, author.client(), events)
    rules = read_spec(files.spec).rules
    assert [rule.rule for rule in rules] == list(RULES.values())
    assert (rules[0].inverse, rules[0].origin) == ("Two words.", "edited")
    assert "no rule cites" not in notices(events).replace("no rule cites: “Label the mood of a review.”", "")
    assert author.stages["inputs"] + author.stages["constraints"] == 1
    assert "no further rule" not in notices(events)
    assert (await do(partial(update, more=True), files, author.client(), events)).added == ()
    assert "the author names no further rule" in notices(events)


def notices(events: list[Event]) -> str:
    return "\n".join(event.message for event in events if isinstance(event, Notice))
