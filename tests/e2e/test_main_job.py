"""The main job on real models: the embedded one, llama.cpp's own server, and a server that speaks Ollama's API."""

from __future__ import annotations

import asyncio
import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from promptpex.llm.providers.weights import DEFAULT_NAME, weights_path
from tests.e2e.command import in_process, promptpex
from tests.samples import contents
from tests.servers import LlamaServer, OllamaServer

EMBEDDED = "embedded/smollm2-135m"
SHORT = ("--max-tokens", "24")
pytestmark = [pytest.mark.embedded, pytest.mark.slow]

PROMPT = "Answer in one word: what colour is a {{thing}}?\n"
SPEC = """\
prompt: prompt.md
rules:
  - id: r1
    rule: The output is one word.
    checks: [{kind: word-count, value: 1}]
  - id: r2
    rule: The output has no digit.
    checks: [{kind: not-regex, value: '[0-9]'}]
"""
THINGS = ("cherry", "lemon", "leaf", "raven")
"""A short prompt, since its tokens are most of what a small model takes time for."""


@pytest.fixture(scope="module")
def llama() -> Iterator[LlamaServer]:
    """The server with all of the model's layers: here its words count."""
    server = LlamaServer(weights_path(DEFAULT_NAME))
    yield server
    server.close()


def project(folder: Path, *, cases: int) -> str:
    """A prompt with a spec that code decides and so many cases; the prompt's path."""
    (folder / "prompt.md").write_text(PROMPT, encoding="utf-8")
    (folder / "prompt.spec.yaml").write_text(SPEC, encoding="utf-8")
    lines = [f"  - {{id: {thing}, rule: r1, inputs: {{thing: {thing}}}}}\n" for thing in THINGS[:cases]]
    (folder / "prompt.cases.yaml").write_text("prompt: prompt.md\ncases:\n" + "".join(lines), encoding="utf-8")
    return str(folder / "prompt.md")


def table(folder: Path) -> dict[str, dict[str, str]]:
    (report,) = folder.glob("results/*/*/report.csv")
    with report.open(encoding="utf-8", newline="") as file:
        return {row["model"]: row for row in csv.DictReader(file)}


def bytes_of(folder: Path) -> dict[str, bytes]:
    (run,) = folder.glob("results/*/*")
    return contents(run)


def test_the_embedded_model_ends_with_a_table_and_a_second_run_asks_nothing(tmp_path: Path) -> None:
    prompt = project(tmp_path, cases=4)
    first = promptpex("run", prompt, "--models", EMBEDDED, *SHORT, cwd=tmp_path, forked=False)
    assert first.code == 0, first.err
    assert EMBEDDED in first.out
    assert "4 requests sent" in first.out
    assert int(table(tmp_path)[EMBEDDED]["scored"]) >= 1
    before = bytes_of(tmp_path)
    second = promptpex("run", prompt, "--models", EMBEDDED, *SHORT, cwd=tmp_path)
    assert "0 requests sent, 4 answers from the store" in second.out
    assert bytes_of(tmp_path) == before


async def test_two_models_one_behind_an_openai_compatible_server(tmp_path: Path, llama: LlamaServer) -> None:
    prompt = project(tmp_path, cases=3)
    models = f"{EMBEDDED},openai/any"
    arguments = ("run", prompt, "--models", models, "--api-base", llama.url, *SHORT, "--json")
    done = await asyncio.to_thread(in_process, *arguments, cwd=tmp_path)
    assert done.code == 0, done.err
    rows = {row["model"]: row for row in json.loads(done.out)["models"]}
    assert set(rows) == {EMBEDDED, "openai/any"}
    assert all(row["outputs"] == 3 for row in rows.values())
    assert rows["openai/any"]["tokens_in"] > 0
    assert rows["openai/any"]["cost_usd"] is None


async def test_ollama_by_name_and_tag(tmp_path: Path, ollama: OllamaServer) -> None:
    prompt = project(tmp_path, cases=2)
    name = "smollm2:135m"
    host = {"OLLAMA_HOST": ollama.url}
    done = await asyncio.to_thread(in_process, "run", prompt, "--models", name, *SHORT, cwd=tmp_path, env=host)
    assert done.code == 0, done.err
    assert table(tmp_path)[name]["outputs"] == "2"
    assert table(tmp_path)[name]["errors"] == "0" or "truncated" in done.out
    missing = await asyncio.to_thread(in_process, "run", prompt, "--models", "nobody:1b", cwd=tmp_path, env=host)
    assert missing.code == 3
    assert "unknown-model" in missing.out


def test_a_recorded_run_replays_byte_identically_without_the_model(tmp_path: Path) -> None:
    prompt = project(tmp_path, cases=3)
    record = tmp_path / "recording.jsonl"
    in_process("run", prompt, "--models", EMBEDDED, *SHORT, "--record", str(record), cwd=tmp_path)
    recorded = {path.name: path.read_bytes() for path in tmp_path.glob("results/*/*/*.csv")}
    for name in ("first", "second"):
        folder = tmp_path / name
        folder.mkdir()
        here = ("--results", "results", "--store", "store.db")
        done = in_process("run", prompt, "--models", f"replay/{record}", *SHORT, *here, cwd=folder)
        assert done.code == 0, done.err
    replayed = [
        {path.name: path.read_bytes() for path in (tmp_path / name).glob("results/*/*/*.csv")}
        for name in ("first", "second")
    ]
    assert replayed[0] == replayed[1]
    as_recorded = {name: text.replace(EMBEDDED.encode(), b"MODEL") for name, text in recorded.items()}
    as_replayed = {name: text.replace(f"replay/{record}".encode(), b"MODEL") for name, text in replayed[0].items()}
    assert without_ids(as_replayed) == without_ids(as_recorded)


def without_ids(tables: dict[str, bytes]) -> dict[str, list[dict[str, str]]]:
    """The tables without the ids of requests, in which the model's own name has a part."""
    rows_by_file = {}
    for name, text in tables.items():
        rows = list(csv.DictReader(text.decode("utf-8").splitlines()))
        rows_by_file[name] = [{key: value for key, value in row.items() if key != "request"} for row in rows]
    return rows_by_file
