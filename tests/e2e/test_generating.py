"""What prompts and settings ask of a suite reaches the author and the file: types, scenarios, samples, languages."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from ruamel.yaml import YAML

import promptpex
from promptpex.llm.fake import FakeClient
from promptpex.promptfile import read
from promptpex.specs.file import read_spec
from tests.e2e.command import Done, in_process
from tests.e2e.scripted_author import AUTHOR, Author, fenced
from tests.servers import ScriptedServer, Step, completion_body

pytestmark = pytest.mark.slow

TYPED = """\
---
instructions:
  cases: SHORT ONES PLEASE
samples:
  - {text: the tap drips, urgency: low, order: '{"id": 1}', count: 2}
  - file: real.csv
scenarios:
  rude: {constraints: The sender is rude., fixed: {urgency: high}}
  calm: The sender is calm.
inputs:
  text: {type: string, max_length: 200}
  urgency: {type: enum, values: [low, high, 3]}
  count: {type: integer, minimum: 0, maximum: 9}
  order: {type: object, schema: {type: object, required: [id], properties: {id: {type: integer}}}}
---
system:
Sort the message. Reply in one word.

user:
I have one more.

assistant:
parts

user:
{{text}} ({{urgency}}, {{count}}) {{order}}
"""
VALUES = {"text": "please help", "urgency": "3", "count": "7", "order": '{"id": 4, "paid": true}'}


class Place:
    """A folder, and the command line with a scripted author."""

    def __init__(self, folder: Path, server: ScriptedServer) -> None:
        self.folder, self.server = folder, server

    async def __call__(self, author: Author, *arguments: str, code: int = 0) -> Done:
        self.server.otherwise = author
        asking = ["--api-base", f"{self.server.url}/v1", "--author", AUTHOR]
        if arguments[0] != "generate":
            asking.append("--no-checks")
        done = await asyncio.to_thread(in_process, *arguments, *asking, cwd=self.folder)
        assert done.code == code, done.out + done.err
        return done

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8")

    def yaml(self, name: str) -> Any:
        return YAML(typ="safe", pure=True).load((self.folder / name).read_text(encoding="utf-8"))

    def shown(self, label: str) -> list[str]:
        """What the author was shown under a label in the requests for cases, so far."""
        turns = ["\n".join(turn["content"] for turn in seen.body["messages"]) for seen in self.server.requests]
        return [fenced(text, label) for text in turns if "You design test inputs" in text]


@pytest_asyncio.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    async with ScriptedServer() as server:
        yield Place(tmp_path, server)


def typed(aim: str, name: str, number: int) -> str:
    return f"{VALUES['text']} {number}{len(aim)}" if name == "text" else VALUES[name]


NARROW = """\
prompt: prompt.md
rules:
  - id: r1   # somebody's note
    rule: The answer begins with the verb that the method stands for.
    needs: input
    when:
      - {variable: text, kind: regex, value: ^DELETE}
    inverse: The answer begins with another verb.
    checks:
      - {kind: regex, value: ^delete}
    origin: extracted
    content: CONTENT
"""


async def test_a_proposed_condition_that_excludes_a_case_of_its_rule_is_dropped(place: Place) -> None:
    place.write("prompt.md", "Begin with the verb that the method stands for. {{text}}")
    place.write("prompt.spec.yaml", NARROW.replace("    content: CONTENT\n", ""))
    rule = read_spec(place.folder / "prompt.spec.yaml").rules[0].replace(origin="extracted")
    place.write("prompt.spec.yaml", NARROW.replace("CONTENT", rule.content_hash()))
    author = Author({}, value=lambda aim, _, number: f"{'PATCH' if 'inverse' in aim else 'DELETE'} /{aim[:10]}{number}")
    done = await place(author, "generate", "prompt.md", "--no-validity")
    cases = {case["id"]: case for case in place.yaml("prompt.cases.yaml")["cases"]}
    (excluded,) = [name for name, case in cases.items() if case["inputs"]["text"].startswith("PATCH")]
    assert f"r1: its condition excludes {excluded}, a case written for it" in " ".join(done.err.split())
    assert not any("invalid" in case for case in cases.values())
    (left,) = read_spec(place.folder / "prompt.spec.yaml").rules
    assert (left.when, left.checks, left.origin) == ((), (), "extracted")
    assert "# somebody's note" in (place.folder / "prompt.spec.yaml").read_text(encoding="utf-8")
    before = author.asked
    again = await place(author, "generate", "prompt.md", "--no-validity")
    assert "excludes" not in again.err
    assert author.asked == before


async def test_so_it_is_where_a_run_finds_the_files_as_they_are(place: Place) -> None:
    """The case is one of those that are left out of the run; from a program it is the same."""
    place.write("prompt.md", "Begin with the verb that the method stands for. {{text}}")
    place.write("prompt.spec.yaml", NARROW.replace("    content: CONTENT\n", ""))
    rule = read_spec(place.folder / "prompt.spec.yaml").rules[0].replace(origin="extracted")
    place.write("prompt.spec.yaml", NARROW.replace("CONTENT", rule.content_hash()))
    listed = "".join(
        f"  - {{id: c{n}, rule: r1, inputs: {{text: {method} /a{n}}}, origin: generated}}\n"
        for n, method in enumerate(["DELETE", "DELETE", "PATCH"])
    )
    place.write("prompt.cases.yaml", f"prompt: prompt.md\ncases:\n{listed}")
    answering: Any = Step(body=completion_body("delete it"))
    done = await place(answering, "run", "prompt.md", "-m", "openai/m", "--judge", "none", "--first", "2", "--json")
    excludes = "r1: its condition excludes c2, a case written for it; the condition was dropped with its checks"
    assert " ".join(done.err.split()).count(excludes) == 1
    assert [row["scored"] for row in json.loads(done.out)["models"]] == [0]
    prompt = read(place.folder / "prompt.md")
    spec = read_spec(place.folder / "prompt.spec.yaml")
    suite = promptpex.read_suite(place.folder / "prompt.cases.yaml", spec, prompt)
    client = FakeClient(
        lambda request: '{"r1": {"reason": "", "verdict": "pass"}}' if request.stage == "judge" else "ok"
    )
    with pytest.warns(UserWarning, match="its condition excludes c2"):
        made = promptpex.run(prompt, spec, suite, models="fake/m", judge="fake/j", client=client)
    assert [row["scored"] for row in made.models.to_dict("records")] == [3]


async def test_types_scenarios_samples_and_notes_from_front_matter(place: Place) -> None:
    place.write("prompt.md", TYPED)
    place.write("real.csv", "text,urgency,count,order\n=1+1 is broken,low,1,{}\n")
    author = Author({"Reply in one word.": "It is one word."}, value=typed)
    await place(author, "extract", "prompt.md")
    inputs = place.yaml("prompt.spec.yaml")["inputs"]
    assert inputs["urgency"] == {"type": "enum", "values": ["low", "high", 3]}
    assert inputs["count"] == {"type": "integer", "minimum": 0.0, "maximum": 9.0}
    assert inputs["order"]["schema"]["required"] == ["id"]
    await place(author, "generate", "prompt.md")
    cases = place.yaml("prompt.cases.yaml")["cases"]
    assert {case["scenario"] for case in cases} == {"rude", "calm"}
    assert len(cases) == 6
    for case in cases:
        assert case["inputs"]["urgency"] == ("high" if case["scenario"] == "rude" else 3)
        assert (case["inputs"]["count"], case["inputs"]["order"]) == (7, {"id": 4, "paid": True})
        assert "invalid" not in case
    assert set(place.shown("note")) == {"SHORT ONES PLEASE"}
    assert any("The sender is rude." in text for text in place.shown("scenario"))
    assert all("the tap drips" in text and "=1+1 is broken" in text for text in place.shown("samples"))
    assert all("assistant:\nparts" in text for text in place.shown("prompt"))
    run = await place(author, "run", "prompt.md", "--models", "openai/m", "--judge", "none", "--json")
    assert json.loads(run.out)["models"][0]["errors"] == 0
    sent = place.server.requests[-1].body["messages"]
    assert [turn["role"] for turn in sent] == ["system", "user", "assistant", "user"]
    assert sent[-1]["content"].startswith("please help")


async def test_more_cases_and_fewer(place: Place) -> None:
    place.write("prompt.md", "Label it. Reply in one word. No slang.\n\n{{review}}\n")
    author = Author({"Reply in one word.": "It is one word.", "No slang.": "It has no slang."})
    await place(author, "extract", "prompt.md")
    await place(author, "generate", "prompt.md")
    dry = json.loads((await place(author, "generate", "prompt.md", "--more", "2", "--dry-run", "--json")).out)
    assert dry["make"] == {"r1": 2, "r1-inverse": 2, "r2": 2, "r2-inverse": 2}
    assert [line["stage"] for line in dry["requests"]] == ["cases"]
    more = await place(author, "generate", "prompt.md", "--more", "2")
    assert "14 cases in prompt.cases.yaml (8 made, 6 kept, 0 retired)" in more.out
    fewer = await place(author, "generate", "prompt.md", "--keep-best", "3")
    assert "Rated: 14 cases; 0 of them test what another one does." in fewer.out
    assert "11 cases put aside; `generate --keep-best 14` brings them back." in fewer.out
    assert "No kept case tests r2-inverse." in fewer.out
    assert "With 3 cases a share of 10% has an interval of" in fewer.out
    cases = place.yaml("prompt.cases.yaml")["cases"]
    assert [case["id"] for case in cases if "aside" not in case] == ["r1-1", "r1-inverse-1", "r2-1"]
    assert all(case["rating"]["severity"] == 2 for case in cases)
    run = await place(author, "run", "prompt.md", "--models", "openai/m", "--judge", "none", "--json")
    assert json.loads(run.out)["models"][0]["outputs"] == 3
    asked = author.asked
    back = await place(author, "generate", "prompt.md", "--keep-best", "14")
    assert "of 14 usable cases" in back.out
    assert author.asked == asked
    assert not any("aside" in case for case in place.yaml("prompt.cases.yaml")["cases"])


OWN = """\
prompt: prompt.md
cases:
  - {id: a, rule: r1, inputs: {review: Good shoes.}}
  - {id: b, rule: r1, inputs: {review: The parcel never came.}}
  - {id: c, rule: r1, inverse: true, inputs: {review: A long story about a coat that was blue.}}
"""


async def test_keeping_fewer_than_are_people_s_own_asks_nobody(place: Place) -> None:
    place.write("prompt.md", "Label it. Reply in one word.\n\n{{review}}\n")
    author = Author({"Reply in one word.": "It is one word."})
    await place(author, "extract", "prompt.md")
    place.write("prompt.cases.yaml", OWN)
    asked = author.asked
    dry = json.loads((await place(author, "generate", "prompt.md", "--keep-best", "2", "--dry-run", "--json")).out)
    assert (dry["make"], dry["requests"], dry["keep"]) == ({}, [], 3)
    kept = await place(author, "generate", "prompt.md", "--keep-best", "2")
    assert "3 cases in prompt.cases.yaml (0 made, 3 kept, 0 retired)" in kept.out
    assert "3 are yours and stay." in kept.out
    assert author.asked == asked
    assert (place.folder / "prompt.cases.yaml").read_text(encoding="utf-8").endswith(OWN.partition("cases:")[2])
