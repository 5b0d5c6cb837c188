"""The page of criteria on the embedded model: it gives next to nothing, that is said, and nothing breaks."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptpex.config import load
from promptpex.grading.labels import LabelRules
from promptpex.workflow.criteria.page import CriteriaProject
from promptpex.workflow.project_files import files_of
from tests.workflow.criteria.criteria_bench import Bench, until

pytestmark = [pytest.mark.embedded, pytest.mark.slow]


def test_the_embedded_model_breaks_nothing_and_what_it_lacks_is_said(tmp_path: Path, shallow: Path) -> None:
    bench = Bench(tmp_path, outputs=1)
    bench.project.close()
    grade = bench.grade(bench.pool[0], "bad", "not in capitals")
    given = {
        "author": "embedded/smollm2-135m?max_tokens=16",
        "judge": ("embedded/smollm2-135m?max_tokens=16",),
        "store": str(tmp_path / "store.db"),
        "embedded_model": str(shallow),
    }
    resolved = load(given, start=tmp_path, env={})
    page = CriteriaProject(resolved, files_of(bench.prompt), bench.pool, LabelRules(), lambda synthesis: None)
    try:
        page.infer()
        page.from_notes()
        until(page, lambda board: not board.is_working)
        page.from_note(grade.grader, grade.key, grade.subject)
        (made,) = [one.id for one in page.board().criteria if one.notes]
        page.make(made)
        page.add_candidate(made, "question", "Is the answer in capitals?")
        page.ask_judge()
        board = until(page, lambda board: not board.is_working)
        assert [one.state for one in board.work] == ["done"] * 3
        assert board.trouble == ""
        assert any("very small model" in notice for notice in board.notices)
        unusable = [one.sentence for one in board.work if "gave nothing usable" in one.sentence]
        assert unusable or board.made, "either something came of it, or that is said"
    finally:
        page.close()
