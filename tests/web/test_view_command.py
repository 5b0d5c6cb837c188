"""``promptpex view`` as a process: its link, its port, its end."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import aiohttp
import pytest

from promptpex.web import server as web_server
from promptpex.web.interfaces import Ports
from tests.e2e.command import in_process
from tests.web.command import serving
from tests.web.serving import served
from tests.web.stored_runs import named_run, store


async def test_view_serves_until_ctrl_c_and_keeps_its_secrets(tmp_path: Path) -> None:
    store(named_run("first", "2026-01-02T03:04:05Z"), tmp_path / "results", report=False)
    async with serving("view", "first", "--port", "0", cwd=tmp_path, forked=False) as command:
        link = await command.link()
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(cookie_jar=jar) as session:
            async with session.get(link) as answer:
                assert 'content="0;url=/runs/colours/first"' in await answer.text()
            further = await command.link()
            address = link.partition("/enter")[0]
            async with session.get(f"{address}/runs/colours/first") as answer:
                assert "how well do the models follow it?" in await answer.text()
            cookies = [one.value for one in jar]
            done = await command.ended()
    assert (done.code, done.err) == (0, "")
    assert further != link
    assert done.out.startswith(f"Open {link}\nCtrl-C ends it.\nFor another browser or person: {further}")
    assert done.out.count(link) == done.out.count(further) == 1
    assert len(cookies) == 1
    assert cookies[0] not in done.out
    with pytest.raises(aiohttp.ClientConnectionError):
        async with aiohttp.ClientSession() as session, session.get(link):
            pass


async def test_a_port_that_is_taken_is_said_and_the_next_one_used(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        async with serving("view", "--port", str(port), cwd=tmp_path) as command:
            link = await command.link()
            done = await command.ended()
    assert done.err.startswith(f"Port {port} is taken; this is port ")
    assert done.code == 0
    assert f"127.0.0.1:{port}/" not in link
    assert link.split(":")[2].split("/")[0] in done.err


@pytest.mark.parametrize("named", ["nosuch", "/nosuch/run", "../x"])
def test_a_run_that_is_not_there_is_named(tmp_path: Path, named: str) -> None:
    done = in_process("view", named, "--no-open", "--port", "0", cwd=tmp_path)
    assert done.code == 2
    ways = "give its folder, id or name, PROMPT, or latest (`promptpex runs` lists them)"
    assert done.err == f"promptpex: {named}: no such run; {ways}\n"


def test_a_synthesis_folder_has_no_page(tmp_path: Path) -> None:
    (tmp_path / "mail.synthesis").mkdir()
    done = in_process("view", "mail.synthesis", "--no-open", "--port", "0", cwd=tmp_path)
    message = "a synthesis folder has no page; `promptpex report mail.synthesis` says what was chosen"
    assert (done.code, done.err) == (2, f"promptpex: mail.synthesis: {message}\n")


@pytest.mark.skipif(sys.platform != "linux", reason="only there all of 127.0.0.0/8 is this machine")
def test_the_server_listens_on_one_address_alone(tmp_path: Path) -> None:
    with served(Ports(tmp_path)) as server:
        socket.create_connection(("127.0.0.1", server.server.port)).close()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", server.server.port))


def test_connections_without_a_whole_request_are_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_server, "REQUEST_S", 0.3)
    with served(Ports(tmp_path)) as server:
        for begun in (b"", b"GET / HTTP/1.1\r\nHost: ", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab"):
            with socket.create_connection(("127.0.0.1", server.server.port), timeout=60) as held:
                held.sendall(begun)
                while held.recv(4096):
                    pass
