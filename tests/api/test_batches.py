"""Several prompts with one call of the library."""

from __future__ import annotations

from pathlib import Path

import pytest

import promptpex
from promptpex.core.errors import PromptFileError
from promptpex.tables import OVER_PROMPTS_COLUMNS, PROMPT_MODEL_COLUMNS
from tests.e2e.batch_project import manifests, write_project


def test_a_call_runs_all_prompts_and_keeps_their_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_project(tmp_path, alpha=2, beta=3)
    (tmp_path / "prompts" / "prompt.md").write_text("Say {{thing}}.", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    models = {"good": "RED", "bad": "red"}
    client = promptpex.FakeClient(lambda request: models.get(request.label or "", "nothing of use"))
    batch = promptpex.run_batch("prompts", models=["good=fake/x", "bad=fake/y"], author="fake/z", client=client)
    assert {file: len(run.outputs) for file, run in batch.runs.items()} == {
        "prompts/alpha.md": 4,
        "prompts/beta.md": 6,
    }
    assert set(batch.problems) == {"prompts/prompt.md"}
    assert list(batch.models.columns) == list(PROMPT_MODEL_COLUMNS)
    assert list(batch.by_model.columns) == list(OVER_PROMPTS_COLUMNS)
    assert batch.by_model["model"].tolist() == ["good", "bad"]
    assert set(manifests(tmp_path)) == {"alpha", "beta"}
    assert batch.index.is_file()
    assert batch.answer in repr(batch)
    with pytest.raises(PromptFileError, match="no prompt in this folder"):
        promptpex.run_batch("results", models="fake/x")
