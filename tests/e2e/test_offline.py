"""No network but to the chosen models: the command in a process of its own whose other sockets are blocked."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.command import environment
from tests.e2e.faults import Place, Script, place
from tests.fork_server.start import forking
from tests.servers import ScriptedServer

GUARD = """
import asyncio, json, os, socket, sys

reached = []

def refuse(host):
    reached.append(str(host))
    raise OSError(f"blocked: {host}")

def local(host):
    name = host.decode() if isinstance(host, bytes) else host
    return name in (None, "", "localhost", "::1") or str(name).startswith("127.")

def guard(name):
    real = getattr(socket.socket, name)
    def call(self, *arguments):
        address = arguments[-1]
        if self.family in (socket.AF_INET, socket.AF_INET6) and not local(address[0]):
            refuse(address[0])
        return real(self, *arguments)
    setattr(socket.socket, name, call)

for name in ("connect", "connect_ex", "sendto"):
    guard(name)
resolve = socket.getaddrinfo
def getaddrinfo(host, *rest, **named):
    return resolve(host, *rest, **named) if local(host) else refuse(host)
socket.getaddrinfo = getaddrinfo
socket.gethostbyname = lambda host: "127.0.0.1" if local(host) else refuse(host)

def report():
    with open(os.environ["REACHED"], "w", encoding="utf-8") as file:
        json.dump(reached, file)

import atexit
atexit.register(report)
"""
COMMAND = GUARD + "from promptpex.cli.main import run_cli\nsys.exit(run_cli(sys.argv[1:]))\n"
PROBE = (
    GUARD + "import urllib.request\ntry:\n    urllib.request.urlopen('http://example.org')\nexcept OSError:\n    pass\n"
)


def reached(
    code: str, folder: Path, *arguments: str, forked: bool = True
) -> tuple[list[str], subprocess.CompletedProcess[str]]:
    """The hosts that a process reached for, and how it ended."""
    reached_file = folder / "reached.json"
    with forking(forked):
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            cwd=folder,
            env=environment(REACHED=str(reached_file), OPENAI_API_KEY="sk-none", PROMPTPEX_MAX_ATTEMPTS="2"),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    reached = json.loads(reached_file.read_text(encoding="utf-8"))
    assert isinstance(reached, list)
    return reached, done


def test_the_guard_sees_what_is_reached_for(tmp_path: Path) -> None:
    assert reached(PROBE, tmp_path)[0] == ["example.org"]


async def test_a_run_reaches_for_the_chosen_server_alone(tmp_path: Path, scripted: ScriptedServer) -> None:
    here = place(tmp_path, cells=4)
    scripted.otherwise = Script()
    arguments = here.arguments("--models", "openai/any", "--api-base", f"{scripted.url}/v1")
    hosts, done = await asyncio.to_thread(reached, COMMAND, tmp_path, *arguments, forked=False)
    assert done.returncode == 0, done.stderr
    assert hosts == []
    assert scripted.count == 4


async def test_a_hosted_model_is_reached_for_at_its_own_address_alone(tmp_path: Path) -> None:
    hosts = await _hosts_of(place(tmp_path, cells=2), "gpt-4o-mini")
    assert set(hosts) == {"api.openai.com"}


@pytest.mark.long
async def test_so_is_one_through_litellm(tmp_path: Path) -> None:
    hosts = await _hosts_of(place(tmp_path, cells=2), "anthropic/claude-3-haiku-20240307")
    assert set(hosts) <= {"api.anthropic.com"}


@pytest.mark.parametrize("verb", ["estimate", "validate"])
def test_commands_that_send_no_request_reach_no_host(tmp_path: Path, verb: str) -> None:
    here = place(tmp_path, cells=2)
    arguments = {
        "estimate": here.arguments("--models", "gpt-4o-mini", "--judge", "none", verb="estimate"),
        "validate": ["validate", str(here.prompt)],
    }[verb]
    hosts, done = reached(COMMAND, tmp_path, *arguments)
    assert done.returncode == 0, done.stderr
    assert hosts == []


async def _hosts_of(here: Place, model: str) -> list[str]:
    arguments = here.arguments("--models", model, "--timeout", "4")
    hosts, done = await asyncio.to_thread(reached, COMMAND, here.folder, *arguments)
    assert done.returncode == 3, done.stderr
    return hosts
