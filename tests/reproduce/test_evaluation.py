"""The paper's evaluation, with chosen replies behind the client seam."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.reproduce.__main__ import main
from benchmarks.reproduce.evaluation import evaluate
from benchmarks.reproduce.prompt_evaluation import literal, sampled, spec_as_prompt
from promptpex.config import Resolved, load
from promptpex.core.errors import ModelError
from promptpex.core.events import Event, Notice
from promptpex.core.records import Case, Request
from promptpex.llm.fake import FakeClient
from promptpex.promptfile import render
from promptpex.stats import clopper_pearson
from promptpex.workflow.project_files import Files, files_of
from promptpex.workflow.session import open_session
from tests.samples import asked, broken, colour_author, prompt, spec, written_cases


def reply(request: Request) -> Any:
    text = asked(request)
    answer = colour_author(request)
    if answer is not None:
        return answer
    if request.stage == "cases":
        return written_cases(request, lambda aim, n: {"thing": f"{'inverse' if 'inverse' in aim else 'thing'} {n}"})
    if request.stage == "baseline":
        return {"inputs": [{"thing": f"base {n}"} for n in range(3)]}
    if request.stage == "validity":
        return broken(request, lambda shown: "base 2" in shown)
    if request.stage == "groundedness":
        return {"claims": [{"claim": "r1", "reason": "", "verdict": "yes"}]}
    if request.stage == "judge":
        return {"r1": {"reason": "", "verdict": "fail" if "dark red" in text else "pass"}}
    return "dark red" if "inverse" in text or "keeps these rules" in text else "RED"


def client() -> FakeClient:
    def answer(request: Request) -> str:
        answer = reply(request)
        return answer if isinstance(answer, str) else json.dumps(answer)

    return FakeClient(answer)


@pytest.mark.parametrize("times", [1, 3])
async def test_all_measures_of_the_paper_come_out_as_counted_by_hand(tmp_path: Path, times: int) -> None:
    (tmp_path / "prompt.md").write_text("Name the colour of {{thing}} in one word.\n", encoding="utf-8")
    settings = {"models": ["fake/a"], "author": "fake/x", "judge": ["fake/j"], "store": str(tmp_path / "s.db")}
    resolved = load({**settings, "checks": False, "repeats": times}, start=tmp_path, env={})
    files = [files_of(tmp_path / "prompt.md")]
    async with open_session(resolved, provider=client()) as session:
        tables = await evaluate(session, files, folder=tmp_path / "out", baseline=3, sample=None)
    (two,) = tables["table2"].to_dict("records")
    counts = two["first_broken"], two["first_n"], two["second_broken"], two["second_n"]
    assert counts == (times, 3 * times, 0, 3 * times)
    assert (two["first_share"], two["second_share"], two["p"]) == pytest.approx((1 / 3, 0, 1))
    assert two["first_high"] == pytest.approx(clopper_pearson(1, 3).high), "repeats that say the same are no more cases"
    (three,) = tables["table3"].to_dict("records")
    counts = three["first_broken"], three["first_n"], three["second_broken"], three["second_n"]
    assert counts == (0, 2 * times, times, times)
    assert three["p"] == pytest.approx(1 / 3)
    (agreement,) = tables["agreement"].to_dict("records")
    assert (agreement["cases"], agreement["unscored"]) == (2, 0)
    assert (agreement["prompt_broken"], agreement["spec_broken"], agreement["spec_scored"]) == (0, 2 * times, 2 * times)
    assert (agreement["difference"], agreement["p"]) == pytest.approx((-1, 0.5))
    assert agreement["cosine"] == pytest.approx(2**-0.5)
    shares = {row["what"]: (row["yes"], row["n"]) for row in tables["shares"].to_dict("records")}
    assert shares == {
        "generated cases valid": (3, 3),
        "baseline cases valid": (2, 3),
        "rules grounded": (1, 1),
        "broken outputs of valid cases": (times, times),
    }
    average = {(row["table"], row["side"]): row["share"] for row in tables["averages"].to_dict("records")}
    assert average == pytest.approx(
        {
            ("table2", "generated"): 1 / 3,
            ("table2", "baseline"): 0,
            ("table3", "rules"): 0,
            ("table3", "inverse"): 1,
        }
    )
    (whole,) = tables["spec_agreement"].to_dict("records")
    assert whole["cosine"] is None or whole["cosine"] != whole["cosine"], "the prompt has no broken output"
    assert {path.name for path in (tmp_path / "out").glob("*.csv")} == {f"{name}.csv" for name in tables}


def failing_for(word: str) -> FakeClient:
    """Answers as ``client`` does, but the author has no rule for prompts that say ``word``."""

    def answer(request: Request) -> str:
        if request.stage == "rules" and word in asked(request):
            return "I cannot."
        answer = reply(request)
        return answer if isinstance(answer, str) else json.dumps(answer)

    return FakeClient(answer)


def two_prompts(folder: Path) -> tuple[Resolved, list[Files]]:
    (folder / "colour.md").write_text("Name the colour of {{thing}} in one word.\n", encoding="utf-8")
    (folder / "smell.md").write_text("Name the smell of {{thing}} in one word.\n", encoding="utf-8")
    settings = {"models": ["fake/a"], "author": "fake/x", "judge": ["fake/j"], "store": str(folder / "s.db")}
    resolved = load({**settings, "checks": False}, start=folder, env={})
    return resolved, [files_of(folder / "smell.md"), files_of(folder / "colour.md")]


async def test_a_prompt_that_a_model_fails_for_is_reported_and_the_others_are_evaluated(tmp_path: Path) -> None:
    resolved, files = two_prompts(tmp_path)
    heard: list[Event] = []
    async with open_session(resolved, provider=failing_for("smell"), emit=heard.append) as session:
        tables = await evaluate(session, files, folder=tmp_path / "out", baseline=3, sample=None)
    assert list(tables["table2"]["benchmark"]) == ["colour"]
    assert list(tables["failed"]["benchmark"]) == ["smell"]
    assert list(tables["failed"]["reason"]) == ["malformed"]
    assert any(isinstance(one, Notice) and "smell is not evaluated" in one.message for one in heard)
    assert "smell" in (tmp_path / "out" / "failed.csv").read_text(encoding="utf-8")


async def test_where_no_prompt_could_be_evaluated_the_failure_is_raised_and_the_tables_keep_columns(
    tmp_path: Path,
) -> None:
    resolved, files = two_prompts(tmp_path)
    async with open_session(resolved, provider=failing_for("Name")) as session:
        with pytest.raises(ModelError):
            await evaluate(session, files, folder=tmp_path / "out", baseline=3, sample=None)
    assert (tmp_path / "out" / "table2.csv").read_text(encoding="utf-8").startswith("benchmark,model,first,")


def test_the_spec_as_a_prompt_says_its_rules_and_takes_the_same_inputs() -> None:
    hostile = spec().replace(intent="Say {{ thing }} and {% raw %}.")
    messages = render(spec_as_prompt(prompt(), hostile), {"thing": "a {{ b }}", "place": "p"})
    assert "Say {{ thing }} and {% raw %}." in messages[0].content
    assert "The output is one word." in messages[0].content
    assert messages[1].content == "thing:\na {{ b }}\n\nplace:\np"
    assert literal("{# x #}") != "{# x #}"


def test_a_sample_is_even_over_rules_and_inverses_and_keeps_the_order() -> None:
    cases = [Case(id=f"c{n}", rule=f"r{n % 3}", inverse=n % 2 == 0, inputs={"x": n}) for n in range(60)]
    drawn = sampled(cases, 12, seed=3)
    assert len(drawn) == 12
    assert drawn == sorted(drawn, key=lambda case: int(case.id[1:]))
    assert len({(case.rule, case.inverse) for case in drawn}) == 6
    assert sampled(cases, 12, seed=3) == drawn
    assert sampled(cases, 100, seed=3) == cases


SPEC = """prompt: colour.md
intent: Name a colour.
rules:
  - id: r1
    rule: The output is one word.
    inverse: The output has several words.
    source: in one word
    checks: [{kind: word-count, value: 1}]
    decides: wholly
"""
CASES = "prompt: colour.md\ncases: [{id: a, rule: r1, inputs: {thing: sea}}]\n"
BASELINE = "prompt: colour.md\ncases: [{id: b, inputs: {thing: coal}}]\n"


def test_the_program_evaluates_a_prompt_and_prints_its_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out" / "colour").mkdir(parents=True)
    for name, text in (("colour.md", "user:\nName the colour of {{thing}} in one word.\n"), ("colour.spec.yaml", SPEC),
                       ("colour.cases.yaml", CASES), ("out/colour/baseline.yaml", BASELINE)):  # fmt: skip
        (tmp_path / name).write_text(text, encoding="utf-8")
    asked = ["evaluate", "colour.md", "--models", "fake/RED", "--author", "fake/x", "--store", "s.db", "--out", "out"]
    assert main([*asked, "--judge", "none", "--no-validity"]) == 0
    printed = capsys.readouterr().out
    assert "| colour | 0 of 1 (0–98%) | 0 of 1 (0–98%) | +0 (-98 to +98) | 1.00 |" in printed
    assert "| colour | rules grounded | – of 0 | 1 |" in printed, "nobody says what is not a quotation"
