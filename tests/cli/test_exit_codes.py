"""Who was asked and gave nothing ends ``run`` and ``judge`` with code 3; who was never asked does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptpex.cli.run_ending import exit_code, gravest
from promptpex.core.errors import Interrupted
from promptpex.report import summarise
from tests.e2e.command import Done
from tests.e2e.faults import command
from tests.servers import ScriptedServer, Seen, Step, completion_body, error_body
from tests.tables.by_hand import output, run, verdict

SPEC = """prompt: p.md
intent: Name a capital.
rules:
  - {id: r1, rule: A capital., inverse: No capital., source: the capital, origin: added}
  - {id: r2, rule: One word., source: a word, origin: added, checks: [{kind: word-count, value: 1}]}
"""
CASES = 4
MODELS = "openai/good,openai/dead"
DEAD = "not one usable answer came from openai/dead (4 outputs: 4 not-authorised)"


def answer(seen: Seen) -> Step:
    """``dead`` has no key, ``nonsense`` judges in no shape, ``fickle`` does so but once, ``wordy`` breaks a rule."""
    model, text = seen.body["model"], seen.body["messages"][-1]["content"]
    sound = json.dumps({"r1": {"reason": "fine", "verdict": "pass"}})
    sane = model == "judge" or (model == "fickle" and "Paris-1" in text)
    number = text.split()[-1]
    answers = {"good": f"Paris-{number}", "wordy": f"It is Paris {number}"}
    if model == "dead":
        return Step(body=error_body("no such key", "invalid_api_key"), status=401)
    return Step(body=completion_body(sound if sane else answers.get(model, "as you like")))


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scripted: ScriptedServer) -> None:
    cases = "".join(
        f"  - {{id: c{n}, rule: r1, inputs: {{country: France {n}}}, origin: added}}\n" for n in range(CASES)
    )
    texts = {
        "p.md": "Name the capital of {{country}}",
        "p.spec.yaml": SPEC,
        "p.cases.yaml": f"prompt: p.md\ncases:\n{cases}",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    scripted.otherwise = answer


async def made(server: ScriptedServer, models: str, *more: str, judge: str = "none") -> Done:
    asked = ["run", "p.md", "--models", models, "--judge", judge, "--api-base", f"{server.url}/v1", "-q", *more]
    return await command(asked)


def last(done: Done) -> str:
    return done.err.strip().splitlines()[-1] if done.err.strip() else ""


async def test_a_judge_that_answers_nonsense_is_named_with_the_count_and_why(scripted: ScriptedServer) -> None:
    done = await made(scripted, "openai/good", judge="openai/nonsense")
    assert done.code == 3
    assert last(done).startswith(
        "promptpex: the judge openai/nonsense failed on all of its 4 requests (4 judge-malformed): "
    )
    again = await command(["judge", "--judge", "openai/nonsense", "--api-base", f"{scripted.url}/v1", "-q"])
    assert (again.code, last(again)) == (3, last(done))
    assert (await command(["report"])).code == 0
    cured = await command(["judge", "--judge", "openai/judge", "--api-base", f"{scripted.url}/v1", "-q"])
    assert (cured.code, cured.err) == (0, "")


async def test_a_judge_that_gave_one_verdict_is_no_failure_of_the_command(scripted: ScriptedServer) -> None:
    done = await made(scripted, "openai/good", "--json", judge="openai/fickle")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["unscored"] == {"openai/good": {"judge-malformed": CASES - 1}}


async def test_a_model_without_one_usable_answer_is_named(
    scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = await made(scripted, MODELS)
    assert (done.code, last(done)) == (3, f"promptpex: {DEAD}; --allow-missing-models accepts that")
    allowed = await made(scripted, MODELS, "--allow-missing-models")
    assert (allowed.code, allowed.err) == (0, "")
    monkeypatch.setenv("PROMPTPEX_ALLOW_MISSING_MODELS", "true")
    assert (await made(scripted, MODELS)).code == 0
    assert (await command(["judge", "--judge", "none", "-q"])).code == 0


@pytest.mark.parametrize(
    ("limit", "why"),
    [(("--max-requests", str(CASES)), "budget"), (("--deadline", "0.000001"), "deadline")],
    ids=["budget", "deadline"],
)
async def test_a_model_that_a_limit_left_unasked_keeps_code_0(
    scripted: ScriptedServer, limit: tuple[str, str], why: str
) -> None:
    """The server on this machine takes one model after the other, so the budget goes to the first alone."""
    done = await made(scripted, "openai/good,openai/wordy", *limit, "--json")
    assert (done.code, done.err) == (0, "")
    summary = json.loads(done.out)
    assert summary["partial"] == why
    assert summary["unscored"]["openai/wordy"] == {why: CASES}
    assert ("openai/good" in summary["unscored"]) == (why == "deadline")


async def test_a_judge_that_a_budget_left_unasked_keeps_code_0(scripted: ScriptedServer) -> None:
    done = await made(scripted, "openai/good", "--max-requests", str(CASES), judge="openai/nonsense")
    assert (done.code, done.err) == (0, "")
    assert "not complete (budget)" in done.out


async def test_a_gate_that_fails_goes_before_and_the_silent_model_is_named_all_the_same(
    scripted: ScriptedServer,
) -> None:
    done = await made(scripted, "openai/wordy,openai/dead", "--fail-above", "50%")
    assert done.code == 1
    assert DEAD in done.err
    assert last(done).startswith("promptpex: --fail-above fails openai/wordy (non-compliance is 100%, above 50%)")


def test_an_interruption_goes_before_all() -> None:
    lost = verdict("unscored", source="judge:j", unscored="judge-empty")
    summary = summarise(run([output()], [lost]))
    assert exit_code(summary) == 3
    with pytest.raises(Interrupted):
        exit_code(summary, stopped=True, fail_above=0.0)


def test_hostile_names_and_messages_are_shown_and_not_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    lost = verdict("unscored", source="judge:j\x1b[2J", unscored="judge-empty", reason="so\x1b]0;x\x07\nand so")
    failed = output(model="m\x1b[31m", text=None, error="unavailable")
    assert exit_code(summarise(run([output(), failed], [lost]))) == 3
    err = capsys.readouterr().err
    assert "\x1b" not in err
    assert "\x07" not in err
    assert len(err.splitlines()) == 2


def test_the_gravest_of_several_codes_is_that_of_the_command() -> None:
    assert [gravest(codes) for codes in ((), (0, 1), (1, 3), (3, 2, 1), (2, 130))] == [0, 1, 3, 2, 130]
