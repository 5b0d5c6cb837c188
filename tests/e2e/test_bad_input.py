"""Bad input: one sentence that says what is wrong, where and what to do; the right exit code; no traceback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.command import Done, benchmark, in_process
from tests.e2e.faults import command, place
from tests.servers import ScriptedServer, Step, completion_body

MODEL = ("--models", "openai/any", "--api-base", "http://127.0.0.1:9/v1")


def is_one_sentence(done: Done) -> None:
    last = done.err.strip().splitlines()[-1]
    assert "Traceback" not in done.err + done.out
    assert last.startswith(("promptpex: ", "Error: "))
    assert "internal error" not in last


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("missing.md", None, "missing.md"),
        ("empty.md", b"", "empty"),
        ("binary.md", b"\x00\x01\x02\xff" * 50, "binary"),
        ("latin.md", "r\u00e9sum\u00e9".encode("latin-1"), "UTF-8"),
        ("huge.md", b"word " * 2_100_000, "MB"),
        ("broken.md", b"---\nname: [\n---\nHello {{x}}\n", "broken.md:"),
        ("syntax.md", b"Hello {{ name\n", "syntax.md:1"),
        ("list.json", b'{"no": "messages"}', "list.json"),
    ],
)
def test_a_prompt_file_that_cannot_be_used(tmp_path: Path, name: str, content: bytes | None, says: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    done = in_process("run", name, *MODEL, cwd=tmp_path)
    assert done.code == 2
    is_one_sentence(done)
    assert says in done.err


@pytest.mark.parametrize("missing", ["", "prompt.cases.yaml", "prompt.spec.yaml"])
async def test_a_judge_that_nobody_named_is_asked_for_before_anything_is_paid(
    tmp_path: Path, scripted: ScriptedServer, missing: str
) -> None:
    """The server lists a model: it is an example of what to write, and judges nothing."""
    listed = Step(body=json.dumps({"data": [{"id": "large"}]}).encode())
    scripted.otherwise = lambda seen: listed if seen.path == "/v1/models" else Step(body=completion_body("{}"))
    here = place(tmp_path, cells=2, name="support-reply")
    if missing:
        here.prompt.with_name(missing).unlink()
    line = here.arguments("--models", "openai/small", "--author", "openai/x", "--api-base", f"{scripted.url}/v1")
    done = await command(line)
    assert done.code == 2
    is_one_sentence(done)
    assert "none is named: write --judge MODEL (openai/large can be reached), or --judge none" in done.err
    assert {seen.path for seen in scripted.requests} == {"/v1/models"}
    assert not (here.folder / "results").exists()
    estimated = await command(["estimate", *line[1:4], *line[6:]])
    assert estimated.code == 0
    assert "no judge is named: the estimate is for openai/large" in estimated.err
    assert {seen.path for seen in scripted.requests} == {"/v1/models"}


@pytest.mark.parametrize("more", [("generate",), ("run", "--models", "fake/x", "--judge", "none")])
def test_an_author_that_makes_no_case_is_what_is_wrong(tmp_path: Path, more: tuple[str, ...]) -> None:
    (tmp_path / "mail.md").write_text("Answer {{question}} in a word.", encoding="utf-8")
    (tmp_path / "mail.spec.yaml").write_text("rules: [{id: short, rule: One word., inverse: Two.}]", encoding="utf-8")
    done = in_process(more[0], "mail.md", *more[1:], "--author", "fake/nonsense", cwd=tmp_path)
    assert done.code == 3
    is_one_sentence(done)
    assert "the author fake/nonsense made none of 3 cases: none of its replies could be used; name another" in done.err
    assert not (tmp_path / "mail.cases.yaml").exists()


@pytest.mark.parametrize("verb", ["run", "estimate", "extract", "generate", "validate"])
@pytest.mark.parametrize("name", [".", "/", "..", "results"])
def test_a_folder_is_no_prompt_and_may_have_none(tmp_path: Path, verb: str, name: str) -> None:
    project = tmp_path / "project"
    (project / "results").mkdir(parents=True)
    models = () if verb in ("extract", "generate", "validate") else MODEL[:2]
    done = in_process(verb, name, *models, cwd=project)
    assert done.code == 2
    if verb != "validate":
        is_one_sentence(done)
    searched = "others in it; name the one" if name == "/" else "no prompt in this folder"
    assert (searched if verb in ("run", "estimate", "validate") else "is a folder") in done.err + done.out
    assert not Path("/.promptpex").exists()


SPEC_EDITS: list[tuple[str, Callable[[str], str], str]] = [
    ("unknown key", lambda text: text.replace("intent:", "intend:", 1), "intend"),
    ("duplicate id", lambda text: text.replace("id: r2", "id: r1", 1), "r1"),
    ("pattern", lambda text: text.replace("kind: regex, value: '", "kind: regex, value: '([", 1), "does not compile"),
    ("kind", lambda text: text.replace("kind: regex", "kind: regexp", 1), "regexp"),
]


@pytest.mark.parametrize(("what", "edit", "says"), SPEC_EDITS)
def test_a_spec_that_cannot_be_used_is_named_with_its_line(
    tmp_path: Path, what: str, edit: Callable[[str], str], says: str
) -> None:
    prompt = benchmark("speech-tag", tmp_path, cases=3)
    spec = prompt.with_name("prompt.spec.yaml")
    text = spec.read_text(encoding="utf-8")
    assert edit(text) != text, what
    spec.write_text(edit(text), encoding="utf-8")
    done = in_process("run", str(prompt), *MODEL, cwd=tmp_path)
    assert done.code == 2
    is_one_sentence(done)
    assert says in done.err
    assert "prompt.spec.yaml:" in done.err


def test_a_suite_whose_case_names_no_rule_or_lacks_a_variable(tmp_path: Path) -> None:
    prompt = benchmark("speech-tag", tmp_path, cases=3)
    suite = prompt.with_name("prompt.cases.yaml")
    text = suite.read_text(encoding="utf-8")
    for bad in (text.replace("rule: r1", "rule: r99", 1), text.replace("word:", "wort:", 1)):
        suite.write_text(bad, encoding="utf-8")
        done = in_process("run", str(prompt), *MODEL, cwd=tmp_path)
        assert done.code == 2
        assert "Traceback" not in done.err
        assert "prompt.cases.yaml:" in done.err


@pytest.mark.parametrize(
    ("models", "reason"),
    [
        ("openai/any?api_base=http://127.0.0.1:9/v1", "unavailable"),
        ("gpt-4o-mini", "not-authorised"),
        ("no-such-model-anywhere", "unknown-model"),
    ],
)
def test_a_model_that_cannot_answer_is_its_own_outcome(tmp_path: Path, models: str, reason: str) -> None:
    prompt = benchmark("speech-tag", tmp_path, cases=2)
    twice = {"PROMPTPEX_MAX_ATTEMPTS": "2"}
    done = in_process("run", str(prompt), "--models", models, "--timeout", "3", cwd=tmp_path, env=twice)
    assert done.code == 3, done.err
    assert "Traceback" not in done.err
    assert reason in done.out


async def test_odd_replies_are_named_and_the_other_model_is_unharmed(tmp_path: Path, scripted: ScriptedServer) -> None:
    prompt = benchmark("speech-tag", tmp_path, cases=4)
    half = completion_body("NN")[:40]  # a second try gets it whole
    scripted.steps = [Step(body=completion_body("")), Step(body=half), Step(body=completion_body("x" * 2**20))]
    scripted.otherwise = Step(body=completion_body("NN"))
    models = "openai/odd,openai/other?api_base=http://127.0.0.1:9/v1"
    arguments = ("--models", models, "--api-base", scripted.url, "--concurrency", "1", "--timeout", "4", "--json")
    done = await asyncio.to_thread(in_process, "run", str(prompt), *arguments, cwd=tmp_path)
    assert done.code == 3, done.err
    silent = "not one usable answer came from openai/other?api_base=http://127.0.0.1:9/v1 (4 outputs: 4 unavailable)"
    assert done.err.strip().splitlines()[-1] == f"promptpex: {silent}; --allow-missing-models accepts that"
    printed = json.loads(done.out)
    rows = {row["model"]: row for row in printed["models"]}
    assert rows["openai/odd"]["scored"] == 3
    assert printed["unscored"]["openai/odd"] == {"empty": 1}
    assert list(printed["unscored"].values())[1] == {"unavailable": 4}
