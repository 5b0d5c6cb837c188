"""Readers of the files that promptpex writes itself, hurt: recordings, grades, folders of runs, stores."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fuzzing import seeds
from fuzzing.making import Maker
from promptpex.codecs import safe_csv
from promptpex.core.errors import PromptpexError
from promptpex.core.records import (
    Completion,
    Example,
    Manifest,
    Message,
    Metric,
    Output,
    Prompt,
    Request,
    Run,
    Score,
    Spec,
    Suite,
    Verdict,
)
from promptpex.documents import human_grades
from promptpex.grading.book import WHOLE
from promptpex.grading.desk import GradingDesk
from promptpex.interchange import junit
from promptpex.llm.record_replay import RecordingClient, ReplayClient
from promptpex.llm.redaction import scrubbed_request
from promptpex.report import html_page, runs, summarise, to_dict
from promptpex.report.run_comparison import compare_runs
from promptpex.report.runs.listing import RunList
from promptpex.store import SqliteStore
from promptpex.web.interfaces import Ports
from promptpex.web.pages.runs import list_values
from promptpex.web.shared_by_pages import Site

REQUEST = Request(model="openai/a", messages=(Message(role="user", content="apple"),), stage="output")


def recordings(maker: Maker, folder: Path) -> object:
    """Recordings, replayed and continued."""
    asked, _ = scrubbed_request(REQUEST)
    good = {**seeds.RECORD, "request": asked, "id": REQUEST.id}
    kind = maker.rng.random()
    odd = maker.changed(good) if kind < 0.5 else {**good, "completion": maker.changed(seeds.COMPLETION)}
    text = "".join(json.dumps(line) + "\n" for line in (seeds.RECORDED_ERROR, odd))
    path = maker.file(folder, "recording.jsonl", maker.mangled(text) if kind > 0.8 else text)
    replay = ReplayClient(path)
    client = RecordingClient(replay, path) if maker.rng.random() < 0.3 else replay
    return asyncio.run(_asked(client))


async def _asked(client: Any) -> object:
    try:
        return await client.complete(REQUEST)
    finally:
        await client.close()


def grade_files(maker: Maker, folder: Path) -> object:
    """Files of grades: read, or every problem named; then merged with themselves by appending."""
    lines = [json.dumps(grade, separators=(",", ":")) + "\n" for grade in _grades(maker)]
    text = "".join(lines)
    path = maker.file(folder, "prompt.grades.jsonl", maker.mangled(text) if maker.rng.random() < 0.5 else text)
    good, problems = human_grades.examine(path)
    human_grades.append_grades(path, good)
    again, problems_again = human_grades.examine(path)
    assert again == good
    assert len(problems_again) >= len(problems)
    return human_grades.current(human_grades.read_grades(path))


def imported_grades(maker: Maker, folder: Path) -> object:
    """Grades from elsewhere, without ids or with wrong ones: merged twice, and then graded further and taken back."""
    lines = [{name: value for name, value in seeds.GRADE.items() if name != "id"}, *_grades(maker)]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    source, ours = maker.file(folder, "elsewhere.jsonl", maker.mangled(text)), folder / "prompt.grades.jsonl"
    ours.unlink(missing_ok=True)
    imported = human_grades.import_grades(source, ours)
    again = human_grades.import_grades(source, ours)
    assert (len(again.new), again.known) == (0, len(imported.new) + imported.known)
    items = [Example(id=grade.key, output="x") for grade in imported.new]
    desk = GradingDesk(items[:1], (WHOLE,), ours)
    while (undone := desk.undo("ada")) is not None:
        assert desk.book.tip("ada", undone.key, undone.subject) != undone
    assert desk.refresh().grades == human_grades.read_grades(ours)
    return desk.progress("ada")


def _grades(maker: Maker) -> list[Any]:
    """A grade and its correction, now and then in another order, twice, or with something else in one of them."""
    grades = [seeds.GRADE, seeds.CORRECTION]
    kind = maker.rng.random()
    if kind < 0.2:
        return maker.rng.choices(grades, k=maker.rng.randrange(1, 5))
    place = maker.rng.randrange(len(grades))
    grades[place] = maker.changed(grades[place]) if kind < 0.9 else maker.value()
    return grades


def run_folders(maker: Maker, folder: Path) -> object:
    """The four files of a run, one of them hostile: read, and reported."""
    run_files(maker, folder, hurt=True)
    run = runs.read(folder)
    if maker.rng.random() < 0.2:
        junit.text(run)
    if maker.rng.random() < 0.05:
        return _reported(folder), compare_runs(_good_run(), runs.read_for_report(folder))
    return runs.read_for_report(folder)


def run_lists(maker: Maker, folder: Path) -> object:
    """A results folder whose run is hurt: it is in the list all the same, and the list is a page."""
    run = folder / "p" / "run-1"
    run.mkdir(parents=True, exist_ok=True)
    run_files(maker, run, hurt=maker.rng.random() < 0.5)
    kind = maker.rng.random()
    header, *rows = (line.split(",") for line in seeds.REPORT_CSV.splitlines())
    cells = [[str(maker.value()) if maker.rng.random() < 0.05 else cell for cell in row] for row in rows]
    table = safe_csv.dumps([header, *cells]) if kind < 0.5 else maker.mangled(seeds.REPORT_CSV)
    (run / "report.csv").write_bytes(maker.bytes_of(table))
    try:
        (listed,) = RunList(folder).all()
        values = list_values(RunList(folder), None)
        return listed, Site(Ports(folder)).rendered("runs.html.jinja", "/", comparing=True, **values)
    except PromptpexError as error:
        raise RuntimeError("one hurt run hides the list") from error


def run_files(maker: Maker, folder: Path, *, hurt: bool) -> None:
    """Writes the files of a small run, one of them hostile if ``hurt``."""
    good = _run_files()
    for name, text in good.items():
        (folder / name).write_text(text, encoding="utf-8")
    if hurt:
        name = maker.rng.choice(list(good))
        text = _record_changed(maker, good[name]) if maker.rng.random() < 0.7 else maker.mangled(good[name])
        (folder / name).write_bytes(maker.bytes_of(text))


def _record_changed(maker: Maker, text: str) -> str:
    """One record of the file changed: the first line's, or the whole where that is a record."""
    try:
        return json.dumps(maker.changed(json.loads(text)))
    except ValueError:
        first, _, rest = text.partition("\n")
        return json.dumps(maker.changed(json.loads(first))) + "\n" + rest


def _good_run() -> Run:
    with tempfile.TemporaryDirectory() as place:
        for name, text in _run_files().items():
            (Path(place) / name).write_text(text, encoding="utf-8")
        return runs.read(Path(place))


def _reported(folder: Path) -> object:
    summary = summarise(runs.read_for_report(folder), folder=folder)
    return json.dumps(to_dict(summary)), html_page.html(summary)


def _run_files() -> Mapping[str, str]:
    """A small run as files, made once."""
    if not _RUN:
        spec, suite = Spec.model_validate(seeds.SPEC), _suite()
        outputs = [{"case": f"c{n}", "model": m, "text": "RED", "tokens_in": 3} for n in (1, 2) for m in "ab"]
        verdicts = [
            {"case": one["case"], "model": one["model"], "rule": rule, "status": "pass", "source": "check:x"}
            for one in outputs
            for rule in ("r1", "r2")
        ]
        verdicts += [
            {"case": "c1", "model": "a", "rule": "r3", "status": "not_concerned", "source": "check:when"},
            {"case": "c1", "model": "b", "rule": "r3", "status": "unscored", "unscored": "after", "source": "none"},
        ]
        scores = [
            {"case": one["case"], "model": one["model"], "name": name, "value": 1.0, "source": "match:exact"}
            for one in outputs
            for name in ("expected", "tone", "short")
        ]
        scores[-1] |= {"value": None, "unscored": "judge-unclear", "reason": "who knows"}
        manifest = {
            "run": "run-1", "prompt": "p", "prompt_fingerprint": "f1", "spec_digest": "d1", "suite_digest": "d2",
            "models": ["a", "b"], "created": "2026-01-02T03:04:05Z",
        }  # fmt: skip
        run = Run(
            manifest=Manifest.model_validate(manifest),
            prompt=Prompt(
                name="p", messages=(Message(role="user", content="{{thing}}"),), variables=("thing",), fingerprint="f"
            ),
            spec=spec,
            suite=suite,
            metrics=_metrics(),
            outputs=tuple(Output.model_validate(one) for one in outputs),
            verdicts=tuple(Verdict.model_validate(one) for one in verdicts),
            scores=tuple(Score.model_validate(one) for one in scores),
        )
        with tempfile.TemporaryDirectory() as place:
            runs.finish(Path(place), run)
            _RUN.update({file.name: file.read_text(encoding="utf-8") for file in Path(place).iterdir()})
    return _RUN


_RUN: dict[str, str] = {}


def _metrics() -> tuple[Metric, ...]:
    criteria = Prompt(
        name="tone",
        messages=(Message(role="system", content="{{output}}"),),
        variables=("output",),
        fingerprint="f",
    )
    return (
        Metric(name="tone", description="How plainly it speaks.", scale="0-100", criteria=criteria),
        Metric(name="short", code=seeds.METRIC_CODE),
    )


def _suite() -> Suite:
    return Suite.model_validate(seeds.CASES)


def stores(maker: Maker, folder: Path) -> object:
    """Stores whose rows, tables or bytes are not ours."""
    path = folder / "store.db"
    store_file(maker, path, hurt=True)
    return asyncio.run(_looked_at(maker, path))


async def _looked_at(maker: Maker, path: Path) -> object:
    async with SqliteStore(path) as store:
        await store.stats()
        await store.verify()
        await store.prune(1e9, failed=maker.rng.random() < 0.5, dry_run=True)
        return await store.get(REQUEST.id)


def store_file(maker: Maker, path: Path, *, hurt: bool) -> None:
    """Writes a store, a hostile one if ``hurt``."""
    if not _STORE:
        asyncio.run(_stored(path))
        _STORE.append(path.read_bytes())
    flipped = hurt and maker.rng.random() < 0.5
    path.write_bytes(maker.flipped(_STORE[0]) if flipped else _STORE[0])
    if hurt and not flipped:
        _rewritten(maker, path)


_STORE: list[bytes] = []


async def _stored(path: Path) -> None:
    async with SqliteStore(path) as store:
        await store.put(REQUEST.id, REQUEST, Completion.model_validate(seeds.COMPLETION))


STATEMENTS = (
    "CREATE VIEW v AS SELECT 1", "CREATE TABLE t(a)", "DROP TABLE claims", "PRAGMA user_version = 7",
    "CREATE TRIGGER t AFTER INSERT ON claims BEGIN DELETE FROM replies; END", "PRAGMA application_id = 1",
    "ALTER TABLE replies ADD COLUMN b", "DELETE FROM replies", "CREATE INDEX i ON replies(model)",
    "UPDATE replies SET created_at = 'x'", "UPDATE replies SET created_at = 1e308", "UPDATE replies SET id = x'00ff'",
    "UPDATE replies SET model = NULL", "UPDATE replies SET completion = zeroblob(1000)",
)  # fmt: skip


def _rewritten(maker: Maker, path: Path) -> None:
    column = maker.rng.choice(("request", "completion"))
    good = seeds.COMPLETION if column == "completion" else REQUEST.model_dump(mode="json")
    connection = sqlite3.connect(path)
    try:
        if maker.rng.random() < 0.4:
            connection.executescript(maker.rng.choice(STATEMENTS))
        else:
            text = maker.document(json.dumps(good), good)
            connection.execute(f"UPDATE replies SET {column} = ?", (text.encode("utf-8", "replace").decode(),))
        connection.commit()
    except (sqlite3.Error, OverflowError):
        pass
    finally:
        connection.close()
