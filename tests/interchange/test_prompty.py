"""``.prompty`` as people have them: what an import keeps, what it names; and a run in place reads the same turns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptpex.core.errors import InputError
from promptpex.core.records import Prompt
from promptpex.interchange import prompty
from promptpex.interchange.format import Imported
from promptpex.promptfile import read as read_prompt
from promptpex.promptfile import read_with_warnings
from promptpex.promptfile.front_matter import TYPES
from promptpex.workflow.importing.write_import import write_imported

OF_PROMPTPEX = """---
name: joke
inputs:
  joke: "How do you make a tissue dance?"
  tone: string
  level: {type: number, description: from 1 to 5, default: 3}
scenarios:
  - {name: english, instructions: in English, parameters: {tone: nice}}
instructions: {outputRules: Be strict.}
testSamples:
  - {joke: Knock knock., tone: dark}
  - real.csv
tags: [unlisted]
---
system:
Rate the joke in {{tone}} on {{level}}.
user:
{{joke}}
"""
TURNS = """---
name: turns
---
 # System:
Be brief.

user[name="bob"]:
Look: ![a cat](cat.png)

assistant:
Nice.
"""


def _file(folder: Path, text: str, name: str = "my.prompty") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def _notes(imported: Imported) -> dict[str, tuple[str, int | None]]:
    return {note.name: (note.became, note.line) for note in imported.notes}


def test_what_promptpex_says_in_front_matter_stays_in_the_prompt(tmp_path: Path) -> None:
    path = _file(tmp_path, OF_PROMPTPEX)
    imported = prompty.read(path)
    write_imported(imported, tmp_path / "out")
    here, there = read_prompt(tmp_path / "out" / "prompt.md"), read_prompt(path)
    for key in ("scenarios", "instructions", "inputs"):
        assert here.meta[key] == there.meta[key], key
    assert {"joke": "Knock knock.", "tone": "dark"} in here.meta["samples"]
    assert _notes(imported) == {"tags": ("left out", 13), "testSamples[1]": ("left out", 12)}


def test_the_word_for_a_type_is_no_sample(tmp_path: Path) -> None:
    imported = prompty.read(_file(tmp_path, OF_PROMPTPEX))
    assert imported.suite is not None
    assert imported.suite.cases[0].inputs == {"joke": "How do you make a tissue dance?", "level": 3}
    assert set(TYPES) == prompty.TYPES


def test_a_turn_may_have_attributes_and_blanks_before_it(tmp_path: Path) -> None:
    path = _file(tmp_path, TURNS)
    imported = prompty.read(path)
    assert imported.prompt is not None
    assert [turn.role for turn in imported.prompt.messages] == ["system", "user", "assistant"]
    prompt, warnings = read_with_warnings(path)
    assert prompt.messages == imported.prompt.messages
    assert any("line 7" in sentence for sentence in warnings)
    assert any("line 8" in sentence and "image" in sentence for sentence in warnings)
    assert _notes(imported) == {'user[name="bob"]:': ("left out", 7), "image": ("changed", 8)}


@pytest.mark.parametrize("declared", ["inputs: ${file:real.json}", "sample: ${file:real.json}", "sample: real.json"])
def test_values_in_a_file_of_their_own(tmp_path: Path, declared: str) -> None:
    (tmp_path / "real.json").write_text(json.dumps({"who": "Ann"}), encoding="utf-8")
    path = _file(tmp_path, f"---\nname: x\n{declared}\n---\nHello {{{{who}}}}\n")
    imported = prompty.read(path)
    assert imported.suite is not None
    assert imported.suite.cases[0].inputs == {"who": "Ann"}
    prompt: Prompt = read_prompt(path)
    assert prompt.meta["samples"] in ([{"file": "real.json"}], "real.json")


def test_a_file_of_values_stays_inside_the_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text("{}", encoding="utf-8")
    (tmp_path / "in").mkdir()
    with pytest.raises(InputError, match="outside the folder"):
        prompty.read(_file(tmp_path / "in", "---\ninputs: ${file:../secret.json}\n---\nHello {{who}}\n"))


def test_a_file_of_values_that_is_not_there_is_named(tmp_path: Path) -> None:
    imported = prompty.read(_file(tmp_path, "---\nname: x\nsample: gone.json\n---\nHello {{who}}\n"))
    assert _notes(imported) == {"sample": ("left out", 3)}


def test_inputs_that_are_no_texts_are_named(tmp_path: Path) -> None:
    text = "---\ninputs:\n  - {name: talk, kind: thread}\n  - {name: who, kind: string}\n---\n{{talk}} {{who}}\n"
    assert _notes(prompty.read(_file(tmp_path, text))) == {"inputs.talk": ("changed", 2)}


def test_mustache_that_jinja_has_not_is_one_sentence(tmp_path: Path) -> None:
    path = _file(tmp_path, "---\ntemplate: mustache\n---\nHello\n{{#vip}}dear{{/vip}} {{who}}\n")
    with pytest.raises(InputError, match=r"my\.prompty:5: Jinja has no \{\{#"):
        prompty.read(path)


def test_a_broken_template_names_the_prompt_and_no_file_that_nobody_has(tmp_path: Path) -> None:
    imported = prompty.read(_file(tmp_path, "---\nname: odd\n---\nHello {{ a b }}\n"))
    with pytest.raises(InputError) as caught:
        write_imported(imported, tmp_path / "out")
    assert str(caught.value).startswith("the prompt 'odd': the template is broken")
