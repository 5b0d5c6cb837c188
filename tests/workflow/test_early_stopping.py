"""Runs that drop what is worse: whole runs on chosen replies. The error rates are in ``tests/stats``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from promptpex.config import load
from promptpex.core.errors import ConfigError, NotAuthorised
from promptpex.core.records import Case, Request, Run
from promptpex.llm.fake import FakeClient
from promptpex.report import summarise, to_dict
from promptpex.report.files import write
from promptpex.report.runs import read
from promptpex.report.secondary_tables import footnotes
from promptpex.workflow.execution.early_stopping import parts_of
from promptpex.workflow.pipeline import run
from promptpex.workflow.project_files import files_of
from promptpex.workflow.session import open_session
from tests.samples import asked, contents


def test_parts_hold_every_case_once_in_an_order_that_the_seed_decides() -> None:
    cases = [Case(id=f"c{n}", rule=f"r{n % 3}", inputs={}) for n in range(80)]
    made = parts_of(cases, seed=7)
    assert [len(part) for part in made] == [20, 20, 20, 20]
    assert sorted(case.id for part in made for case in part) == sorted(case.id for case in cases)
    assert made == parts_of(cases, seed=7)
    assert made != parts_of(cases, seed=8)


def answer(request: Request) -> str | Exception:
    if request.model == "fake/broken":
        return NotAuthorised("no key", model=request.model)
    number = int(asked(request).rsplit("thing ", 1)[1].split()[0].rstrip(".")) if "thing " in asked(request) else 0
    return "light red" if request.model == "fake/bad" and number % 4 else "RED"


def prepared(folder: Path, cases: int = 80) -> Path:
    (folder / "prompt.md").write_text("Name the colour of {{thing}} in one word.\n", encoding="utf-8")
    spec = "prompt: prompt.md\nrules:\n  - id: r1\n    rule: One word.\n    checks: [{kind: word-count, value: 1}]\n"
    (folder / "prompt.spec.yaml").write_text(spec, encoding="utf-8")
    listed = "".join(
        f"  - {{id: c{n}, rule: r1, inputs: {{thing: thing {n} .}}, origin: added}}\n" for n in range(cases)
    )
    (folder / "prompt.cases.yaml").write_text(f"prompt: prompt.md\ncases:\n{listed}", encoding="utf-8")
    return folder / "prompt.md"


async def execute(folder: Path, prompt: Path, fake: FakeClient, **more: Any) -> tuple[Run, Path]:
    given = {
        "models": ["fake/good", "fake/bad"],
        "judge": ["none"],
        "store": str(folder / "store.db"),
        "results": str(folder / "results"),
        "max_attempts": 1,
        "drop_worse": True,
        **more,
    }
    async with open_session(load(given, start=folder, env={}), provider=fake) as session:
        _, where = await run(session, files_of(prompt))
        assert where is not None
    finished = read(where)
    write(summarise(finished, folder=where), where)
    return finished, where


async def test_a_run_drops_what_is_worse_and_says_what_it_saved(tmp_path: Path) -> None:
    prompt, fake = prepared(tmp_path), FakeClient(answer)
    finished, _ = await execute(tmp_path, prompt, fake)
    summary = summarise(finished)
    assert summary.models["decision"].tolist() == ["best", "worse"]
    assert len(fake.requests) == len(finished.outputs) == 80 + 20
    assert summary.saved is not None
    assert (summary.saved.planned, summary.saved.asked) == (160, len(finished.outputs))
    sentence = f"{160 - len(finished.outputs)} of 160 requests to models under test were saved"
    assert any(sentence in note for note in footnotes(summary))
    assert to_dict(summary)["saved"]["asked"] == len(finished.outputs)
    order = [(output.model, int(output.case[1:])) for output in finished.outputs]
    assert order == sorted(order, key=lambda key: (key[0] != "fake/good", key[1]))
    assert {verdict.key for verdict in finished.verdicts} == {output.key for output in finished.outputs}


async def test_the_same_command_again_asks_nothing_and_changes_no_byte(tmp_path: Path) -> None:
    prompt = prepared(tmp_path)
    first, folder = await execute(tmp_path, prompt, FakeClient(answer))
    before = contents(folder)
    again = FakeClient(answer)
    second, same = await execute(tmp_path, prompt, again)
    assert (again.requests, same, second.outputs, second.verdicts) == ([], folder, first.outputs, first.verdicts)
    assert second.manifest.stored == first.manifest.asked + first.manifest.stored
    assert contents(folder) == before


async def test_going_on_without_it_asks_the_rest_in_a_run_of_its_own(tmp_path: Path) -> None:
    prompt = prepared(tmp_path)
    first, folder = await execute(tmp_path, prompt, FakeClient(answer))
    rest = FakeClient(answer)
    whole, other = await execute(tmp_path, prompt, rest, drop_worse=False)
    assert other != folder
    assert len(whole.outputs) == 160
    assert len(rest.requests) == 160 - len(first.outputs)


async def test_a_model_that_never_answers_beats_nobody_and_is_not_beaten(tmp_path: Path) -> None:
    prompt, fake = prepared(tmp_path), FakeClient(answer)
    finished, _ = await execute(tmp_path, prompt, fake, models=["fake/good", "fake/bad", "fake/broken"])
    table = summarise(finished).models.set_index("model")
    assert table["decision"].tolist() == ["undecided", "worse", "unscored"]
    assert table.loc["fake/good", "undecided_because"] == "80 of 80 outputs of fake/broken are unscored"


async def test_a_budget_in_the_middle_of_a_part_drops_nobody(tmp_path: Path) -> None:
    prompt, fake = prepared(tmp_path), FakeClient(answer)
    finished, _ = await execute(tmp_path, prompt, fake, max_requests=30)
    summary = summarise(finished)
    assert summary.models["dropped_after"].isna().all()
    assert summary.models["not_asked"].tolist() == [65, 65]
    assert summary.answer is not None
    assert "The run ended before 65 of 80 outputs of fake/good" in summary.answer


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"against": "fake/good"}, "drop --against"),
        ({"against": "fake/other", "drop_worse": False}, "name one of the models"),
        ({"rank_by": "accuracy"}, "goes by non-compliance"),
    ],
)
async def test_questions_without_an_answer_are_refused_before_anything_is_asked(
    tmp_path: Path, more: dict[str, Any], reason: str
) -> None:
    fake = FakeClient(answer)
    with pytest.raises(ConfigError, match=reason):
        await execute(tmp_path, prepared(tmp_path), fake, **more)
    assert fake.requests == []
