"""Code against the published judge; benchmarks/reproduce/README.md holds what comes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.reproduce import dataset, judge_agreement
from benchmarks.reproduce.judge_agreement import Compared
from promptpex.stats.agreement import cohens_kappa
from tests.reproduce import recordings
from tests.stats.references import covers, wilson

PAGE = Path(__file__).resolve().parents[2] / "benchmarks" / "reproduce" / "README.md"


@pytest.fixture(scope="module")
def rows(shared: Path) -> dict[str, Compared]:
    folder = shared / "published" / "evals" / "v7"
    if not folder.is_dir():
        pytest.skip("the published recordings are not beside the repository")
    return {row.name: row for row in judge_agreement.reliability(dataset.read(folder))}


def test_the_page_holds_the_figures_of_the_recordings(rows: dict[str, Compared]) -> None:
    assert judge_agreement.markdown(list(rows.values())) in PAGE.read_text(encoding="utf-8")


def test_the_judge_passes_nearly_half_of_the_certain_violations(rows: dict[str, Compared]) -> None:
    stated = rows["all, rules that the prompt states"]
    assert (stated.agreement.n, stated.violations) == (1155, 345)
    assert stated.passed.estimate == pytest.approx(155 / 345)
    assert covers(stated.passed, 259 / 610), "the share of field.md"
    every = rows["all rules here"]
    alone = wilson(268, 472)
    assert every.passed.estimate == pytest.approx(268 / 472)
    assert every.passed.width > alone.width, "the answers of four models to one case are not independent"
    kappa = every.agreement.kappa
    assert kappa.estimate is not None
    assert 0.38 <= kappa.estimate <= 0.45
    assert kappa.width > cohens_kappa(every.agreement.table).width


def test_agreement_depends_on_the_rule(rows: dict[str, Compared]) -> None:
    assert rows["speech-tag r6"].agreement.kappa.low > 0.85
    assert rows["art-prompt r1"].agreement.kappa.high < 0.45


def test_a_benchmark_without_checks_is_compared_with_nothing(tmp_path: Path) -> None:
    recordings.write(tmp_path)
    for row in judge_agreement.reliability(dataset.read(tmp_path)):
        assert row.agreement.n == 0
        assert row.agreement.kappa.estimate is None


def test_checks_belong_to_the_published_extraction_alone(tmp_path: Path) -> None:
    recordings.write(tmp_path, "speech-tag")
    (one,) = dataset.read(tmp_path)
    assert not any(rule.checks for rule in one.run.spec.rules)
