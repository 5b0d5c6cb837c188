"""The published recordings: every published cell, and what becomes of damage."""

from __future__ import annotations

import json
import shutil
from math import comb
from pathlib import Path
from typing import Any

import pytest

from benchmarks.reproduce import dataset, measures
from benchmarks.reproduce.__main__ import main
from benchmarks.reproduce.dataset import Benchmark
from benchmarks.reproduce.measures import Tables, averages, differing, misprints, ours, paper_percent, sentences, tables
from promptpex.core.errors import InputError, RunError
from promptpex.judging.modes.prompt import WHOLE_PROMPT
from promptpex.report import runs
from promptpex.stats import clopper_pearson, holm
from promptpex.tables import models as models_table
from promptpex.tables import outputs, rankings
from tests.reproduce import recordings


@pytest.fixture(scope="session")
def evals(shared: Path) -> Path:
    folder = shared / "published" / "evals" / "v7"
    if not folder.is_dir():
        pytest.skip("the published recordings are not beside the repository")
    return folder


@pytest.fixture(scope="session")
def expected(evals: Path) -> dict[str, Any]:
    expected = json.loads((evals.parents[1] / "expected.json").read_text(encoding="utf-8"))
    assert isinstance(expected, dict)
    return expected


@pytest.fixture(scope="session")
def benchmarks(evals: Path) -> list[Benchmark]:
    return dataset.read(evals)


@pytest.fixture(scope="session")
def counted(benchmarks: list[Benchmark]) -> Tables:
    return tables(benchmarks)


def _cell(counts: dict[str, Any], stem: str) -> dict[str, Any]:
    return {"non_compliant": counts[f"{stem}_nc"], "n": counts[f"{stem}_n"], "percent": counts[f"{stem}_pct"]}


def test_every_cell_of_table_2(counted: Tables, expected: dict[str, Any]) -> None:
    wanted = {
        benchmark: {model: {"promptpex": _cell(c, "ppex"), "baseline": _cell(c, "bl")} for model, c in models.items()}
        for benchmark, models in expected["table2"].items()
    }
    assert counted["table2"] == wanted
    for benchmark, models in expected["table2"].items():
        for model, cell in models.items():
            assert [counted["table2"][benchmark][model][p]["percent"] for p in ("promptpex", "baseline")] == cell[
                "paper"
            ]


def test_every_cell_of_table_3(counted: Tables, expected: dict[str, Any]) -> None:
    wanted = {
        benchmark: {model: {"rules": _cell(c, "rule"), "inverse": _cell(c, "inv")} for model, c in models.items()}
        for benchmark, models in expected["table3"].items()
    }
    assert counted["table3"] == wanted


def test_the_two_cells_where_the_print_differs_are_reported(counted: Tables, expected: dict[str, Any]) -> None:
    differing = [
        (benchmark, model, part)
        for benchmark, models in expected["table3"].items()
        for model, counts in models.items()
        for part, stem, place in (("rules", "rule", 0), ("inverse", "inv", 1))
        if paper_percent(counts[f"{stem}_nc"], counts[f"{stem}_n"]) != counts["paper"][place]
    ]
    sentences = misprints(counted)
    assert len(sentences) == len(differing) == 2
    for (benchmark, model, part), sentence in zip(differing, sentences, strict=True):
        assert benchmark in sentence
        assert model in sentence
        assert measures.misprinted(benchmark, model, part, counted["table3"][benchmark][model][part])


def test_validity_and_groundedness(counted: Tables, expected: dict[str, Any]) -> None:
    for benchmark, counts in expected["test_validity"].items():
        assert counted["validity"][benchmark] == {"tests": counts["tests"], "valid": counts["valid"]}
    for benchmark, counts in expected["groundedness"].items():
        assert counted["groundedness"][benchmark] == {"rules": counts["rules"], "grounded": counts["grounded"]}
    assert counted["validity"].keys() == expected["test_validity"].keys()


def test_our_intervals_are_exact_and_hold_whatever_was_lost(benchmarks: list[Benchmark], counted: Tables) -> None:
    for benchmark in benchmarks:
        figures = ours(benchmark)
        for part, shares in (("promptpex", figures.shares), ("baseline", figures.baseline)):
            for model, share in shares.items():
                cell = counted["table2"][benchmark.name][model][part]
                lost = cell["n"] - share.scored
                assert share.broken == cell["non_compliant"] - lost
                assert share.share == pytest.approx(share.broken / cell["n"])
                assert share.low == pytest.approx(clopper_pearson(share.broken, cell["n"]).low)
                assert share.high == pytest.approx(clopper_pearson(share.broken + lost, cell["n"]).high)
                assert share.at_least is (lost > 0)


def test_our_figures_are_those_of_the_report_of_a_run(benchmarks: list[Benchmark]) -> None:
    for benchmark in benchmarks:
        figures, rows = ours(benchmark), outputs(benchmark.run)
        table = models_table(rows[rows["rule"].notna()], order=benchmark.models).set_index("model")
        for name, place in figures.places.models.items():
            row, share = table.loc[name], figures.shares[name]
            assert (row["decision"], row["non_compliance"]) == (place.outcome, pytest.approx(share.share))
            assert (row["ci_low"], row["ci_high"]) == (pytest.approx(share.low), pytest.approx(share.high))


def test_the_lost_verdicts_are_unscored_and_named(benchmarks: list[Benchmark]) -> None:
    lost = {(b.name, v.model) for b in benchmarks for v in b.run.verdicts if v.status == "unscored"}
    assert lost == {("art-prompt", "qwen2.5:3b"), ("sentence-rewrite", "gemma2:9b")}
    messages = [str(problem) for problem in dataset.problems_of(benchmarks)]
    assert sum("verdict is missing" in message for message in messages) == 2
    assert sum("preamble" in message for message in messages) == 1
    assert sum("6 cells" in message for message in messages) == 1
    assert len(messages) == 4


def test_no_pair_is_called_different_that_is_not(benchmarks: list[Benchmark]) -> None:
    places = {(b.name, model): place.outcome for b in benchmarks for model, place in ours(b).places.models.items()}
    worse = [key for key, place in places.items() if place == "worse"]
    assert worse == [
        ("art-prompt", "llama3.2:1b"),
        ("extract-names", "qwen2.5:3b"),
        ("extract-names", "llama3.2:1b"),
        ("sentence-rewrite", "llama3.2:1b"),
        ("speech-tag", "llama3.2:1b"),
    ]
    assert "best" not in places.values()
    pairs = [pair for benchmark in benchmarks for pair in ours(benchmark).pairs]
    assert (len(pairs), sum(pair.adjusted > 0.05 for pair in pairs)) == (36, 26)


def test_the_page_says_what_the_recordings_show(benchmarks: list[Benchmark]) -> None:
    page = " ".join((Path(__file__).resolve().parents[2] / "benchmarks/reproduce/README.md").read_text("utf-8").split())
    figures = {benchmark.name: ours(benchmark) for benchmark in benchmarks}
    widths = [share.high - share.low for one in figures.values() for share in one.shares.values()]
    pairs = [pair for one in figures.values() for pair in one.pairs]
    shown = sum(pair.adjusted <= 0.05 for pair in pairs)
    worse = sum(len(one.places.having("worse")) for one in figures.values())
    assert f"Intervals are {100 * sum(widths) / len(widths):.0f} points wide" in page
    assert f"Of the {len(pairs)} pairs of models {shown} are shown to differ, and {worse} times a model" in page
    assert "No model is shown to be the best of any benchmark. gpt-4o-mini is shown to be less than 5 points" in page
    tied = [(name, model) for name, one in figures.items() for model in one.places.having("tied")]
    assert tied == [("art-prompt", "gpt-4o-mini")]


def test_one_answer_to_a_case_is_mcnemars_test_corrected_by_holm(benchmarks: list[Benchmark]) -> None:
    (one,) = (benchmark for benchmark in benchmarks if benchmark.name == "extract-names")
    broken = {(v.case, v.model): v.status == "fail" for v in one.run.verdicts if not v.case.startswith("baseline")}
    cases = {case for case, _ in broken}
    wanted = []
    for pair in ours(one).pairs:
        more = sum(broken[case, pair.first] > broken[case, pair.second] for case in cases)
        fewer = sum(broken[case, pair.first] < broken[case, pair.second] for case in cases)
        assert more >= fewer
        tail = sum(comb(more + fewer, k) for k in range(more, more + fewer + 1))
        wanted.append(min(1.0, 2 * tail / 2 ** (more + fewer)))
    assert [pair.p for pair in ours(one).pairs] == pytest.approx(wanted)
    assert [pair.adjusted for pair in ours(one).pairs] == pytest.approx(holm(wanted))


def test_a_lost_verdict_keeps_its_model_from_being_best_or_tied(benchmarks: list[Benchmark]) -> None:
    (one,) = (benchmark for benchmark in benchmarks if benchmark.name == "sentence-rewrite")
    figures = ours(one)
    place = figures.places.models["gemma2:9b"]
    assert place.outcome == "undecided"
    assert place.because is not None
    assert "1 of 48 outputs of gemma2:9b" in place.because
    assert figures.shares["gemma2:9b"].at_least
    rows = outputs(one.run)
    scored = rows[rows["rule"].notna() & rows["verdict"].ne("unscored")]
    assert rankings(scored, one.models).models["gemma2:9b"].outcome == "tied", "but one of its verdicts is lost"
    assert "gemma2:9b" in figures.candidates


def test_all_published_rows_are_in_the_runs(benchmarks: list[Benchmark]) -> None:
    for benchmark in benchmarks:
        run = benchmark.run
        assert len(benchmark.results) == len(run.outputs) == len(run.verdicts)
        assert len(run.outputs) == len(run.suite.cases) * 4
        assert {verdict.rule for verdict in run.verdicts} == {WHOLE_PROMPT.id}
        assert {verdict.source for verdict in run.verdicts} == {"judge:published"}
        assert benchmark.prompt_known
        assert any(case.rule is None for case in run.suite.cases)


# --- our own small benchmark, whole and damaged -------------------------------------------------------------------


def test_a_small_benchmark_is_read_whole(tmp_path: Path) -> None:
    recordings.write(tmp_path)
    (one,) = dataset.read(tmp_path)
    counted = tables([one])
    assert counted["table2"]["colours"]["gemma2:9b"]["promptpex"] == {"non_compliant": 2, "n": 4, "percent": 50}
    assert counted["table3"]["colours"]["gemma2:9b"]["inverse"] == {"non_compliant": 1, "n": 2, "percent": 50.0}
    assert counted["validity"]["colours"] == {"tests": 4, "valid": 3}
    assert counted["groundedness"]["colours"] == {"rules": 2, "grounded": 1}
    assert [case.id for case in one.run.suite.cases][:4] == ["r1-1", "r2-1", "r1-inverse-1", "r2-inverse-1"]
    assert one.run.suite.cases[0].inputs == {"thing": "a red, round apple"}
    assert [problem.message[:22] for problem in one.problems] == ["the baseline's test 1 i"[:22]]


@pytest.mark.parametrize("place", ["", "evals", "evals/v7", "evals/v7/colours"])
def test_the_folder_may_be_a_clone_the_recordings_or_a_benchmark(tmp_path: Path, place: str) -> None:
    recordings.write(tmp_path)
    if place == "evals":
        with pytest.raises(RunError, match="evals/v7"):
            dataset.read(tmp_path / place)
        return
    assert [one.name for one in dataset.read(tmp_path / place)] == ["colours"]


@pytest.mark.parametrize("name", dataset.NEEDED)
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    folder = recordings.write(tmp_path)
    (folder / name).unlink()
    with pytest.raises(RunError) as caught:
        dataset.read(tmp_path)
    assert str(caught.value).startswith(str(folder / name))
    assert "lack" in str(caught.value)


def test_a_csv_cut_off_inside_a_cell_names_the_line_it_begins_on(tmp_path: Path) -> None:
    folder = recordings.write(tmp_path)
    path = folder / "test_results.csv"
    text = path.read_text(encoding="utf-8")
    path.write_text(text + '0000001,abc1234,1,"The output', encoding="utf-8")
    with pytest.raises(RunError) as caught:
        dataset.read(tmp_path)
    assert (caught.value.path, caught.value.line) == (path, len(text.splitlines()) + 1)
    assert "cut off" in caught.value.message


def test_a_row_cut_off_between_cells_names_its_line(tmp_path: Path) -> None:
    folder = recordings.write(tmp_path)
    path = folder / "tests.csv"
    path.write_text("\n".join(recordings.TESTS.splitlines()[:4]) + "\n3, 1", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        dataset.read(tmp_path)
    assert (caught.value.path, caught.value.line) == (path, 5)


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("tests.csv", "testinput"),
        ("test_results.csv", "compliance"),
        ("test_evals.csv", "validity"),
        ("rule_evals.csv", "grounded"),
    ],
)
def test_a_wrong_header_is_named(tmp_path: Path, name: str, column: str) -> None:
    folder = recordings.write(tmp_path)
    head, rest = (folder / name).read_text(encoding="utf-8").split("\n", 1)
    names = [cell.strip() for cell in head.split(",")]
    renamed = ",".join("renamed" if cell == column else cell for cell in names)
    (folder / name).write_text(f"{renamed}\n{rest}", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        dataset.read(tmp_path)
    assert (caught.value.path, caught.value.line) == (folder / name, 1)
    assert repr(column) in caught.value.message


def test_a_rule_that_is_none_is_named(tmp_path: Path) -> None:
    folder = recordings.write(tmp_path)
    rows = recordings.result_rows()
    rows[2][2] = "17"
    recordings.table(folder / "test_results.csv", [recordings.RESULT_COLUMNS, *rows])
    with pytest.raises(RunError) as caught:
        dataset.read(tmp_path)
    assert caught.value.line == 4


def _damaged(tmp_path: Path, rows: list[list[str]]) -> tuple[Benchmark, str]:
    folder = recordings.write(tmp_path)
    recordings.table(folder / "test_results.csv", [recordings.RESULT_COLUMNS, *rows])
    (one,) = dataset.read(tmp_path)
    return one, "\n".join(map(str, one.problems))


def test_results_of_another_prompt_are_in_no_table_and_named(tmp_path: Path) -> None:
    rows = recordings.result_rows()
    orphan = ["fffffff", "0000000", *rows[0][2:]]
    one, warnings = _damaged(tmp_path, [*rows, orphan])
    assert tables([one])["table2"]["colours"]["gpt-4o-mini"]["promptpex"]["n"] == 4
    assert "test_results.csv:14: warning: 1 results of another prompt" in warnings


def test_an_empty_output_is_unscored_whatever_its_verdict_was(tmp_path: Path) -> None:
    rows = recordings.result_rows()
    rows[0][6] = " \n"
    one, warnings = _damaged(tmp_path, rows)
    figures = ours(one)
    assert figures.unscored["gpt-4o-mini"] == {"empty": 1}
    share = figures.shares["gpt-4o-mini"]
    assert (share.scored, share.share, share.at_least) == (3, 0.0, False)
    assert tables([one])["table2"]["colours"]["gpt-4o-mini"]["promptpex"]["n"] == 4
    kept = [verdict for verdict in one.run.verdicts if verdict.source == "judge:published" and not verdict.counts]
    assert [verdict.status for verdict in kept] == ["pass"]
    assert "the output is empty and was judged (ok)" in warnings


def test_a_missing_verdict_counts_in_their_table_and_not_in_ours(tmp_path: Path) -> None:
    rows = recordings.result_rows()
    rows[0][7] = ""
    one, _ = _damaged(tmp_path, rows)
    assert tables([one])["table2"]["colours"]["gpt-4o-mini"]["promptpex"]["non_compliant"] == 1
    figures = ours(one)
    assert figures.unscored["gpt-4o-mini"] == {"malformed": 1}
    share = figures.shares["gpt-4o-mini"]
    assert (share.broken, share.scored, share.share, share.at_least) == (0, 3, 0.0, True)
    assert share.high == pytest.approx(clopper_pearson(1, 4).high)


def test_a_missing_result_and_a_second_one_are_reported(tmp_path: Path) -> None:
    rows = recordings.result_rows()
    gone = rows.pop(1)
    one, warnings = _damaged(tmp_path, [*rows, rows[0]])
    assert gone[4] in warnings
    assert "has no result for case r2-1" in warnings
    assert "kept as repeat 1" in warnings
    assert [output.error for output in one.run.outputs if output.error] == ["not-recorded"]
    figures = ours(one)
    assert figures.shares["gpt-4o-mini"].scored == 4, "three cases, one of them twice"
    assert figures.unscored["gpt-4o-mini"] == {"not-recorded": 1}


def test_a_test_that_the_suite_lacks_is_added(tmp_path: Path) -> None:
    rows = recordings.result_rows()
    rows[0][5] = "a brick"
    one, warnings = _damaged(tmp_path, rows)
    assert "this test is not in tests.csv" in warnings
    assert one.run.suite.case("r1-0000001") is not None


def test_without_its_prompt_a_benchmark_is_counted_and_reported(tmp_path: Path) -> None:
    recordings.write(tmp_path, prompt=False)
    (one,) = dataset.read(tmp_path)
    assert not one.prompt_known
    assert any("only counted" in problem.message for problem in one.problems)
    assert tables([one])["table2"]["colours"]["gpt-4o-mini"]["promptpex"]["n"] == 4


def test_a_prompt_of_another_hash_is_noticed(tmp_path: Path) -> None:
    recordings.write(tmp_path)
    path = tmp_path / "prompts" / "colours.json"
    path.write_text(path.read_text(encoding="utf-8").replace(recordings.PROMPTID, "0000000"), encoding="utf-8")
    (one,) = dataset.read(tmp_path)
    assert any("0000000" in problem.message for problem in one.problems)


def test_a_baseline_test_that_nobody_was_asked_is_reported(tmp_path: Path) -> None:
    folder = recordings.write(tmp_path)
    text = "\n===\n".join([*recordings.BASELINE, "the sky\nat night"])
    (folder / "baseline_tests.txt").write_text(text, encoding="utf-8")
    (one,) = dataset.read(tmp_path)
    assert one.problems[-1].message == "1 tests of the baseline have no result, such as 'the sky\\nat night'"


def test_a_damaged_copy_of_the_real_files_names_file_and_line(evals: Path, tmp_path: Path) -> None:
    copy = tmp_path / "speech-tag"
    shutil.copytree(evals / "speech-tag", copy)
    copy.chmod(0o755)
    path = copy / "test_results.csv"
    data = path.read_bytes()
    path.chmod(0o644)
    for cut in (len(data) // 3, len(data) // 2, len(data) - 30):
        path.write_bytes(data[:cut])
        with pytest.raises(RunError) as caught:
            dataset.read(copy)
        assert caught.value.path == path
        assert caught.value.line is not None


@pytest.mark.parametrize(("broken", "n", "percent"), [(6, 48, 12), (9, 24, 37), (0, 5, 0), (5, 5, 100), (1, 200, 0)])
def test_percentages_are_made_as_the_paper_makes_them(broken: int, n: int, percent: int) -> None:
    assert paper_percent(broken, n) == percent


def test_a_share_of_nothing_is_no_percentage() -> None:
    assert paper_percent(0, 0) is None


def test_two_sentences_of_the_paper_are_counted_again_or_explained(benchmarks: list[Benchmark]) -> None:
    valid, agreement = sentences(benchmarks)
    assert "114 of 162, 70%" in valid
    assert "73%" in valid
    assert "cannot be counted again" in agreement
    assert "196 of 234" in agreement
    assert sentences([]) == []


def test_the_averages_of_both_tables(counted: Tables, expected: dict[str, Any]) -> None:
    cells = averages(counted)
    for table, stems in (("table2", {"promptpex": "ppex", "baseline": "bl"}),
                         ("table3", {"rules": "rule", "inverse": "inv"})):  # fmt: skip
        for model, parts in cells[table].items():
            for part, stem in stems.items():
                shares = [100 * models[model][f"{stem}_nc"] / models[model][f"{stem}_n"]
                          for models in expected[table].values()]  # fmt: skip
                rounded = [paper_percent(models[model][f"{stem}_nc"], models[model][f"{stem}_n"]) or 0
                           for models in expected[table].values()]  # fmt: skip
                means = {"percent": pytest.approx(sum(shares) / 6), "of_rounded": pytest.approx(sum(rounded) / 6)}
                assert parts[part] == {**means, "benchmarks": 6}
    assert len(differing(cells)) == 2
    assert differing(cells)[1] == (
        "Table 2, average, gemma2:9b, baseline: the mean of the shares is 6.50%; the paper averages rounded cells, "
        "which gives 6.33%, so 6%"
    )


def test_a_benchmark_that_a_model_lacks_is_in_no_average(tmp_path: Path) -> None:
    recordings.write(tmp_path)
    other = recordings.write(tmp_path, "smells")
    rows = [row for row in recordings.result_rows() if row[4] == recordings.MODELS[0]]
    recordings.table(other / "test_results.csv", [recordings.RESULT_COLUMNS, *rows])
    cells = averages(tables(dataset.read(tmp_path)))
    assert {part["benchmarks"] for model in cells["table2"].values() for part in model.values()} == {1}


def test_the_program_counts_the_published_tables_again(
    evals: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["published", str(evals), "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr()
    assert "| average | 4 / 0%* | 6 / 7%* | 15 / 7% | 44 / 40% |" in printed.out
    assert printed.out.count("the paper averages rounded cells") == 2
    assert "preamble" in printed.err
    kept = json.loads((tmp_path / "out" / "tables.json").read_text(encoding="utf-8"))
    assert list(kept) == ["table2", "table3", "validity", "groundedness", "averages"]
    assert kept["averages"]["table2"]["gemma2:9b"]["baseline"]["of_rounded"] == pytest.approx(38 / 6)


def test_the_program_says_what_a_small_benchmark_shows_and_writes_its_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = recordings.write(tmp_path) / "test_results.csv"
    rows = recordings.result_rows()
    rows[0][7] = ""
    recordings.table(path, [recordings.RESULT_COLUMNS, *rows])
    assert main(["published", str(tmp_path), "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert "| colours | gpt-4o-mini | 0 of 3 | ≥0% (0–81%) | 1 | 0% (0–84%) | undecided |" in printed
    assert "| colours | gemma2:9b | 2 of 4 | 50% (7–93%) | 0 |" in printed
    assert len(runs.read(tmp_path / "out" / "colours").outputs) == 12


def test_the_program_names_damage_in_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = recordings.write(tmp_path) / "test_results.csv"
    path.write_text(path.read_text(encoding="utf-8")[:200] + '"', encoding="utf-8")
    assert main(["published", str(tmp_path)]) == 2
    errors = capsys.readouterr().err
    assert errors.startswith(f"error: {path}:")
    assert len(errors.strip().splitlines()) == 1
