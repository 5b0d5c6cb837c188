"""Weights: what is said counts what has a weight, and names that fit no case are refused before anything is paid."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import promptpex
from promptpex.cli.main import run_cli
from promptpex.core.errors import PromptpexError
from promptpex.report import runs
from tests.e2e.faults import command
from tests.numbers.server import Place, answering
from tests.numbers.world import Fate, World, by, cases, first, material, simulated, summed


@pytest.mark.parametrize("fate", ["cut", "unasked"])
def test_a_model_scored_only_on_cases_without_a_weight_says_nothing(fate: Fate) -> None:
    made = cases(40, 4, inverses=True)
    fates = by(
        {
            "a": lambda case, repeat: "kept" if made[case].inverse else fate,
            "b": lambda case, repeat: "broken" if case % 5 == 0 else "kept",
        }
    )
    summary, rows = summed(simulated(["a", "b"], made, fates, weights={"inverse": 0}))
    assert rows["a"]["non_compliance"] is None
    assert not {row["decision"] for row in rows.values()} & {"best", "tied", "worse"}
    assert "fake/a" not in {row["versus"] for row in rows.values()}
    assert summary.answer is not None
    assert "fake/a (0%" not in summary.answer


def counts_fit_the_share(answer: str) -> bool:
    """Whether "x of y scored outputs (z %" can be true of the share that stands behind it."""
    stated = re.search(r"(\d+) of (\d+) scored outputs \(([\d.]+)%", answer)
    return stated is None or abs(int(stated[1]) / int(stated[2]) - float(stated[3]) / 100) < 0.006


def test_the_counts_in_the_sentence_fit_the_share_where_cases_are_weighed() -> None:
    """All inverse cases are broken and none counts: the answer said 20 of 40 outputs, 0%."""
    made = cases(40, 4, inverses=True)
    fates = by({"a": lambda case, repeat: "broken" if made[case].inverse else "kept"})
    for weights in ({"inverse": 0}, {"rule": 3}):
        summary, rows = summed(simulated(["a"], made, fates, weights=weights))
        assert rows["a"]["non_compliance"] == pytest.approx(0.0 if "inverse" in weights else 0.25)
        assert counts_fit_the_share(summary.answer or "")
    assert "in 20 of 40 scored outputs, weighted (25%" in (summary.answer or "")


def test_the_counts_in_the_sentence_fit_the_share_where_repeats_were_lost() -> None:
    """Of five cases one repeat is left, and broken; the other five kept all three: 5 of 20 outputs, half the cases."""
    fates = by({"a": lambda case, repeat: "kept" if case >= 5 else "cut" if repeat else "broken"})
    summary, rows = summed(simulated(["a"], cases(10, 2), fates, aims=2, repeats=3))
    assert rows["a"]["non_compliance"] == pytest.approx(0.5)
    assert counts_fit_the_share(summary.answer or "")


def test_a_case_that_aims_at_nothing_counts_once() -> None:
    """``rule`` is for cases that aim at a rule: half of the cases aim at none, and break."""
    made = (*cases(40, 4), *(case.replace(id=f"n{case.id}", rule=None) for case in cases(40, 4)))
    fates = by({"a": lambda case, repeat: "broken" if made[case].rule is None else "kept"})
    for weights, share in (({"rule": 3}, 0.25), ({"rule": 0}, 1.0), ({"inverse": 5}, 0.5)):
        rows = summed(simulated(["a"], made, fates, judge=False, weights=weights))[1]
        assert rows["a"]["non_compliance"] == pytest.approx(share)


def test_few_are_few_that_count() -> None:
    """Four rule cases count, sixty inverse cases do not."""
    made = (*cases(4, 4), *(case.replace(id=f"i{case.id}", inverse=True) for case in cases(60, 4)))
    summary, rows = summed(simulated(["a"], made, by({"a": first(0)}), weights={"inverse": 0}))
    assert rows["a"]["ci_high"] > 0.5
    assert summary.answer is not None
    assert "treat its share as a rough guide" in summary.answer


def test_compare_refuses_weights_that_no_case_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("old", "new"):
        run = simulated(["a"], cases(40, 4), by({"a": first(0)}), aims=4)
        where = runs.folder_for(tmp_path / "results", run.prompt.name, name)
        runs.finish(where, run.replace(manifest=run.manifest.replace(run=name)))
    assert run_cli(["compare", "old", "new", "--weights", "rule=2"]) == 0
    capsys.readouterr()
    assert run_cli(["compare", "old", "new", "--weights", "nonsense=2"]) == 2
    assert "nonsense" in capsys.readouterr().err


async def test_run_refuses_weights_that_no_case_has_before_anything_is_asked(
    place: Callable[[int], Place],
) -> None:
    server = place(10).server
    server.otherwise = answering({})
    for more in ((), ("--drop-worse",)):
        asked = ["run", "p.md", "--models", "openai/a,openai/b", "--judge", "none", "--weights", "nonsense=2", "-q"]
        done = await command([*asked, *more, "--api-base", f"{server.url}/v1"])
        assert done.code == 2
        assert "nonsense" in done.err
        assert server.count == 0


def test_the_api_refuses_weights_that_no_case_has_before_anything_is_asked(tmp_path: Path) -> None:
    made = cases(10, 2)
    prompt, spec, suite = material(made, 2, judge=False)
    client = promptpex.FakeClient(World(suite, by({"a": first(0)})))
    settings: Any = {"store": str(tmp_path / "s.db"), "weights": {"nonsense": 2}}
    with pytest.raises(PromptpexError, match="nonsense"):
        promptpex.run(prompt, spec, suite, models=["fake/a"], judge="none", client=client, **settings)
    assert client.requests == []
