"""The noise of a model from runs of the same that are there, in what `compare` and `gate` say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import promptpex
from promptpex.cli.main import run_cli
from promptpex.core.records import Run
from promptpex.report import runs
from promptpex.report.run_tables import tables_of
from promptpex.tables import OwnedRows, noise, outputs
from promptpex.workflow.comparison.noise import noise_around
from tests.tables.many import many
from tests.web.serving import page_of, served, words
from tests.web.stored_runs import with_comparisons

BEFORE, AFTER = "0123456789", "abcdef0123"


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two runs of one version of a prompt that differ on 6 of 60 cases, and one run of another version."""
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "results"
    keep(place, BEFORE, "", answered(6, 0))
    keep(place, BEFORE, "-2", answered(12, 1))
    keep(place, AFTER, "", answered(10, 2))
    return place


def answered(failing: int, at: int, *, partial: str | None = None) -> Run:
    """60 cases of which so many fail, each answer with a latency of its own."""
    made = many(60, {"a": lambda n: n >= failing}, partial=partial)
    return made.replace(outputs=tuple(one.replace(latency_ms=1000.0 * at + n) for n, one in enumerate(made.outputs)))


def keep(results: Path, run: str, number: str, made: Run) -> Path:
    folder = results / made.manifest.prompt / f"{run}{number}"
    runs.finish(folder, made.replace(manifest=made.manifest.replace(run=run)))
    return folder


def measured(results: Path, *names: str) -> list[dict[str, object]]:
    folders = [runs.resolve(Path(name), results) for name in names]
    rows = noise_around(
        [tables_of(runs.read_for_report(folder)) for folder in folders], folders, results, confidence=0.95
    )
    return [dict(row) for row in rows]


def test_it_is_measured_from_two_runs_of_the_same(results: Path) -> None:
    (row,) = measured(results, BEFORE)
    assert (row["model"], row["runs"], row["cases"], row["differing"]) == ("a", 2, 60, 0.1)
    assert row["points"] == pytest.approx(1.959964 * (0.1 / 60) ** 0.5, rel=1e-5)
    assert measured(results, f"{BEFORE}-2") == measured(results, BEFORE)
    assert measured(results, BEFORE, f"{BEFORE}-2") == measured(results, BEFORE)
    assert measured(results, AFTER) == []
    assert measured(results, BEFORE, AFTER)[0]["differing"] == 0.1


def test_what_was_read_twice_from_the_store_is_no_second_answer(results: Path) -> None:
    keep(results, AFTER, "-2", answered(10, 2))
    assert measured(results, AFTER) == []
    same = outputs(answered(10, 2))
    assert not len(noise([[OwnedRows(same), OwnedRows(same)]]))
    assert len(noise([[OwnedRows(same), OwnedRows(outputs(answered(10, 3)))]]))


def instant(failing: int, *, model: str = "a", **settings: object) -> Run:
    """60 cases of which so many fail, by a stand-in that takes no time."""
    return many(60, {model: lambda n: n >= failing}, settings=settings)


def test_stand_ins_that_take_no_time_are_noisy_by_whose_answers_they_are(results: Path) -> None:
    keep(results, AFTER[::-1], "", instant(6))
    keep(results, AFTER[::-1], "-2", instant(9, fresh=True))
    (row,) = measured(results, AFTER[::-1])
    assert (row["runs"], row["cases"], row["differing"]) == (2, 60, 0.05)
    (results / "colours" / f"{AFTER[::-1]}-2" / "manifest.json").unlink()
    keep(results, AFTER[::-1], "-3", instant(9))
    assert measured(results, AFTER[::-1]) == []


def test_a_recording_that_is_replayed_again_gives_no_second_answer(results: Path) -> None:
    for number in ("", "-2"):
        keep(results, AFTER[::-1], number, instant(6, model="replay/r.jsonl#openai/m", fresh=True))
    assert measured(results, AFTER[::-1]) == []


def test_a_run_in_memory_and_in_its_folder_is_one(results: Path) -> None:
    keep(results, AFTER[::-1], "", instant(6))
    keep(results, AFTER[::-1], "-2", instant(6, fresh=True))
    folder = results / "colours" / f"{AFTER[::-1]}-2"
    run = tables_of(runs.read_for_report(folder))
    (row,) = noise_around([run], [None], results, confidence=0.95)
    assert (row["runs"], row["cases"], row["differing"]) == (2, 60, 0.0)
    assert [row] == list(noise_around([run, run], [None, folder], results, confidence=0.95))
    kept_once = list(noise_around([run, run], [None, None], results / "none", confidence=0.95))
    assert kept_once == []


def test_runs_that_are_partial_damaged_or_others_are_left_out(results: Path) -> None:
    keep(results, AFTER, "-2", answered(30, 5, partial="budget"))
    damaged = keep(results, AFTER, "-3", answered(30, 6))
    (damaged / "outputs.jsonl").write_text("{}\n", encoding="utf-8")
    other = keep(results, AFTER, "-4", answered(30, 7))
    manifest = json.loads((other / "manifest.json").read_text(encoding="utf-8"))
    (other / "manifest.json").write_text(json.dumps({**manifest, "run": "another"}), encoding="utf-8")
    assert measured(results, AFTER) == []


def test_repeats_of_one_run_are_enough(results: Path) -> None:
    made = many(20, {"a": lambda n: n >= 5}, repeats=2, settings={"repeats": 2})
    folder = keep(results, "fedcba9876", "", made)
    (row,) = measured(results, folder.name)
    assert (row["runs"], row["cases"], row["differing"]) == (1, 20, 0.0)
    assert row["points"] == 0.0
    assert row["points_at_most"] != 0.0


def called(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = run_cli(arguments)
    captured = capsys.readouterr()
    return code, " ".join((captured.out + captured.err).split())


def test_compare_says_how_a_change_stands_to_it(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = called(capsys, "compare", BEFORE, AFTER)
    assert code == 0
    assert "Noise of a: asked again, it keeps or breaks its rules otherwise on 10% of the cases" in text
    assert "differ by less than 8 points nearly always, or than 11.5 points if the noise" in text
    assert "the change of +6.7 points is no more than that" in text
    assert "Both runs were made from the same" not in text
    code, text = called(capsys, "compare", BEFORE, f"{BEFORE}-2")
    assert "Both runs were made from the same prompt" in text
    keep(results, "aaaaaaaaaa", "", answered(40, 9))
    run_cli(["compare", BEFORE, "aaaaaaaaaa", "--json"])
    made = json.loads(capsys.readouterr().out)
    assert made["noise"][0]["differing"] == 0.1
    assert any("the change of +56.7 points is beyond that" in note for note in made["notes"])


async def test_the_library_and_the_local_page_say_the_same(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_cli(["compare", BEFORE, AFTER, "--json"])
    printed = json.loads(capsys.readouterr().out)
    by_name, in_memory = (promptpex.compare(one(BEFORE), one(AFTER)) for one in (str, promptpex.read_run))
    for made in (by_name, in_memory):
        assert (list(made.notes), list(made.noise)) == (printed["notes"], printed["noise"])
    with served(with_comparisons(results)) as server:
        place = f"/compare?before={BEFORE}&after={AFTER}"
        assert "the change of +6.7 points is no more than that" in words(await page_of(server, place))
        keep(results, BEFORE, "-3", answered(40, 7))
        assert "by less than 15.6 points nearly always" in words(await page_of(server, place))


def test_the_gate_says_it_beside_a_baseline(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = called(capsys, "gate", f"{BEFORE}-2", "--baseline", AFTER)
    assert code == 0
    assert "Noise of a: asked again" in text
    run_cli(["gate", f"{BEFORE}-2", "--baseline", AFTER, "--json"])
    assert json.loads(capsys.readouterr().out)["baseline"]["noise"][0]["differing"] == 0.1
    assert "Noise of" not in called(capsys, "gate", f"{BEFORE}-2", "--min-scored", "1")[1]
