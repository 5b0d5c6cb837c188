"""Claims on a server: one process in the world asks a question, and the dead hold nothing for long."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from promptpex.core.postgres_address import parse_address
from promptpex.core.records import Completion
from promptpex.store.living_processes import process_start
from promptpex.store.postgres import statements
from promptpex.store.postgres.outage_spool import Spool, Spooled
from promptpex.store.postgres.rows import columns, row_of
from promptpex.store.postgres.statements import filled
from promptpex.store.postgres.store import Options, PostgresStore
from tests.e2e.faults import until
from tests.llm.questions import request
from tests.postgres import Cluster

ID = request().id


async def opened(address: str, folder: Path, **options: object) -> PostgresStore:
    return await PostgresStore.open(
        parse_address(address),
        spool=folder / "spool",
        options=Options(**options),  # type: ignore[arg-type]
    )


async def test_of_many_that_ask_at_once_one_may_whatever_their_order(postgres: Cluster, tmp_path: Path) -> None:
    """Also where replies come while others claim: what is answered is claimed by nobody."""
    address = postgres.address()
    stores = [await opened(address, tmp_path) for _ in range(4)]
    asked = [request(str(number)) for number in range(60)]
    answered: list[str] = []

    async def work(store: PostgresStore, turn: int) -> None:
        async def one(number: int) -> None:
            each = asked[number]
            if await store.claim(each.id):
                answered.append(each.id)
                await store.put(each.id, each, Completion(text="x"))

        order = range(60) if turn % 2 else range(59, -1, -1)
        await asyncio.gather(*(one(number) for number in order))

    await asyncio.gather(*(work(store, turn) for turn, store in enumerate(stores)))
    assert sorted(answered) == sorted(each.id for each in asked)
    assert postgres.execute(f"SELECT count(*) FROM {parse_address(address).schema}.claims") == [(0,)]
    for store in stores:
        await store.close()


async def test_a_question_that_is_answered_while_it_is_claimed_is_not_asked_again(
    postgres: Cluster, tmp_path: Path
) -> None:
    """Who waits for the row of a claim finds it gone, and has not seen the reply that was committed with that."""
    import psycopg

    address = parse_address(postgres.address(application_name="waits"))
    async with await opened(address.text, tmp_path) as one, await opened(address.text, tmp_path) as two:
        assert await one.claim(ID)
        conninfo = psycopg.conninfo.make_conninfo(**address.parameters)
        async with await psycopg.AsyncConnection.connect(conninfo) as answering:
            row = row_of(ID, request(), Completion(text="x"), 1.0)
            await answering.execute(filled(statements.PUT, address.schema), columns([row]))
            await answering.execute(filled(statements.END_CLAIMS, address.schema), ([ID],))
            claiming = asyncio.create_task(two.claim(ID))
            waits = (
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'waits'"
            )
            await until(lambda: postgres.execute(waits) == [(1,)])
            await answering.commit()
        assert not await claiming
        assert await two.get(ID) == Completion(text="x")


CLAIMS = """
import asyncio, sys
from pathlib import Path
from promptpex.core.postgres_address import parse_address
from promptpex.store.postgres.store import Options, PostgresStore

async def main():
    options = Options(host=sys.argv[3] or None, lease_s=float(sys.argv[4]))
    store = await PostgresStore.open(parse_address(sys.argv[1]), spool=Path("spool"), options=options)
    print(await store.claim(sys.argv[2]), flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


async def held(address: str, folder: Path, host: str, lease_s: float) -> asyncio.subprocess.Process:
    """A process that holds the claim."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", CLAIMS, address, ID, host, str(lease_s)), cwd=folder, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"True\n"
    return process


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems wait for the lease")
async def test_the_claims_of_a_process_killed_on_this_host_are_free_at_once(postgres: Cluster, tmp_path: Path) -> None:
    address = postgres.address()
    async with await opened(address, tmp_path) as store:
        process = await held(address, tmp_path, "", 60)
        assert not await store.claim(ID)
        process.kill()
        await process.wait()
        assert await store.claim(ID)


async def test_the_claims_of_a_process_killed_elsewhere_are_free_when_its_lease_is_over(
    postgres: Cluster, tmp_path: Path
) -> None:
    address = postgres.address()
    lease = f"UPDATE {parse_address(address).schema}.owners SET expires = clock_timestamp() - interval '1 s'"
    async with await opened(address, tmp_path, lease_s=0.5) as store:
        process = await held(address, tmp_path, "elsewhere", 60)
        process.kill()
        await process.wait()
        assert not await store.claim(ID)
        postgres.execute(lease)
        assert await store.claim(ID)
        assert await store.claim(ID), "who holds it holds it"


async def test_what_a_dead_process_has_left_here_is_handed_in_before_its_questions_are_asked_again(
    postgres: Cluster, tmp_path: Path
) -> None:
    """Its server went away, it ended, and the server came back to others, who had begun before it ended."""
    address = postgres.address()
    async with (
        await opened(address, tmp_path, lease_s=0.5) as here,  # leases count anew from the server's start
        await opened(address, tmp_path, host="elsewhere", lease_s=6000) as there,
    ):
        assert await there.claim(ID)
        assert await there.claim(request("lost").id)
        spool = Spool(tmp_path / "spool", here._about.store, here._about.secret)
        await spool.add([Spooled(row_of(ID, request(), Completion(text="paid for"), 1.0))])
        spool.close()
        postgres.execute(f"UPDATE {here.address.schema}.owners SET expires = clock_timestamp() - interval '1 hour'")
        up = "SELECT clock_timestamp() > pg_postmaster_start_time() + interval '1 s'"
        await until(lambda: postgres.execute(up) == [(True,)])
        assert not await here.claim(ID)
        assert await here.get(ID) == Completion(text="paid for")
        assert await here.claim(request("lost").id)


async def test_a_lease_is_renewed_while_its_process_lives(postgres: Cluster, tmp_path: Path) -> None:
    address = postgres.address()
    query = f"SELECT expires FROM {parse_address(address).schema}.owners"
    async with await opened(address, tmp_path, host="there", lease_s=0.6) as there:
        assert await there.claim(ID)
        first = postgres.execute(query)
        for _ in range(200):
            await asyncio.sleep(0.02)
            if postgres.execute(query) != first:
                break
        else:
            pytest.fail("the lease was not renewed")
        async with await opened(address, tmp_path, lease_s=0.6) as here:
            assert not await here.claim(ID)


async def test_a_process_of_another_host_with_the_same_name_and_number_lives(postgres: Cluster, tmp_path: Path) -> None:
    """Two containers, or two machines called localhost: only the boot tells them apart."""
    if process_start(os.getpid()) is None:
        pytest.skip("this system does not tell when a process started")
    address = postgres.address()
    async with await opened(address, tmp_path) as one, await opened(address, tmp_path) as two:
        assert await one.claim(ID)
        postgres.execute(f"UPDATE {parse_address(address).schema}.owners SET started = 'another-boot:1'")
        assert not await two.claim(ID)
        postgres.execute(
            f"UPDATE {parse_address(address).schema}.owners SET started = '{process_start(os.getpid())}0', pid = 1"
        )
        assert await two.claim(ID), "a number that was given anew is another process"
