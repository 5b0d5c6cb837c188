"""A run read part by part: the same tables, figures and files as of the whole, however it is divided."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from promptpex import tables
from promptpex.core.errors import RunError
from promptpex.core.records import Columns, Output, Run, RunColumns, RunInParts, Score, Suite, Verdict
from promptpex.report import runs, summarise, to_dict
from promptpex.report.blessed_figures_file import bless
from promptpex.report.comparison.page import RunLink, comparison_html
from promptpex.report.files import write
from promptpex.report.regression import regressions
from promptpex.report.run_comparison import compare_runs
from promptpex.report.run_comparison import to_dict as to_dict_of
from promptpex.report.run_tables import RunTables, TablesInParts, rows_of, tables_of
from promptpex.tables.counts_per_case import COUNTED
from promptpex.tables.outputs_without_texts import COLUMNS_OF_FIGURES
from promptpex.tables.proportions import grouped_proportions
from promptpex.workflow.comparison.noise import noise_around
from tests.tables.by_hand import output, run, score, verdict
from tests.tables.many import RULES, cases

MODELS, JUDGES, REPEATS = ("a", "b"), ("judge:one", "judge:two"), 2
ANSWERS = ("RED", "BLUE")
SCORES = (0.1, 1 / 3, 0.7, 0.85, 1.0)
REASONS = ("judge-empty", "judge-budget", "budget", "no-judge", "untrusted-judge")


def random_run(seed: int) -> Run:
    """Outputs of few different texts, some of them errors, in the order of results; checks, judges and scores of all
    kinds."""
    rng = random.Random(seed)
    made, verdicts, scores = [], list[Verdict](), list[Score]()
    for model in MODELS:
        for repeat in range(REPEATS):
            for case in rng.sample([f"c{n}" for n in range(7)], rng.randint(4, 7)):
                key: dict[str, Any] = {"case": case, "model": model, "repeat": repeat}
                if rng.random() < 0.1:
                    made.append(output(**key, text=None, error=rng.choice(["timed-out", "budget"]), message="why"))
                    verdicts += [verdict("unscored", rule.id, **key, unscored="x", source="none") for rule in RULES]
                else:
                    made.append(output(**key, text=rng.choice(["RED", "BLUE", f"{seed}"]), latency_ms=rng.random()))
                    verdicts += [
                        one for rule in RULES for one in random_verdicts(rng, rule.id, key, joint=seed % 2 > 0)
                    ]
                scores += random_scores(rng, key, usable=made[-1].error is None)
    asked = tuple(case.replace(expected=ANSWERS[n % 2], inverse=n > 4) for n, case in enumerate(cases(7, rules=2)))
    how = {"min_agreement": 0.5}
    return run(made, verdicts, scores=scores, models=MODELS, rules=RULES, cases=asked, settings=how)


def random_scores(rng: random.Random, key: dict[str, Any], *, usable: bool) -> Iterator[Score]:
    """By an expected output, by a metric of two judges and by one of code; an output without an answer has none."""
    lost: dict[str, Any] = {"unscored": "timed-out", "source": "none", **key}
    if not usable:
        yield from (score(None, name=name, **lost) for name in ("expected", "tone", "length"))
        return
    yield score(rng.choice([0.0, 1.0]), **key)
    if rng.random() < 0.8:
        values = [rng.choice([*SCORES, None]) for _ in JUDGES]
        for judge, value in zip(JUDGES, values, strict=True):
            why = {} if value is not None else {"unscored": rng.choice(["judge-empty", "budget"])}
            yield score(value, name="tone", source=judge, counts=False, reason=f"{value}", **key, **why)
        known = [value for value in values if value is not None]
        mean = sum(known) / len(known) if len(known) == len(values) else None
        why = {} if mean is not None else {"unscored": "judge-empty"}
        yield score(mean, name="tone", source="judges:mean", fingerprint="f1", **key, **why)
    yield score(rng.choice(SCORES), name="length", source="python", fingerprint=rng.choice(["f2", "f3"]), **key)


def random_verdicts(rng: random.Random, rule: str, key: dict[str, Any], *, joint: bool) -> Iterator[Verdict]:
    sources = [("check:x", 0, True), *((judge, turn, False) for judge in JUDGES for turn in (0, 1))]
    if joint and rng.random() < 0.2:
        sources.append(("judges:majority", 0, True))
    for source, turn, counts in rng.sample(sources, rng.randint(0, len(sources))):
        status = rng.choice(["pass", "pass", "fail", "not_concerned", "unscored"])
        more = {"unscored": rng.choice(REASONS)} if status == "unscored" else {}
        reason = f"because {rng.randint(1, 3)}"
        yield verdict(status, rule, source=source, turn=turn, counts=counts, reason=reason, **key, **more)


def in_parts(made: Run, sizes: Callable[[], int]) -> RunInParts:
    """The run, divided anew whenever it is read."""
    known: dict[str, Any] = {name: getattr(made, name) for name in ("manifest", "prompt", "spec", "suite", "metrics")}

    def columns(outputs: tuple[Output, ...]) -> RunColumns:
        keys = {one.key for one in outputs}
        verdicts = Columns.of([one for one in made.verdicts if one.key in keys], Verdict)
        scores = Columns.of([one for one in made.scores if one.key in keys], Score)
        return RunColumns(**known, outputs=Columns.of(outputs, Output), verdicts=verdicts, scores=scores)

    def parts() -> Iterator[RunColumns]:
        at = 0
        while at < len(made.outputs):
            yield columns(made.outputs[at : (at := at + sizes())])

    return RunInParts(**known, parts=parts, each_output=lambda: iter(made.outputs), whole=lambda: columns(made.outputs))


def of_figures(of: RunTables) -> dict[str, pd.DataFrame]:
    """All that is counted of a run's verdicts and scores."""
    rules = [rule.id for rule in RULES]
    kinds, scores = ["rule", "source", "status", "unscored", "counts"], ["name", "source", "fingerprint", "unscored"]
    return {
        "rules": of.rules(rules, 0.95),
        "judges": of.judges(),
        "agreements": of.agreements(0.95),
        "disagreements": of.disagreements(),
        "inconsistent": of.inconsistent_verdicts({"r1"}),
        "all inconsistent": of.inconsistent_verdicts(()),
        "discrimination": pd.DataFrame([tables.discrimination(of.rows, of.kinds, rules, outcomes=of.outcomes)]),
        "kinds": of.kinds[kinds].drop_duplicates(ignore_index=True),
        "kinds of scores": of.score_kinds[scores].drop_duplicates(ignore_index=True),
        "metrics": tables.metrics(of.metric_counts, order=MODELS),
        "lowest": of.lowest_scores(),
        "confusions": of.confusions(),
        "answers": of.answer_counts(),
        "compared": of.compared[sorted(COUNTED)],
        "rows": of.rows[[name for name in COLUMNS_OF_FIGURES if name not in ("output", "answer")]],
        "texts": of.rows[["output"]].isna(),
    }


@pytest.mark.parametrize("seed", range(2))
def test_any_division_gives_the_figures_of_the_whole(seed: int) -> None:
    made, rng = random_run(seed), random.Random(seed)
    whole, parts = RunTables(made), TablesInParts(in_parts(made, lambda: rng.randint(5, 14)))
    for (name, one), other in zip(of_figures(whole).items(), of_figures(parts).values(), strict=True):
        assert_frame_equal(one, other, check_exact=True, obj=name)
    read = list(parts.parts())
    for table in ("outputs", "verdicts", "scores"):
        assert_frame_equal(pd.concat([getattr(one, table) for one in read], ignore_index=True), getattr(whole, table))
    some = sorted(rng.sample(range(len(made.outputs)), 5))
    chosen, keys = parts.chosen(some), {made.outputs[place].key for place in some}
    assert_frame_equal(chosen.outputs, whole.outputs.iloc[some].reset_index(drop=True))
    assert len(chosen.verdicts) == sum(one.key in keys for one in made.verdicts)
    assert len(chosen.scores) == sum(one.key in keys for one in made.scores)


@pytest.mark.parametrize(
    "how",
    [{"rank_by": "tone", "weights": {"r1": 3, "inverse": 0}}, {"rank_by": "accuracy", "weights": {"rule": 2}}],
    ids=["metric", "accuracy"],
)
@pytest.mark.parametrize("seed", range(2))
def test_any_division_gives_the_summary_of_the_whole(seed: int, how: dict[str, Any]) -> None:
    made, rng = random_run(seed), random.Random(seed)
    whole, parts = (summarise(one, **how) for one in (made, in_parts(made, lambda: rng.randint(5, 14))))
    assert to_dict(whole) == to_dict(parts)


@pytest.mark.parametrize("seed", range(1, 2))
def test_any_division_gives_the_comparison_of_the_whole(seed: int) -> None:
    rng = random.Random(seed)
    pair = random_run(seed), random_run(seed + 2).replace(suite=other_suite(random_run(0).suite))
    parts = [in_parts(made, lambda: rng.randint(5, 14)) for made in pair]
    pages = []
    for one, two in (pair, parts):
        comparison = compare_runs(one, two, weights={"r2": 2}, tolerance=0.1, rank_by="tone")
        pages.append((to_dict_of(comparison), comparison_html(comparison, (RunLink("a"), RunLink("b")))))
    assert pages[0] == pages[1]
    assert pages[0][0]["changed"]
    assert pages[0][0]["rules"]


def other_suite(suite: Suite) -> Suite:
    """A suite in which one case has other inputs, and another one another expected output."""
    first, second, *others = suite.cases
    return suite.replace(cases=(first.replace(inputs={"thing": "x"}), second.replace(expected="x"), *others))


@pytest.mark.parametrize("seed", range(2))
def test_any_division_gives_the_blessed_figures_and_the_regressions_of_the_whole(seed: int) -> None:
    made, rng = random_run(seed), random.Random(seed)
    blessed, again = (bless(one, Path("run-1")) for one in (made, in_parts(made, lambda: rng.randint(5, 14))))
    assert blessed == again
    after = random_run(seed + 1)
    whole, parts = (tables_of(one) for one in (after, in_parts(after, lambda: rng.randint(5, 14))))
    assert regressions(blessed, whole, margin=0.0).to_dict() == regressions(blessed, parts, margin=0.0).to_dict()
    pairs = ([RunTables(made), whole], [tables_of(in_parts(made, lambda: 9)), parts])
    noises = [noise_around(pair, [None, None], Path("none"), confidence=0.95) for pair in pairs]
    assert noises[0] == noises[1]
    assert noises[0]
    assert_frame_equal(rows_of(in_parts(made, lambda: 9)), pairs[1][0].rows)


def test_a_judge_that_first_scores_in_a_later_part_lacks_what_was_unusable_before() -> None:
    outputs = [
        output(f"c{n}", "a", text=None if n < 2 else "RED", error="timed-out" if n < 2 else None) for n in range(4)
    ]
    scores = [score(None, f"c{n}", "a", name="tone", source="none", unscored="timed-out") for n in range(2)]
    for n in (2, 3):
        scores += [score(0.5, f"c{n}", "a", name="tone", source=judge, counts=False) for judge in JUDGES]
        scores.append(score(0.5, f"c{n}", "a", name="tone", source="judges:mean"))
    made = run(outputs, scores=scores, models=("a",), cases=cases(4))
    whole, parts = (tables.metrics(tables_of(one).metric_counts) for one in (made, in_parts(made, lambda: 1)))
    assert_frame_equal(whole, parts, check_exact=True)
    assert parts["unscored"].tolist() == [2, 2, 2]


@pytest.mark.parametrize("seed", range(2))
def test_rules_are_counted_as_outputs_are(seed: int) -> None:
    """Against what the table was made of before it was counted part by part."""
    cube = tables.verdicts(random_run(seed))
    outcomes = tables.rule_outcomes(cube).rename(columns={"status": "verdict"})
    concerned = outcomes[outcomes["verdict"].ne("not_concerned")]
    expected = {(row["rule"], row["model"]): row for row in grouped_proportions(concerned, "rule", 0.95)}
    counted = {(row["rule"], row["model"]): row for row in tables.records(tables.rules(cube))}
    for pair, row in expected.items():
        assert {name: counted[pair][name] for name in row} == row


def test_a_folder_read_in_parts_gives_the_same_files(tmp_path: Path) -> None:
    folder = tmp_path / "results" / "colours" / "run-1"
    runs.finish(folder, random_run(1))
    files = []
    for large in (10**9, 0):
        read = runs.read_for_report(folder, large=large, part=9)
        assert isinstance(read, RunInParts) is (large == 0)
        paths = write(summarise(read, folder=folder), folder)
        files.append({path.name: path.read_bytes() for path in paths})
    assert files[0] == files[1]
    assert {"report.csv", "results.csv", "verdicts.csv", "report.html", "agreement.csv"} <= files[0].keys()
    assert {"scores.csv", "metrics.csv", "confusions.csv"} <= files[0].keys()


@pytest.mark.parametrize("of_what", ["verdicts", "scores"])
def test_what_is_out_of_order_is_read_at_once(of_what: str, tmp_path: Path) -> None:
    made, folder = random_run(3), tmp_path / "results" / "colours" / "run-1"
    runs.finish(folder, made.replace(**{of_what: tuple(reversed(getattr(made, of_what)))}))
    read = runs.read_for_report(folder, large=0, part=9)
    of = tables_of(read)
    assert not isinstance(of, TablesInParts)
    assert (len(of.verdicts), len(of.scores)) == (len(made.verdicts), len(made.scores))
    again = replace(in_parts(made, lambda: 2), parts=lambda: iter([in_parts(made, lambda: 99).whole()] * 2))
    assert not isinstance(tables_of(again), TablesInParts)


def test_a_small_run_is_read_at_once(tmp_path: Path) -> None:
    made, folder = random_run(0), tmp_path / "results" / "colours" / "run-1"
    runs.finish(folder, made)
    size = sum(path.stat().st_size for path in folder.glob("*.jsonl"))
    assert isinstance(runs.read_for_report(folder), RunColumns)
    assert isinstance(runs.read_for_report(folder, large=size), RunInParts)


def test_a_damaged_line_is_named_where_parts_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "results" / "colours" / "run-1"
    runs.finish(folder, random_run(4))
    lines = (folder / "verdicts.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "verdicts.jsonl").write_bytes(b"".join([*lines[:9], b"{}\n", *lines[9:]]))
    with pytest.raises(RunError) as caught:
        summarise(runs.read_for_report(folder, large=0, part=9), folder=folder)
    assert caught.value.line == 10


def test_a_folder_without_outputs_has_one_part(tmp_path: Path) -> None:
    folder = tmp_path / "results" / "colours" / "run-1"
    runs.finish(folder, run())
    summary = summarise(runs.read_for_report(folder, large=0, part=9), folder=folder)
    assert summary.rows.empty
    assert write(summary, folder)
