"""Names that would be obeyed, weights that leave little, suites of one case, of no rule, of nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import promptpex
from promptpex.cli.main import run_cli
from promptpex.core.errors import InputError
from promptpex.core.records import Manifest, Run
from promptpex.report import runs, summarise, to_dict
from promptpex.report.files import csv_text
from promptpex.report.html_page import html
from promptpex.tables import RankingOptions, models, outputs, rankings
from tests.numbers.server import Place, answering
from tests.numbers.world import by, cases, first, ran, rows_of, simulated, summed
from tests.report.printed import printed


def renamed(run: Run, names: dict[str, str]) -> Run:
    """The run with other names of its models."""
    manifest: Manifest = run.manifest.replace(models=tuple(names.get(name, name) for name in run.manifest.models))
    return run.replace(
        manifest=manifest,
        outputs=tuple(one.replace(model=names.get(one.model, one.model)) for one in run.outputs),
        verdicts=tuple(one.replace(model=names.get(one.model, one.model)) for one in run.verdicts),
    )


HOSTILE = (
    "[bold]x[/bold]",
    "<script>alert(1)</script>",
    "=1+1",
    "x\x1b[31m\x07",
    "{{7*7}}",
    "a\nb",
    "\u202ex",
    "%s %d",
)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_model_s_name_is_shown_and_not_obeyed(name: str) -> None:
    run = simulated(["a", "b", "c"], cases(60, 4), by({"a": first(0), "b": first(30), "c": first(60, fate="unasked")}))
    summary = summarise(renamed(run, {"fake/a": name, "fake/c": f"{name}c"}))
    assert [one.outcome for one in summary.rankings.models.values()] == ["undecided", "worse", "unscored"]
    page, screen = html(summary), printed(summary)
    assert "<script>alert" not in page
    assert "\x1b" not in screen
    assert "\x07" not in screen
    assert "49" not in page.partition("<main>")[0].partition("answer")[2].partition("</p>")[0]
    assert not any(line.startswith("=1") for line in csv_text(summary.models).splitlines())
    if name == "[bold]x[/bold]":
        assert "[bold]x[/bold] (0%" in " ".join(screen.split())


def test_one_case() -> None:
    summary, rows = summed(simulated(["a", "b"], cases(1, 1), by({"a": first(0), "b": first(1)}), aims=1))
    assert [row["decision"] for row in rows.values()] == ["undecided", "undecided"]
    assert rows["a"]["ci_high"] == pytest.approx(0.975)
    assert "1 of 1" in printed(summary)


def test_one_case_often_is_still_one_case() -> None:
    """100 repeats of one case say all of that case, and next to nothing of cases."""
    _, rows = summed(simulated(["a", "b"], cases(1, 1), by({"a": first(0), "b": first(1)}), aims=1, repeats=100))
    assert [row["decision"] for row in rows.values()] == ["undecided", "undecided"]
    assert rows["a"]["ci_high"] == pytest.approx(0.975)


def test_one_rule_is_enough_for_a_claim() -> None:
    _, rows = summed(simulated(["a", "b"], cases(100, 1), by({"a": first(0), "b": first(50)}), aims=1, judge=False))
    assert [row["decision"] for row in rows.values()] == ["best", "worse"]


def test_cases_that_aim_at_no_rule_stand_each_for_itself() -> None:
    fates = by({"a": first(0), "b": first(30)})
    summary, rows = summed(simulated(["a", "b"], cases(60, 4, baseline=True), fates))
    assert [row["decision"] for row in rows.values()] == ["best", "worse"]
    assert summary.details.by_case_type["case_type"].unique().tolist() == ["no rule"]


@pytest.mark.parametrize("names", [(), ("a",), ("a", "b")])
def test_a_run_without_outputs(names: tuple[str, ...]) -> None:
    summary, rows = summed(simulated(list(names), (), by({})))
    assert [row["decision"] for row in rows.values()] == ["unscored"] * len(names)
    assert summary.answer is not None
    assert summary.answer.startswith("Nothing was scored, so no model can be assessed.")
    assert html(summary)
    assert printed(summary)
    assert to_dict(summary)["models"] == list(to_dict(summary)["models"])
    assert len(models(summary.outputs)) == 0


def test_weights_are_copies_of_cases_for_the_share_and_not_for_its_certainty() -> None:
    """Rule cases three times, inverse cases once: the share is as if they were there so often, the interval is not."""
    made = cases(80, 4, inverses=True)
    fates = by({"a": lambda case, repeat: "broken" if made[case].inverse and case % 3 else "kept"})
    weighed = summed(simulated(["a"], made, fates, weights={"rule": 3}))[1]["a"]
    alone = summed(simulated(["a"], made, fates))[1]["a"]
    inverse = [case for case in made if case.inverse]
    broken = sum(case.inverse and number % 3 > 0 for number, case in enumerate(made))
    assert weighed["non_compliance"] == pytest.approx(broken / (len(inverse) + 3 * (80 - len(inverse))))
    assert weighed["non_compliance"] < alone["non_compliance"] == pytest.approx(broken / 80)
    everywhere = summed(simulated(["a"], made, fates, weights={"rule": 3, "inverse": 3}))[1]["a"]
    for column in ("non_compliance", "ci_low", "ci_high"):
        assert everywhere[column] == pytest.approx(alone[column])


def test_rule_cases_alone() -> None:
    made = cases(80, 4, inverses=True)
    fates = by({"a": lambda case, repeat: "broken" if made[case].inverse else "kept", "b": first(0)})
    weighed = summed(simulated(["a", "b"], made, fates, weights={"inverse": 0}))[1]
    only = tuple(case for case in made if not case.inverse)
    alone = summed(simulated(["a", "b"], only, by({"a": first(0), "b": first(0)})))[1]
    for name in "ab":
        for column in ("non_compliance", "ci_low", "ci_high", "decision", "p"):
            assert weighed[name][column] == alone[name][column]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"nonsense": 2}, "--weights names nonsense, which no case aims at: name one of rule, inverse, r1, r2, r3, r4"),
        ({"rule": 0, "inverse": 0}, "--weights leaves no case: give at least one kind of case a weight above 0"),
        ({"r1": 0, "r2": 0, "r3": 0, "r4": 0}, "--weights leaves no case"),
    ],
)
def test_weights_that_cannot_be_used_are_refused(weights: dict[str, int], message: str) -> None:
    run = simulated(["a"], cases(20, 4, inverses=True), by({"a": first(3)}), aims=4)
    with pytest.raises(InputError, match=message):
        summarise(run, weights=weights)


@pytest.mark.parametrize("weights", ["rule=", "rule=x", "rule=-1", "=3", "rule=1.5", "rule=2000", "rule"])
def test_weights_that_cannot_be_read_are_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], weights: str
) -> None:
    monkeypatch.chdir(tmp_path)
    keep(tmp_path, simulated(["a"], cases(20, 4), by({"a": first(3)}), aims=4))
    assert run_cli(["report", f"--weights={weights}"]) == 2
    message = capsys.readouterr().err
    assert len(message.strip().splitlines()) == 1
    assert "weights" in message


def keep(folder: Path, run: Run) -> Path:
    """The run in a folder of its own."""
    where = runs.folder_for(folder / "results", run.prompt.name, run.manifest.run)
    runs.finish(where, run)
    return where


async def test_weights_on_a_report_change_what_it_says_and_not_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    made = cases(80, 4, inverses=True)
    fates = by({"a": first(0), "b": lambda case, repeat: "broken" if made[case].inverse else "kept"})
    keep(tmp_path, simulated(["a", "b"], made, fates))
    assert run_cli(["gate", "--max-non-compliance", "20%"]) == 1
    assert run_cli(["gate", "--max-non-compliance", "20%", "--weights", "inverse=0"]) == 0
    assert run_cli(["report", "--weights", "inverse=0"]) == 0
    assert "weighted by inverse 0" in capsys.readouterr().out
    assert run_cli(["report", "--weights", "inverse=0", "--full"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "weighted by inverse 0; 0% of them tempt the model to fail" in shown


def test_a_named_reference_that_has_nothing_scored_places_nobody() -> None:
    fates = by({"a": first(60, fate="cut"), "b": first(0), "c": first(60)})
    summary, rows = summed(simulated(["a", "b", "c"], cases(60, 4), fates), against="fake/a")
    assert [row["decision"] for row in rows.values()] == ["unscored", "undecided", "undecided"]
    assert summary.answer is not None
    assert "60 of 60 outputs of fake/a are unscored" in summary.answer


def test_a_table_of_the_columns_that_places_need_is_enough() -> None:
    from tests.numbers.world import frame

    rows = frame(a=[False] * 60, b=[True] * 30 + [False] * 30)
    ranking = rankings(rows, ["a", "b"], RankingOptions())
    assert {name: one.outcome for name, one in ranking.models.items()} == {"a": "best", "b": "worse"}


def test_public_names_are_enough(tmp_path: Path) -> None:
    """What a program does: run, outputs, models."""
    run = ran(tmp_path, ["a", "b"], cases(40, 4), by({"a": first(0), "b": first(20)}), aims=4)
    table = promptpex.tables.models(promptpex.tables.outputs(run), order=run.manifest.models)
    assert table["decision"].tolist() == ["best", "worse"]
    assert table["decision"].tolist() == [row["decision"] for row in rows_of(summarise(run)).values()]
    assert outputs(run)["asked"].all()


async def test_a_run_that_stands_on_a_server_says_the_same(
    place: Callable[[int], Place],
) -> None:
    here = place(40)
    here.server.otherwise = answering({"b": 20})
    done, report = await here.run("a,b")
    assert (done.code, done.err) == (0, "")
    places: dict[str, Any] = {row["model"]: row["decision"] for row in report["models"]}
    assert places == {"openai/a": "best", "openai/b": "worse"}
