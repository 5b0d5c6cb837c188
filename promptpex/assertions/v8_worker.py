"""The process that holds V8. It runs alone, with nothing of promptpex imported and an empty environment.

A script can bring V8 itself down (``new Array(1e9).fill(0)`` ends the process, whatever the memory limit says), so V8
never lives in the process of a run. Requests and replies are lines of ASCII JSON on stdin and stdout.

Started as ``python -I -S v8_worker.py FOLDER``, the folder being where ``py_mini_racer`` is installed.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
import time
from pathlib import Path
from typing import Any

_FLAGS = (
    "--single-threaded",
    "--enable-experimental-regexp-engine-on-excessive-backtracks",
    "--no-js-regexp-modifiers",
    "--no-js-regexp-duplicate-named-groups",
)
"""Linear time where a pattern backtracks without end, and the pattern syntax of the Node that promptfoo runs on."""

_HERE = Path(__file__).parent / "_js"
_PROCESS_BYTES = 1_500_000_000


def _literal(text: str) -> str:
    """JavaScript source of a string: ASCII, lone surrogates escaped."""
    return json.dumps(text)


class Worker:
    """The requests: ``match`` in one lasting context, ``run`` in a fresh one each."""

    def __init__(self) -> None:
        self._regexes: Any = None
        self._sandbox = (_HERE / "sandbox.js").read_text(encoding="utf-8")

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The reply to a request."""
        if request["op"] == "match":
            return {"results": self._match(request)}
        return self._run(request)

    def _match(self, request: dict[str, Any]) -> Any:
        from py_mini_racer import JSEvalException, MiniRacer

        if self._regexes is None:
            self._regexes = MiniRacer()
            self._regexes.eval((_HERE / "regex.js").read_text(encoding="utf-8"))
        try:
            found = self._regexes.eval(f"match({_literal(request['packed'])})", timeout_sec=request["seconds"])
        except JSEvalException:
            found = self._regexes.eval("matched()")
        return json.loads(found)

    def _run(self, request: dict[str, Any]) -> dict[str, Any]:
        from py_mini_racer import JSEvalException, JSOOMException, JSTimeoutException, MiniRacer

        deadline = time.monotonic() + request["seconds"]
        racer = MiniRacer()
        try:
            racer.set_hard_memory_limit(request["memory"])
            return self._verdict(racer, request["packed"], deadline)
        except JSTimeoutException:
            return {"kind": "timeout"}
        except JSOOMException:
            return {"kind": "memory"}
        except JSEvalException as error:
            return {"kind": "threw", "message": str(error).splitlines()[0][:300]}
        finally:
            racer.close()

    def _verdict(self, racer: Any, packed: str, deadline: float) -> dict[str, Any]:
        name = "_" + secrets.token_hex(16)
        state = racer.eval(f"{self._sandbox}({_literal(packed)}, '{name}')", timeout_sec=_left(deadline))
        while state == "pending":
            if time.monotonic() >= deadline:
                return {"kind": "timeout"}
            state = racer.eval(f"{name}()", timeout_sec=_left(deadline))
        if state == "stuck":
            return {"kind": "stuck"}
        found: dict[str, Any] = json.loads(str(state))
        return found


def _left(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.001)


def _limit() -> None:
    """No core files, no files written, bounded memory, where the system knows such limits."""
    try:
        import resource
    except ImportError:
        return
    for kind, most in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_DATA, _PROCESS_BYTES)):
        try:
            resource.setrlimit(kind, (most, most))
        except (ValueError, OSError):
            continue


def serve() -> None:
    """Answer requests until stdin ends."""
    sys.path.append(sys.argv[1])
    _limit()
    from py_mini_racer import DEFAULT_V8_FLAGS, init_mini_racer

    init_mini_racer(flags=(*DEFAULT_V8_FLAGS, *_FLAGS), ignore_duplicate_init=True)
    worker = Worker()
    for line in sys.stdin:
        sys.stdout.write(json.dumps(worker.answer(json.loads(line))) + "\n")
        sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    serve()
