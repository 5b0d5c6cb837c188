"""All our benchmarks in one command, on a recording."""

from __future__ import annotations

import json
from pathlib import Path

from promptpex.config import load
from promptpex.llm.fake import FakeClient
from promptpex.promptfile import find_prompts
from promptpex.workflow.batches.run_batch import run_batch
from promptpex.workflow.execution.subset import Subset
from promptpex.workflow.session import open_session, result_of
from tests.e2e.batch_project import manifests
from tests.e2e.command import ROOT, in_process

BENCHMARKS = ROOT / "benchmarks"
ANSWERS = {"fake/plain": "Plain words, and nothing else.", "fake/json": '{"status": "done"}'}


def record(recording: Path, folder: Path) -> None:
    """Records the first case of each benchmark."""
    places = {"results": folder / "results", "store": folder / "store.db", "record": recording}
    given = {"models": list(ANSWERS), "judge": ["none"], **{name: str(path) for name, path in places.items()}}

    async def work() -> None:
        client = FakeClient(lambda request: ANSWERS[request.model])
        async with open_session(load(given, start=folder, env={}), provider=client) as session:
            await run_batch(session, find_prompts([BENCHMARKS]), Subset(first=1))

    result_of(work)


def test_all_benchmarks_on_a_recording_give_one_table_one_page_and_one_exit_code(tmp_path: Path) -> None:
    names = {path.parent.name for path in find_prompts([BENCHMARKS])}
    assert len(names) >= 14
    recording = tmp_path / "run.jsonl"
    record(recording, tmp_path / "recorded")
    replayed = ",".join(f"{model.removeprefix('fake/')}=replay/{recording}#{model}" for model in ANSWERS)
    where = ("--results", str(tmp_path / "results"), "--no-config")
    options = ("--judge", "none", "--first", "1", "--store", str(tmp_path / "store.db"), "--json")
    done = in_process("run", str(BENCHMARKS), "--models", replayed, *options, *where, cwd=tmp_path)
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert {part["prompt"] for part in report["prompts"]} == names == set(manifests(tmp_path))
    assert not [part for part in report["prompts"] if part["problem"]]
    assert {(row["model"], row["prompts"]) for row in report["models"]} == {
        ("plain", len(names)),
        ("json", len(names)),
    }
    assert len(list(tmp_path.glob("results/batches/*/index.html"))) == 1
