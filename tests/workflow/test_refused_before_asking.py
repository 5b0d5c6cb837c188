"""What would be refused only after an author or a model was paid is refused before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from promptpex.config import load
from promptpex.core.errors import InputError
from promptpex.llm.fake import FakeClient
from promptpex.workflow.authoring import generate, update
from promptpex.workflow.pipeline import judge, run
from promptpex.workflow.project_files import files_of
from promptpex.workflow.session import open_session

SPEC = """prompt: prompt.md
rules:
  - {id: r1, rule: One word.}
  - id: r2
    rule: If the thing is a rose, the word is RED.
    needs: input
    when: [{variable: thnig, kind: equals, value: rose}]
"""
RIGHT = SPEC.replace("thnig", "thing")
CASES = "prompt: prompt.md\ncases: [{id: c1, rule: r1, inputs: {thing: rose}}]\n"


def session(folder: Path, client: FakeClient, **given: Any) -> Any:
    places = {"store": str(folder / "s.db"), "results": str(folder / "results")}
    asked = {"models": ["fake/m"], "judge": ["none"], "author": "fake/a"}
    return open_session(load({**places, **asked, **given}, start=folder, env={}), provider=client)


@pytest.mark.parametrize(
    ("front", "given", "message"),
    [
        ("scenarios: {angry: {description: Cross.}}", {}, "scenario 'angry': unknown key 'description'"),
        ("language: plain English", {}, "is not a tag"),
        ("instructions: {cases: [short]}", {}, "those of 'cases' must be a text"),
        ("description: x", {"expected": "fake/m"}, "--expected fake/m needs judges"),
        ("description: x", {"rank_by": "accuracy"}, "--rank-by accuracy needs cases with an expected output"),
    ],
)
@pytest.mark.parametrize("spec", [None, RIGHT])
async def test_a_run_that_has_to_make_cases_first_refuses_what_it_could_not_make_them_by(
    tmp_path: Path, front: str, given: dict[str, Any], message: str, spec: str | None
) -> None:
    (tmp_path / "prompt.md").write_text(f"---\n{front}\n---\nName {{{{thing}}}}.\n", encoding="utf-8")
    if spec:
        (tmp_path / "prompt.spec.yaml").write_text(spec, encoding="utf-8")
    client = FakeClient(lambda request: "RED")
    async with session(tmp_path, client, **given) as opened:
        with pytest.raises(InputError, match=message):
            await run(opened, files_of(tmp_path / "prompt.md"))
    assert client.requests == []


@pytest.mark.parametrize("command", [run, generate])
async def test_a_condition_on_a_variable_that_the_prompt_does_not_take_is_refused(tmp_path: Path, command: Any) -> None:
    for name, text in (("prompt.md", "Name {{thing}}.\n"), ("prompt.spec.yaml", SPEC), ("prompt.cases.yaml", CASES)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    client = FakeClient(lambda request: "RED")
    async with session(tmp_path, client) as opened:
        with pytest.raises(
            InputError, match="condition of the rule 'r2' names 'thnig'; the prompt takes thing"
        ) as error:
            await command(opened, files_of(tmp_path / "prompt.md"))
    assert (client.requests, error.value.line) == ([], 7)


async def test_judging_by_such_a_spec_is_refused_and_updating_it_is_not(tmp_path: Path) -> None:
    for name, text in (("prompt.md", "Name {{thing}}.\n"), ("prompt.spec.yaml", RIGHT), ("prompt.cases.yaml", CASES)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    client = FakeClient(lambda request: '{"rules": [], "more": false}' if request.stage == "rules" else "RED")
    async with session(tmp_path, client) as opened:
        _, folder = await run(opened, files_of(tmp_path / "prompt.md"))
        assert folder is not None
        (tmp_path / "prompt.spec.yaml").write_text(SPEC, encoding="utf-8")
        with pytest.raises(InputError, match="names 'thnig'"):
            await judge(opened, folder, spec=tmp_path / "prompt.spec.yaml")
        assert not (await update(opened, files_of(tmp_path / "prompt.md"))).added
