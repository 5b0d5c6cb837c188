"""Candidates that come in a stream: shown and run while the author still writes, and the same file in the end."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from promptpex.config import load
from promptpex.core.records import Candidate, Check, Criterion, Synthesis
from promptpex.core.records.criteria_board import CriteriaBoard
from promptpex.grading.labels import LabelRules
from promptpex.workflow.criteria.candidates import ArrivingCandidates
from promptpex.workflow.criteria.page import CriteriaProject
from promptpex.workflow.project_files import files_of
from tests.stream_server import CUT, END, HANGS_S, Gate, Part, Reply, StreamServer, event, in_thread, whole
from tests.workflow.criteria.criteria_bench import CAPITALS, Bench, candidate, criterion, proposed, until

TEXT = "The colour is written in capitals."
GOOD, SHOUTS = CAPITALS[:2]
ASKS = proposed("asks", "question", "Is it in capitals?", "capitals")


@contextmanager
def criteria_page(path: Path, replies: Sequence[Any]) -> Iterator[tuple[CriteriaProject, StreamServer]]:
    """The page of a criterion, whose author and judge are one model behind HTTP: a server on this machine is asked for
    one model at a time."""
    path.mkdir(exist_ok=True)
    bench, server = Bench(path), StreamServer(replies)
    bench.project.close()
    bench.grade_capitals(24, text=TEXT)
    with in_thread(server):
        model = f"openai/any?api_base={server.url}"
        given = {"author": model, "judge": (model,), "store": str(path / "store.db")}
        resolved = load(given, start=path, env={})
        project = CriteriaProject(resolved, files_of(bench.prompt), bench.pool, LabelRules(), lambda synthesis: None)
        try:
            project.add(TEXT, "Capitals")
            yield project, server
        finally:
            project.close()


def made(path: Path, replies: Sequence[Any]) -> tuple[bytes, StreamServer]:
    """The file of candidates once all is done, and the server that was asked."""
    with criteria_page(path, replies) as (project, server):
        project.make()
        settled(project)
    return file_of(path), server


def settled(project: CriteriaProject) -> CriteriaBoard:
    return until(project, lambda board: not board.is_working)


def file_of(path: Path) -> bytes:
    return (path / "colours.synthesis" / "candidates.yaml").read_bytes()


def items(*some: dict[str, Any]) -> str:
    return ", ".join(json.dumps(one) for one in some)


def ids(board: CriteriaBoard) -> dict[str, bool]:
    """The candidates that are shown, and whether each is on its way."""
    return {one.id: one.arriving for one in criterion(board, "capitals").candidates}


def is_run(board: CriteriaBoard, name: str) -> bool:
    return name in ids(board) and candidate(board, name).waiting == 0


def test_the_first_is_run_on_all_outputs_before_the_second_was_written(tmp_path: Path) -> None:
    gate = Gate()
    reply = ['{"items": [', items(GOOD), ', {"name": "shou', gate, items(SHOUTS)[len('{"name": "shou') :], "]}", *END]
    with criteria_page(tmp_path / "streamed", [reply]) as (project, server):
        before = file_of(tmp_path / "streamed")
        project.make()
        board = until(project, lambda board: is_run(board, "all_capitals"))
        assert gate.reached.wait(HANGS_S)
        assert not gate.opened.is_set(), "the server has not sent the second half"
        assert ids(board) == {"all_capitals": True}
        shown = candidate(board, "all_capitals")
        assert (shown.passes, shown.fails, shown.bad > 0, shown.caught == shown.bad) == (12, 12, True, True)
        assert (board.made, board.tried, board.is_working) == (1, 24, True)
        assert file_of(tmp_path / "streamed") == before, "it may yet go"
        gate.opened.set()
        board = settled(project)
        assert ids(board) == {"all_capitals": False, "shouts": False}
        assert (board.made, board.tried, len(server.bodies)) == (2, 48, 1)
    plain, server = made(tmp_path / "whole", [lambda body: web.json_response(whole(f"[{items(GOOD, SHOUTS)}]"))])
    assert file_of(tmp_path / "streamed") == plain
    assert server.bodies[0]["stream"] is True


def test_a_question_is_put_to_the_judge_before_the_author_has_finished(tmp_path: Path) -> None:
    gate, asked = Gate(), Gate()
    author: list[Part] = ["[", items(ASKS), gate, "]", *END]

    def answer(body: dict[str, Any]) -> Reply:
        if body["response_format"]["json_schema"]["name"] == "candidates":
            return author
        asked.reached.set()
        return web.json_response(whole(json.dumps({"answer": "yes", "quote": "", "reason": "so"})))

    with criteria_page(tmp_path, [answer]) as (project, _):
        project.make()
        assert asked.reached.wait(HANGS_S)
        assert ids(project.board()) == {"asks": True}
        gate.opened.set()
        assert ids(settled(project)) == {"asks": False}


@pytest.mark.parametrize("again", [GOOD, SHOUTS])
def test_what_a_broken_stream_brought_is_confirmed_or_taken_back_by_the_next(
    tmp_path: Path, again: dict[str, Any]
) -> None:
    gates = Gate(), Gate()
    broken: list[Part] = ["[", items(GOOD), ",", gates[0], CUT]
    with criteria_page(tmp_path / "broken", [broken, ["[", gates[1], items(again), "]", *END]]) as (project, server):
        project.make()
        until(project, lambda board: is_run(board, "all_capitals"))
        gates[0].opened.set()
        assert gates[1].reached.wait(HANGS_S)
        assert ids(until(project, lambda board: not ids(board))) == {}, "taken back"
        gates[1].opened.set()
        board = settled(project)
        assert ids(board) == {again["name"]: False}
        assert (len(server.bodies), board.made) == (2, 1)
    assert file_of(tmp_path / "broken") == made(tmp_path / "once", [["[", items(again), "]", *END]])[0]


def test_nothing_stays_of_a_reply_that_failed(tmp_path: Path) -> None:
    gate = Gate()
    refused = event({"error": {"message": "no more of this", "code": 400}})
    with criteria_page(tmp_path, [["[", items(GOOD), ",", gate, refused]]) as (project, _):
        before = file_of(tmp_path)
        project.make()
        until(project, lambda board: ids(board) == {"all_capitals": True})
        gate.opened.set()
        board = settled(project)
        assert ids(board) == {}
        assert board.made == 0
        assert file_of(tmp_path) == before


def test_a_server_that_refuses_streams_is_asked_for_a_whole_reply(tmp_path: Path) -> None:
    def answer(body: dict[str, Any]) -> Reply:
        if "stream" in body:
            return web.json_response({"error": {"message": "stream is not supported"}}, status=400)
        return web.json_response(whole(f"[{items(GOOD, SHOUTS)}]"))

    refused, server = made(tmp_path / "refused", [answer])
    assert ["stream" in body for body in server.bodies] == [True, False]
    assert refused == made(tmp_path / "streamed", [["[", items(GOOD), ",", items(SHOUTS), "]", *END]])[0]


def test_what_has_reached_the_file_is_there_once_and_what_lost_its_criterion_not_at_all() -> None:
    criteria = tuple(Criterion(id=name, text=name) for name in ("a", "b"))
    one, two, three = (
        Candidate(id=name, criteria=(of,), check=Check(kind="contains", value=value))
        for name, of, value in (("x", "a", "1"), ("x", "a", "2"), ("z", "gone", "3"))
    )
    changes: list[int] = []
    arriving = ArrivingCandidates(lambda: changes.append(1))
    for some in ((one,), (one, two, three), (one, two, three)):
        arriving.tell("a", some)
    on_file = Synthesis(prompt="p", criteria=criteria, candidates=(one,))
    synthesis, ids = arriving.with_file(on_file)
    assert [(each.id, each.check.value) for each in synthesis.candidates] == [("x", "1"), ("x_2", "2")]
    assert (ids, len(changes), arriving.count) == (frozenset({"x_2"}), 2, 3)
    arriving.over("a")
    assert arriving.with_file(on_file) == (on_file, frozenset())
