"""What ``import promptpex`` gives: every name is there, says what it is, and works as its types say."""

from __future__ import annotations

import importlib
import inspect
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import promptpex
from promptpex.core.errors import PromptpexError
from promptpex.report import runs
from tests.samples import prompt, spec, suite
from tests.synthesis import audio_guide as guide

NAMES = (
    "BatchResult", "FakeClient", "KeywordSettings", "RuleChecks", "RunResult", "align", "check", "compare", "errors",
    "extract", "generate", "judge", "read_problem", "read_prompt", "read_run", "read_spec", "read_suite", "records",
    "run", "run_batch", "select", "stats", "synthesize", "tables", "write_spec", "write_suite",
)  # fmt: skip
"""A name that goes from here is a broken promise to programs that use it: only with a line in the changelog."""

ROOT = Path(__file__).parent.parent
PROMPT = "Name the capital of {{country}} in one word."


def promise(request: Any) -> str:
    return "Paris"


def test_the_public_names_are_these() -> None:
    assert tuple(sorted(promptpex.__all__, key=NAMES.index)) == NAMES
    assert set(promptpex.__all__) <= set(dir(promptpex))


@pytest.mark.parametrize("name", NAMES)
def test_a_name_can_be_imported_and_is_documented(name: str) -> None:
    value = getattr(importlib.import_module("promptpex"), name)
    assert inspect.getdoc(value), name
    if isinstance(value, ModuleType):
        assert value.__name__.startswith("promptpex.")


@pytest.mark.parametrize("name", ["records", "stats", "tables"])
def test_a_room_names_what_is_public_in_it_and_completion_offers_no_more(name: str) -> None:
    room = getattr(promptpex, name)
    assert dir(room) == sorted(room.__all__)
    assert not {"Question", "annotations", "frames", "typed"} & set(dir(room))
    for public in room.__all__:
        value = getattr(room, public)
        if inspect.isroutine(value) or inspect.isclass(value):
            assert inspect.getdoc(value), f"{name}.{public}"


def test_every_name_is_loaded_only_when_used() -> None:
    probe = "import sys, promptpex; print(sorted(m for m in sys.modules if m.startswith('promptpex.')))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


def test_files_run_and_tables_by_functions_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.md").write_text(PROMPT, encoding="utf-8")
    (tmp_path / "p.spec.yaml").write_text(
        "prompt: p.md\nintent: Name a capital.\ninputs: {country: [A country.]}\nrules:\n"
        "  - {id: r1, rule: One word., inverse: Several words., source: in one word, origin: added,\n"
        "     checks: [{kind: word-count, value: 1}]}\n"
        "  - {id: r2, rule: A capital., inverse: No capital., source: the capital, origin: added}\n",
        encoding="utf-8",
    )
    (tmp_path / "p.cases.yaml").write_text(
        "prompt: p.md\ncases:\n  - {id: c1, rule: r1, inverse: false, inputs: {country: France}, origin: added}\n",
        encoding="utf-8",
    )
    prompt = promptpex.read_prompt("p.md")
    spec = promptpex.read_spec("p.spec.yaml")
    suite = promptpex.read_suite("p.cases.yaml", spec, prompt)
    made = promptpex.run(prompt, spec, suite, models=["fake/m"], judge="none", client=promptpex.FakeClient(promise))
    assert [(v.rule, v.status) for v in made.verdicts] == [("r1", "pass"), ("r2", "unscored")]

    strict = '{"r2": {"reason": "it is a town", "verdict": "fail"}}'
    again = promptpex.judge(made, judge="fake/j", client=promptpex.FakeClient(lambda request: strict))
    assert {(v.rule, v.status) for v in again.verdicts if v.counts} == {("r1", "pass"), ("r2", "fail")}
    table = promptpex.tables.models(promptpex.tables.outputs(again))
    assert (table["scored"].tolist(), table["non_compliant"].tolist()) == ([1], [1])


def test_a_run_with_metrics_is_made_judged_again_and_tabled_by_functions_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "short.metric.js").write_text("output.length < 4", encoding="utf-8")
    (tmp_path / "kind.metric.md").write_text("Kind? {{output}}", encoding="utf-8")
    here = prompt().replace(path=str(tmp_path / "prompt.md"))
    made = promptpex.run(
        here, spec(), suite(), models="fake/m", judge="none", client=promptpex.FakeClient(lambda request: "RED")
    )
    kind = promptpex.FakeClient(lambda request: '{"reason": "", "verdict": "OK"}')
    again = promptpex.judge(made, judge="fake/j", client=kind)
    tables = [promptpex.tables.metrics(promptpex.tables.scores(run)).set_index("metric") for run in (made, again)]
    assert [table["mean"].fillna(-1).to_dict() for table in tables] == [
        {"kind": -1, "short": 1.0},
        {"kind": 1.0, "short": 1.0},
    ]


def test_a_history_becomes_candidates_and_a_choice_by_functions_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    guide.write_versions(tmp_path / "versions", 2)
    (tmp_path / "guide.md").write_text(guide.VERSIONS[1], encoding="utf-8")
    rows = ["It is blue.,1", "It is small.,1", "# The jug,0", "- The jug,0"]
    (tmp_path / "labels.csv").write_text("\n".join(["output,label", *rows]), encoding="utf-8")
    prompt = promptpex.read_prompt("guide.md")
    made = promptpex.synthesize(
        prompt, versions="versions", labels="labels.csv", author="fake/a", client=guide.author()
    )
    assert "no_heading" in [candidate.id for candidate in made.candidates]
    choice = promptpex.select("guide.synthesis", method="cov", coverage=1, ffr="0%")
    assert choice.to_dict()["candidates"] == ["no_markdown"]
    assert choice.selection.on_all is not None
    with pytest.raises(PromptpexError, match="has no file, and so no history"):
        promptpex.synthesize(prompt.replace(path=None), author="fake/a")


def test_a_problem_is_solved_by_functions_alone(tmp_path: Path) -> None:
    file = tmp_path / "problem.json"
    file.write_text('{"n": 3, "m": 2, "y": "011", "M": ["01", "11", "10"], "K": []}', encoding="utf-8")
    chosen = promptpex.select(promptpex.read_problem(str(file)), method="cov", coverage=1.0)
    assert (chosen.chosen, chosen.optimal) == ((0,), True)
    with pytest.raises(PromptpexError, match="is not a share"):
        promptpex.select(promptpex.read_problem(file), ffr=1.5)


async def test_functions_work_where_a_loop_is_running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.md").write_text(PROMPT, encoding="utf-8")
    with pytest.raises(PromptpexError, match="fake/a"):
        promptpex.extract(promptpex.read_prompt("p.md"), author="fake/a", client=promptpex.FakeClient(lambda _: "{}"))


def test_a_run_and_its_models_may_be_named_by_one_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = promptpex.run(
        prompt(), spec(), suite(), models="fake/RED", judge="none", client=promptpex.FakeClient(["RED"] * 9)
    )
    assert run.manifest.models == ("fake/RED",)
    runs.finish(tmp_path / "kept", run)
    assert promptpex.read_run(str(tmp_path / "kept")) == run


INTERRUPT = "os.kill(os.getpid(), signal.SIGINT)"

NOTEBOOK = """
import asyncio, os, signal, threading, time
import promptpex

signal.signal(signal.SIGINT, signal.default_int_handler)  # who starts the tests in the background has it ignored

class Asked:
    async def complete(self, request):
        %s
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            print("cancelled")
            raise

    async def close(self):
        print("closed")

async def cell():
    promptpex.extract(promptpex.read_prompt("p.md"), author="fake/a", client=Asked())

try:
    asyncio.new_event_loop().run_until_complete(cell())
except KeyboardInterrupt:
    print("interrupted")
"""


WHILE_IT_BEGINS = """
start = threading.Thread.start

def interrupted(self):
    threading.Thread.start = start
    start(self)
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread.start = interrupted
"""


@pytest.mark.parametrize("begins", [False, True], ids=["while it waits", "while it begins"])
def test_an_interruption_where_a_loop_is_running_does_not_wait_for_the_run(tmp_path: Path, begins: bool) -> None:
    (tmp_path / "p.md").write_text(PROMPT, encoding="utf-8")
    notebook = NOTEBOOK % ("pass" if begins else INTERRUPT)
    done = subprocess.run(
        [sys.executable, "-c", notebook.replace("\nclass", f"{WHILE_IT_BEGINS}\nclass") if begins else notebook],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=300,
        check=False,
    )
    assert (done.stdout.split(), done.stderr) == (["cancelled", "closed", "interrupted"], "")


def test_replies_of_a_client_of_ones_own_are_kept_only_where_a_store_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def asked(**store: str) -> int:
        client = promptpex.FakeClient(lambda request: "RED")
        promptpex.run(prompt(), spec(), suite(), models="gpt-4o-mini", judge="none", client=client, **store)  # type: ignore[arg-type]
        return len(client.requests)

    assert [asked(), asked()] == [4, 4]
    assert not Path(".promptpex").exists()
    assert [asked(store="own.db"), asked(store="own.db")] == [4, 0]
