"""A session as a person has it: extract, read, correct, generate what changed, look, repeat; hands are respected."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from ruamel.yaml import YAML

from promptpex.specs.file import read_spec
from tests.e2e.command import Done, in_process
from tests.e2e.scripted_author import AUTHOR, Author
from tests.servers import ScriptedServer, Seen, Step, completion_body

PROMPT = """\
---
name: moods
---
Label the mood of a review. Reply in one word. Use lower case letters only. Never mention a brand.
Do not explain anything.

{{review}}
"""
RULES = {
    "Reply in one word.": "The output is one word.",
    "Use lower case letters only.": "The output has no capital letter.",
    "Never mention a brand.": "The output names no brand.",
    "Do not explain anything.": "The output holds no explanation.",
    "Reply in at most three words.": "The output has at most three words.",
    "End with a full stop.": "The output ends with a full stop.",
}
MINE = """\
  - id: mine
    rule: The output is a mood, not a topic.   # learned from production
    inverse: The output is what the review is about.
    origin: added
"""
OWN_CASES = """\
  # sent by a customer, word for word
  - {id: own-1, rule: r3, inputs: {review: 'It is "fine",   I guess'}}
  - id: own-2
    rule: r2
    inputs:
      review: |
        LOUD and
        clear
    origin: added
"""


class Session:
    """A folder with a prompt, and the command line with a scripted author."""

    def __init__(self, folder: Path, server: ScriptedServer, author: Author) -> None:
        self.folder, self.server, self.author = folder, server, author
        server.otherwise = author

    async def __call__(self, *arguments: str, code: int = 0) -> Done:
        verb, *rest = arguments
        if verb not in ("validate", "diff"):
            rest += ("--api-base", f"{self.server.url}/v1", "--author", AUTHOR)
        if verb == "extract":
            rest.append("--no-checks")
        done = await asyncio.to_thread(in_process, verb, *rest, cwd=self.folder)
        assert done.code == code, done.out + done.err
        return done

    def text(self, name: str) -> str:
        return (self.folder / name).read_bytes().decode("utf-8")

    def edit(self, name: str, old: str, new: str) -> None:
        text = self.text(name)
        assert text.count(old) == 1, (old, text)
        (self.folder / name).write_bytes(text.replace(old, new).encode())

    def cases(self) -> dict[str, dict[str, Any]]:
        data = YAML(typ="safe", pure=True).load(self.text("prompt.cases.yaml"))
        return {case["id"]: case for case in data["cases"]}


@pytest_asyncio.fixture
async def session(tmp_path: Path) -> AsyncIterator[Session]:
    (tmp_path / "prompt.md").write_text(PROMPT, encoding="utf-8")
    async with ScriptedServer() as server:
        yield Session(tmp_path, server, Author(RULES))


def item(text: str, name: str) -> str:
    """The lines of one item of a list, from its ``- id:`` to the next item."""
    block = re.search(rf"^  - (?:\{{)?id: {re.escape(name)}\b.*?(?=^  - |^  #|\Z)", text, re.DOTALL | re.MULTILINE)
    assert block, (name, text)
    return block[0]


@pytest.mark.slow
async def test_the_session_of_a_person_who_edits(session: Session) -> None:
    author = session.author
    done = await session("extract", "prompt.md")
    assert "4 rules" in done.out
    assert "4 of 4 rules are backed by the prompt's text (4 by a quote)." in done.out
    assert author.stages == {"constraints": 1, "rules": 1, "inverse": 4}
    await session("generate", "prompt.md")
    assert author.stages["cases"] == 1
    assert len(session.cases()) == 12
    await session("validate", "prompt.md")

    spec = session.text("prompt.spec.yaml")
    r2 = item(spec, "r2")
    session.edit("prompt.spec.yaml", r2, "")
    session.edit(
        "prompt.spec.yaml", "rule: The output is one word.", "rule: 'The output is ONE word'   # asked for by support"
    )
    session.edit("prompt.spec.yaml", "inverse: 'Breaks this: The output is one word.'", "inverse: It has two words.")
    (session.folder / "prompt.spec.yaml").write_text(session.text("prompt.spec.yaml") + MINE, encoding="utf-8")
    edited = session.text("prompt.spec.yaml")

    before = session.text("prompt.cases.yaml")
    review = session.cases()["r3-1"]["inputs"]["review"]
    session.edit("prompt.cases.yaml", f"review: {review}", "review: I would buy it   again!  # real one")
    (session.folder / "prompt.cases.yaml").write_text(session.text("prompt.cases.yaml") + OWN_CASES, encoding="utf-8")
    hand = {name: item(session.text("prompt.cases.yaml"), name) for name in ("r3-1", "own-1", "own-2")}
    old = session.cases()

    asked = author.asked
    dry = json.loads((await session("generate", "prompt.md", "--dry-run", "--json")).out)
    assert dry["make"] == {"r1": 2, "r1-inverse": 1, "mine": 2, "mine-inverse": 1}
    assert sorted(dry["retire"]) == ["r1-1", "r1-2", "r1-inverse-1", "r2-1", "r2-2", "r2-inverse-1"]
    assert dry["requests"][0]["calls"] == 1
    assert author.asked == asked

    held = session.text("prompt.cases.yaml")
    refused = await session("generate", "prompt.md", code=2)
    assert "6 of 14 cases are outdated (3 of r1, whose words, condition" in refused.err
    assert (author.asked, session.text("prompt.cases.yaml")) == (asked, held)
    done = await session("generate", "prompt.md", "--replace")
    assert author.asked == asked + 1
    assert "case own-2 is yours and stays, but its rule r2 is gone" in done.err
    after, now = session.text("prompt.cases.yaml"), session.cases()
    assert {name: item(after, name) for name in hand} == hand
    assert "  # sent by a customer, word for word\n" in after
    assert session.text("prompt.spec.yaml") == edited
    assert "# asked for by support" in edited
    fresh = {name for name, case in now.items() if old.get(name) != case}
    assert {now[name]["rule"] for name in fresh} == {"r1", "mine"}
    assert not {name for name, case in now.items() if case["rule"] == "r2"} - {"own-2"}
    for name in ("r3-2", "r3-inverse-1", "r4-1", "r4-2", "r4-inverse-1"):
        assert item(after, name) == item(before, name)

    asked = author.asked
    await session("generate", "prompt.md")
    assert author.asked == asked
    assert session.text("prompt.cases.yaml") == after
    await session("validate", "prompt.md")
    await the_prompt_changes(session, edited, after)


async def the_prompt_changes(session: Session, edited: str, cases: str) -> None:
    """Second half of the session: a sentence changes, one goes, one comes."""
    author = session.author
    (session.folder / "old.md").write_text(PROMPT, encoding="utf-8")
    session.edit("prompt.md", "Reply in one word.", "Reply in at most three words.")
    session.edit("prompt.md", "Never mention a brand.", "End with a full stop.")

    run = await session("run", "prompt.md", "--models", "openai/under-test", "--judge", "none", "-v")
    assert "prompt.md has changed since prompt.spec.yaml was written" in run.err
    notice = "rule r1 cites words that are gone: “Reply in one word.”; the prompt says “Reply in at most three words.”"
    assert notice in run.err
    assert "rule r3 cites words that are gone: “Never mention a brand.”" in run.err
    assert "no rule cites: “End with a full stop.”" in run.err
    assert "promptpex extract prompt.md --update" in run.err
    assert "1 case aims at a rule that is gone (own-2)" in run.err

    shown = json.loads((await session("diff", "old.md", "prompt.md", "--json")).out)
    kinds = {change["kind"]: change for change in shown["sentences"] if change["kind"] != "removed"}
    assert kinds["changed"]["old"] == "Reply in one word."
    assert kinds["changed"]["rules"] == ["r1"]
    assert kinds["changed"]["cases"] == ["r1-1", "r1-2", "r1-inverse-1"]
    removed = next(change for change in shown["sentences"] if change["old"] == "Never mention a brand.")
    assert removed["rules"] == ["r3"]
    assert set(removed["cases"]) == {"r3-1", "r3-2", "r3-inverse-1", "own-1"}
    words = (await session("diff", "old.md", "prompt.md")).out
    assert "  - Reply in one word.\n  + Reply in at most three words.\n    rule r1: The output is ONE word" in words

    asked = author.asked
    done = await session("extract", "prompt.md", "--update")
    assert author.stages["rules"] == 2
    assert author.asked == asked + 1 + 2  # the rules, and two inverses: that of the deleted rule is in the store
    assert "stale: r3" in done.out
    assert "yours without a source in the prompt: r1" in done.out
    spec = session.text("prompt.spec.yaml")
    assert item(spec, "r1") == item(edited, "r1")
    assert item(spec, "mine").startswith(MINE)
    assert "stale: true" in item(spec, "r3")
    assert "r2" not in re.findall(r"id: (\S+)", spec)  # own-2 still names it: the id is not given again

    asked = author.asked
    await session("generate", "prompt.md", "--replace")
    assert author.asked == asked + 1  # three new rules and their inverses
    now = session.cases()
    assert {name for name, case in now.items() if case["rule"] == "r3"} == {"own-1", "r3-1"}
    for name in ("r3-1", "own-1", "own-2"):
        assert item(session.text("prompt.cases.yaml"), name) == item(cases, name)
    await session("validate", "prompt.md")
    again = await session("run", "prompt.md", "--models", "openai/under-test", "--judge", "none")
    assert "has changed" not in again.err


PLURAL = """\
# the names of operations
rules:
  - id: r6
    rule: The name of a collection ends in an s.   # hasty
    needs: output
    inverse: The name of a collection is in the singular.
    checks:
      - {kind: regex, value: s$}
    decides: partly
    origin: extracted
    content: CONTENT
"""


async def test_a_check_that_nobody_has_read_does_not_overrule_the_judge_in_silence(tmp_path: Path) -> None:
    (tmp_path / "prompt.md").write_text("Name the operation. {{path}}", encoding="utf-8")
    (tmp_path / "prompt.cases.yaml").write_text("cases: [{inputs: {path: /a}}, {inputs: {path: /b}}]", encoding="utf-8")
    file = tmp_path / "prompt.spec.yaml"
    file.write_text(PLURAL.replace("    content: CONTENT\n", ""), encoding="utf-8")
    mark = read_spec(file).rules[0].replace(origin="extracted").content_hash()
    file.write_text(PLURAL.replace("CONTENT", mark), encoding="utf-8")

    def reply(seen: Seen) -> Step:
        verdict = {"r6": {"reason": "It is not a collection.", "verdict": "pass"}}
        return Step(completion_body(json.dumps(verdict) if seen.body["model"] == "judge" else "getHealth"))

    async with ScriptedServer(otherwise=reply) as server:

        async def command(*words: str) -> Done:
            return await asyncio.to_thread(in_process, *words, cwd=tmp_path)

        line = ["run", "prompt.md", "--models", "openai/m", "--judge", "openai/judge", "--api-base", f"{server.url}/v1"]
        done = await command(*line, "--json")
        says = (
            "The check on r6, which nobody has read, fails 2 outputs that the judge passes, and none that it fails: "
            "read the check, or remove it with `promptpex validate prompt.md --drop-check r6`."
        )
        assert json.loads(done.out)["answer"].startswith(says)
        gated = await command("gate", "--max-non-compliance", "10%")
        assert gated.code == 1
        assert says in " ".join((gated.out + gated.err).split())

        assert (await command("validate", "prompt.md", "--drop-check", "r7")).code == 2
        dropped = await command("validate", "prompt.md", "--drop-check", "r6")
        assert dropped.code == 0
        assert "prompt.spec.yaml: r6 has no check any more (regex), so only a judge can decide it" in dropped.err
        text = file.read_text(encoding="utf-8")
        gone = PLURAL[PLURAL.index("    checks:") : PLURAL.index("    origin:")]
        assert re.sub(r"content: '?\w+'?", "content: CONTENT", text) == PLURAL.replace(gone, "")
        after = json.loads((await command(*line, "--json")).out)
        assert after["models"][0]["non_compliance"] == 0
        assert "nobody has read" not in after["answer"]
