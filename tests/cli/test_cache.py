"""`promptpex cache` as its user sees it: an empty place, a wrong age, a store, a broken entry."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from pathlib import Path

import pytest

from promptpex.core.records import Completion
from promptpex.store import SqliteStore
from tests.e2e.faults import command
from tests.llm.questions import request

DAY = 86400.0


async def filled(path: Path) -> Path:
    """A store with a reply of 40 days ago and one of 10 days ago."""
    async with SqliteStore(path) as store:
        for text in ("old", "new"):
            await store.put(request(text).id, request(text), Completion(text="fine", finish_reason="stop"))
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        for text, days in (("old", 40), ("new", 10)):
            connection.execute(
                "UPDATE replies SET created_at = created_at - ? WHERE id = ?", (days * DAY, request(text).id)
            )
    return path


async def test_the_old_goes_and_the_new_stays(tmp_path: Path) -> None:
    path = await filled(tmp_path / "store.db")
    pruned = await command(["cache", "prune", "--older-than", "30d", "--store", str(path)])
    assert (pruned.code, pruned.out) == (0, "1 reply pruned\n")
    stats = await command(["cache", "stats", "--store", str(path), "--json"])
    assert json.loads(stats.out)["replies"] == 1
    async with SqliteStore(path) as store:
        assert await store.get(request("new").id) is not None
        assert await store.get(request("old").id) is None


async def test_a_broken_entry_is_found_and_the_exit_code_says_so(tmp_path: Path) -> None:
    path = await filled(tmp_path / "store.db")
    assert (await command(["cache", "verify", "--store", str(path)])).code == 0
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE replies SET completion = '{' WHERE id = ?", (request("old").id,))
    done = await command(["cache", "verify", "--store", str(path)])
    assert done.code == 2
    assert request("old").id in done.out
    assert done.out.endswith("its answer cannot be read\n1 problem\n")
    (tmp_path / "promptpex.toml").write_text('report_language = "vi"\n', encoding="utf-8")
    done = await command(["cache", "verify", "--store", str(path), "--config", str(tmp_path / "promptpex.toml")])
    assert "không đọc được câu trả lời của mục này" in done.out


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *((column, b"\x1b]0;x\x07\xff") for column in ("id", "model", "stage", "created_at", "request", "completion")),
        ("model", "\x1b]0;x\x07\u202e"),
        *(("created_at", value) for value in ("soon", 1e300, float("-inf"))),
        *(("request", value) for value in (7, "[" * 100_000, "{}")),
    ],
)
async def test_no_value_of_a_strangers_store_breaks_a_look_at_it(tmp_path: Path, column: str, value: object) -> None:
    path = await filled(tmp_path / "store.db")
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"UPDATE replies SET {column} = ? WHERE rowid = 1", (value,))
    looks = (["stats"], ["verify"], ["prune", "--failed", "--dry-run"], ["prune", "--older-than", "1d", "--dry-run"])
    for look in (*looks, *([*look, "--json"] for look in looks)):
        done = await command(["cache", *look, "--store", str(path)])
        assert "promptpex itself" not in done.err, done.err
        assert not re.search("[\x1b\u202e]", done.out + done.err)


FORM = {"type": "object", "properties": {"verdict": {"type": "string"}}, "required": ["verdict"]}
REPLIES = [
    ("judge", "a", Completion(text='{"verdict": "pass"}')),
    ("judge", "a", Completion(text="I will not say")),
    ("judge", "b", Completion(text='{"opinion": "pass"}')),
    ("output", "a", Completion(text="any words")),
    ("output", "a", Completion(text="")),
    ("output", "b", Completion(text="cut", finish_reason="length")),
]


async def of_all_kinds(path: Path) -> Path:
    async with SqliteStore(path) as store:
        for number, (stage, model, completion) in enumerate(REPLIES):
            schema = FORM if stage == "judge" else None
            asked = request(str(number)).replace(stage=stage, model=model, reply_schema=schema)
            await store.put(asked.id, asked, completion)
    return path


@pytest.mark.parametrize(
    ("options", "gone"),
    [
        (["--failed"], 4),
        (["--failed", "--stage", "judge"], 2),
        (["--failed", "--stage", "judge", "--model", "a?temperature=0"], 1),
        (["--model", "b"], 2),
        (["--stage", "output", "--older-than", "0s"], 3),
    ],
)
async def test_replies_are_pruned_by_stage_model_and_use(tmp_path: Path, options: list[str], gone: int) -> None:
    store = str(await of_all_kinds(tmp_path / "store.db"))
    dry = await command(["cache", "prune", *options, "--dry-run", "--json", "--store", store])
    assert json.loads(dry.out) == {"would_prune": gone}
    done = await command(["cache", "prune", *options, "--json", "--store", store])
    assert json.loads(done.out) == {"pruned": gone}
    left = await command(["cache", "stats", "--json", "--store", store])
    assert json.loads(left.out)["replies"] == len(REPLIES) - gone


async def test_a_stage_that_does_not_exist_is_named_and_nothing_goes(tmp_path: Path) -> None:
    path = await filled(tmp_path / "store.db")
    done = await command(["cache", "prune", "--stage", "none such", "--store", str(path)])
    assert done.code == 2
    assert "there is no stage 'none such'" in done.err
    async with SqliteStore(path) as store:
        assert (await store.stats()).replies == 2
