"""Runs that ask no more than it takes: error rate and saved calls by simulation, and whole runs on chosen replies."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from promptpex.config import load
from promptpex.errors import ConfigError, NotAuthorised
from promptpex.llm.fake import FakeClient
from promptpex.pipeline.until import ROUND, rounds, settled
from promptpex.project import files_of, run
from promptpex.records import Request, Run
from promptpex.report import plain, summarise
from promptpex.report.files import write
from promptpex.report.sections import footnotes
from promptpex.session import open_session
from tests.samples import asked

CASES = 200
SIMULATIONS = 120


def simulate(
    rng: random.Random, shares: dict[str, float], *, limit: float | None = None, tolerance: float | None = 0.1
) -> tuple[dict[str, int], dict[str, dict[str, list[bool | None]]]]:
    """A run of up to ``CASES`` cases in which each model passes with its own probability; when each was settled."""
    stop: dict[str, int] = {}
    results: dict[str, dict[str, list[bool | None]]] = {model: {} for model in shares}
    for batch in rounds(range(CASES), seed=rng.randrange(10**6)):
        for model, share in shares.items():
            if model not in stop:
                results[model] |= {f"c{case}": [rng.random() < share] for case in batch}
        for model in settled(results, tolerance=tolerance, limit=limit, alpha=0.05):
            stop.setdefault(model, len(results[model]))
        if len(stop) == len(shares):
            break
    return stop, results


def test_looking_after_every_round_is_wrong_no_more_often_than_allowed() -> None:
    """Two models alike: over all looks, one is called worse in 5 % of the runs at most."""
    from promptpex.stats import race

    rng, wrong = random.Random(1), 0
    for _ in range(SIMULATIONS):
        _, results = simulate(rng, {"a": 0.7, "b": 0.7}, tolerance=None)
        values = {model: {case: told[0] for case, told in cases.items()} for model, cases in results.items()}
        wrong += any(one.place == "worse" for one in race(values).values())
    assert wrong <= 0.05 * SIMULATIONS


def test_a_limit_at_the_truth_is_seldom_passed() -> None:
    rng = random.Random(2)
    decided = [len(simulate(rng, {"a": 0.8}, limit=0.2)[0]) for _ in range(SIMULATIONS)]
    assert sum(decided) <= 0.05 * SIMULATIONS


def test_clear_models_stop_early_and_the_place_is_right() -> None:
    rng, used, right = random.Random(3), 0, 0
    runs = 40
    for _ in range(runs):
        stop, results = simulate(rng, {"good": 0.95, "bad": 0.5})
        used += sum(map(len, results.values()))
        right += set(stop) == {"good", "bad"}
    assert right == runs
    assert used < 0.3 * runs * 2 * CASES


def test_models_far_from_a_limit_stop_early() -> None:
    rng = random.Random(4)
    spent = [sum(map(len, simulate(rng, {"good": 0.99, "bad": 0.5}, limit=0.2)[1].values())) for _ in range(40)]
    assert sum(spent) / len(spent) < 0.3 * 2 * CASES


def test_rounds_hold_every_case_once_in_an_order_that_the_seed_decides() -> None:
    made = list(rounds(range(25), seed=7))
    assert [len(batch) for batch in made] == [ROUND, ROUND, 5]
    assert sorted(case for batch in made for case in batch) == list(range(25))
    assert made == list(rounds(range(25), seed=7))
    assert made != list(rounds(range(25), seed=8))


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
        "results_dir": str(folder / "results"),
        "max_attempts": 1,
        "until_decided": True,
        **more,
    }
    async with open_session(load(given, start=folder, env={}), provider=fake) as session:
        finished, where = await run(session, files_of(prompt))
    write(summarise(finished, folder=where), where)
    return finished, where


async def test_a_run_stops_when_it_is_decided_and_says_what_it_saved(tmp_path: Path) -> None:
    prompt, fake = prepared(tmp_path), FakeClient(answer)
    finished, _ = await execute(tmp_path, prompt, fake)
    summary = summarise(finished)
    assert summary.models["place"].tolist() == ["best", "worse"]
    assert summary.models["interval"].tolist() == ["anytime", "anytime"]
    assert len(fake.requests) == len(finished.outputs) < 80
    assert summary.saved is not None
    assert (summary.saved.planned, summary.saved.asked) == (160, len(finished.outputs))
    told = f"{160 - len(finished.outputs)} of 160 requests to models under test were saved"
    assert any(told in note for note in footnotes(summary))
    assert plain(summary)["saved"]["asked"] == len(finished.outputs)
    order = [(output.model, int(output.case[1:])) for output in finished.outputs]
    assert order == sorted(order, key=lambda key: (key[0] != "fake/good", key[1]))
    assert {verdict.key for verdict in finished.verdicts} == {output.key for output in finished.outputs}


async def test_the_same_command_again_asks_nothing_and_changes_no_byte(tmp_path: Path) -> None:
    prompt = prepared(tmp_path)
    first, folder = await execute(tmp_path, prompt, FakeClient(answer))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    again = FakeClient(answer)
    second, same = await execute(tmp_path, prompt, again)
    assert (again.requests, same, second) == ([], folder, first)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


async def test_going_on_without_it_asks_the_rest_in_a_run_of_its_own(tmp_path: Path) -> None:
    prompt = prepared(tmp_path)
    first, folder = await execute(tmp_path, prompt, FakeClient(answer))
    rest = FakeClient(answer)
    whole, other = await execute(tmp_path, prompt, rest, until_decided=False)
    assert other != folder
    assert len(whole.outputs) == 160
    assert len(rest.requests) == 160 - len(first.outputs)


async def test_a_limit_decides_for_one_model_alone(tmp_path: Path) -> None:
    prompt, fake = prepared(tmp_path), FakeClient(answer)
    finished, _ = await execute(tmp_path, prompt, fake, models=["fake/bad"], limit="20%")
    summary = summarise(finished)
    assert summary.models["place"].tolist() == ["above limit"]
    assert len(fake.requests) < 40
    assert summary.answer is not None
    assert "Certainly above the limit of 20 %: fake/bad" in summary.answer


async def test_a_model_that_never_answers_is_in_nobodys_way(tmp_path: Path) -> None:
    prompt, fake = prepared(tmp_path), FakeClient(answer)
    finished, _ = await execute(tmp_path, prompt, fake, models=["fake/good", "fake/bad", "fake/broken"])
    places = dict(zip(finished.manifest.models, summarise(finished).models["place"], strict=True))
    assert places == {"fake/good": "best", "fake/bad": "worse", "fake/broken": "unscored"}
    assert len([request for request in fake.requests if request.model == "fake/good"]) < 80


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"models": ["fake/good"]}, "needs two models"),
        ({"against": "fake/good"}, "drop --against"),
        ({"against": "fake/other", "until_decided": False}, "name one of the models"),
        ({"limit": 0.1, "until_decided": False}, "--until-decided stops"),
    ],
)
async def test_questions_without_an_answer_are_refused_before_anything_is_asked(
    tmp_path: Path, more: dict[str, Any], told: str
) -> None:
    fake = FakeClient(answer)
    with pytest.raises(ConfigError, match=told):
        await execute(tmp_path, prepared(tmp_path), fake, **more)
    assert fake.requests == []
