"""The published recordings written out: a run folder per benchmark, the paper's tables, and what replays them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from promptpex import promptfile
from promptpex.cases.file import write_suite
from promptpex.codecs.files.atomic import write_text
from promptpex.core.errors import NotRecorded, RunError
from promptpex.core.records import Case, Completion, Output, Prompt, Request
from promptpex.llm.record_replay import RecordingClient
from promptpex.paper.published.dataset import Benchmark
from promptpex.paper.published.measures import Tables
from promptpex.report import runs
from promptpex.specs.file import write_spec

Ask = Callable[[Prompt, Case, str], Request]
"""The request by which a run would ask a model (by name) for a case; the settings it rests on are the caller's."""

TABLES = "tables.json"
SPEC = "prompt.spec.yaml"
SUITE = "prompt.cases.yaml"


def write(
    out: Path, benchmarks: Sequence[Benchmark], tables: Tables, pictures: Mapping[str, str], ask: Ask
) -> dict[str, tuple[Path, ...]]:
    """Writes ``tables.json``, the pictures by their file names, and per benchmark
    its files, its run and a recording per model.

    Returns:
        per benchmark, the recordings: empty where the prompt's text is not known.

    Raises:
        RunError: the folder cannot be written.
    """
    try:
        recordings = {benchmark.name: _write_one(out / benchmark.name, benchmark, ask) for benchmark in benchmarks}
        write_text(out / TABLES, json.dumps(tables, ensure_ascii=False, indent=1) + "\n")
        for name, picture in pictures.items():
            write_text(out / name, picture)
    except OSError as failure:
        raise RunError(f"cannot be written ({failure.strerror}); name another folder with --out", path=out) from None
    return recordings


def file_name(model: str) -> str:
    """A model's name as a file name on every system."""
    return "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in model) + ".jsonl"


def _write_one(folder: Path, benchmark: Benchmark, ask: Ask) -> tuple[Path, ...]:
    run = benchmark.run
    name, text = (
        promptfile.file_of(run.prompt.name, run.prompt.messages) if benchmark.prompt_known else ("prompt.md", "")
    )
    spec, suite = run.spec.replace(prompt=name), run.suite.replace(prompt=name)
    prompt = run.prompt.replace(path=None)
    runs.finish(folder, run.replace(prompt=prompt, spec=spec, suite=suite))
    for file in (folder / SPEC, folder / SUITE):
        file.unlink(missing_ok=True)
    write_spec(folder / SPEC, spec)
    write_suite(folder / SUITE, suite)
    if not benchmark.prompt_known:
        return ()
    write_text(folder / name, text)
    prompt = promptfile.read(folder / name)
    return tuple(_record(folder / file_name(model), benchmark, prompt, model, ask) for model in benchmark.models)


def _record(path: Path, benchmark: Benchmark, prompt: Prompt, model: str, ask: Ask) -> Path:
    cases = {case.id: case for case in benchmark.run.suite.cases}
    answers: dict[str, Output] = {}
    requests: list[Request] = []
    for output in benchmark.run.outputs:
        if output.model != model or output.repeat or output.text is None:
            continue
        request = ask(prompt, cases[output.case], model)
        if request.id not in answers:
            answers[request.id] = output
            requests.append(request)
    path.unlink(missing_ok=True)
    asyncio.run(_ask_all(RecordingClient(_Answers(answers), path), requests))
    return path


async def _ask_all(client: RecordingClient, requests: Sequence[Request]) -> None:
    try:
        for request in requests:
            await client.complete(request)
    finally:
        await client.close()


class _Answers:
    """A client that answers with published outputs, for the recorder to write down."""

    def __init__(self, answers: Mapping[str, Output]) -> None:
        self._answers = answers

    async def complete(self, request: Request) -> Completion:
        """The published output to this request."""
        output = self._answers.get(request.id)
        if output is None or output.text is None:
            raise NotRecorded("the published recordings hold no answer to this", model=request.model)
        return Completion(text=output.text)

    async def close(self) -> None:
        """Nothing to close."""
