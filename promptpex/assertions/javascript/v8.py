"""V8 in a process of its own: ECMAScript regular expressions and scripts, with limits on time and memory.

Patterns of the python dialect are searched for, and HTML and SQL are parsed, in that process as well.

Whoever has many matches to make hands them in together (``prefetch``), and they are made in one call. No match and no
script can hang or end a run: V8 falls back to a linear engine where a pattern backtracks without end, every call has a
time limit, and a V8 that does not answer or dies is replaced.
"""

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path
from typing import IO, Any

from promptpex.assertions import time_limits
from promptpex.assertions.javascript.strikes import StrikeCounter
from promptpex.assertions.model import Unscorable
from promptpex.codecs.wording import quoted_json

MATCH_SECONDS = 1.0
"""One match, and one search of the python dialect; what does not backtrack takes microseconds."""
SCRIPT_SECONDS = 2.0
"""One script on one output."""
HTML_SECONDS = 2.0
"""Parsing one output."""
SQL_SECONDS = time_limits.CHECK_SECONDS - 1.0
"""Parsing all SQL of one output: the check's time, less what the process may take to answer."""
SCRIPT_BYTES = 128_000_000
"""V8's heap for one script."""
_GRACE_SECONDS = 1.0
"""How much longer than its own limit the process may take to answer before it is ended."""
_START_SECONDS = 10.0
"""How long a start may take; it takes 0.1 s on an idle machine."""
_WATCH_SECONDS = 0.1
"""How often the watchdog looks: what it adds to a limit at most."""
_BATCH = 512
"""Matches in one call: enough that the call itself does not count."""
_MAX_TEXT = 4_000_000
"""Characters of texts in one call, which are copied twice."""

WorkerRequest = dict[str, object]
WorkerAnswer = dict[str, Any]
"""What the process says to a request: JSON, its keys by the operation; see ``v8_worker``."""

Match = tuple[str, str, str]
"""A pattern, its flags, and the text it is tried on."""


class WorkerDied(Exception):
    """The process ended, or, ``late``, did not answer in time and was ended."""

    def __init__(self, late: bool) -> None:
        self.late = late
        super().__init__(late)


class Watchdog:
    """Ends a process that does not answer in time. One thread a process; arming it costs next to nothing."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.late = False
        self._process = process
        self._until = 0.0
        self._armed = threading.Event()
        self._over = False
        threading.Thread(target=self._watch, name="promptpex-v8", daemon=True).start()

    def arm(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds
        self._armed.set()

    def disarm(self) -> None:
        self._armed.clear()

    def end(self) -> None:
        self._over = True
        self._armed.set()

    def _watch(self) -> None:
        while True:
            self._armed.wait()
            if self._over:
                return
            time.sleep(_WATCH_SECONDS)
            if self._armed.is_set() and not self._over and time.monotonic() > self._until:
                self.late = True
                self._process.kill()
                return


class V8Process:
    """The process, started with the first request and replaced when it ends. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._process: subprocess.Popen[str] | None = None
        self._watchdog: Watchdog | None = None
        self._awake = False
        self._owner = os.getpid()

    def start(self) -> None:
        """Start V8 now; it comes up while the caller goes on."""
        with self._lock:
            if self._owner != os.getpid():  # after a fork the pipes are the parent's
                self._process, self._watchdog, self._owner = None, None, os.getpid()
            if self._process is None or self._process.poll() is not None:
                self._process = _started()
                self._watchdog = Watchdog(self._process)
                self._awake = False

    def ask(self, request: WorkerRequest, seconds: float) -> WorkerAnswer:
        """The reply to a request. A V8 that is just coming up is waited for before the time begins.

        Raises:
            WorkerDied: the process ended, or did not answer within ``seconds`` and some grace.
        """
        with self._lock:
            self.start()
            if not self._awake:
                self._exchange({"op": "wake"}, _START_SECONDS)
                self._awake = True
            return self._exchange(request, seconds + _GRACE_SECONDS)

    def _exchange(self, request: WorkerRequest, seconds: float) -> WorkerAnswer:
        line = json.dumps(request) + "\n"
        process, watchdog = self._process, self._watchdog
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        assert watchdog is not None
        watchdog.arm(seconds)
        try:
            process.stdin.write(line)
            process.stdin.flush()
            reply = process.stdout.readline()
        except (OSError, ValueError):
            reply = ""
        finally:
            watchdog.disarm()
        if not reply.endswith("\n"):
            self.close()
            raise WorkerDied(watchdog.late)
        answer: WorkerAnswer = json.loads(reply)
        return answer

    def close(self) -> None:
        """End the process."""
        with self._lock:
            process, self._process = self._process, None
            watchdog, self._watchdog = self._watchdog, None
        if watchdog is not None:
            watchdog.end()
        if process is not None and self._owner == os.getpid():
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                _closed(pipe)


def _closed(pipe: IO[str] | None) -> None:
    try:
        if pipe is not None:
            pipe.close()
    except OSError:
        return


def _started() -> subprocess.Popen[str]:
    command = [sys.executable, "-I", "-S", str(Path(__file__).with_name("v8_worker.py"))]
    return subprocess.Popen(
        [*command, *dict.fromkeys(map(_home, ("py_mini_racer", "regex", "selectolax", "sqlglot")))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_environment(),
        encoding="ascii",
    )


def _home(package: str) -> str:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise Unscorable(
            "not-installed", f"the package {package.replace('_', '-')}, which checks need, is not installed"
        )
    return str(Path(spec.origin).parent.parent)


def _environment() -> dict[str, str]:
    """Nothing but what Windows needs to start a process: no key reaches the one that runs scripts."""
    return {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}


PROCESS = V8Process()
"""The process's own; V8 starts with the first match or script."""
atexit.register(PROCESS.close)


class Regexes:
    """Matches made in V8. Safe to share between threads."""

    def __init__(self, process: V8Process = PROCESS, seconds: float = MATCH_SECONDS) -> None:
        self._process = process
        self._seconds = seconds
        self._lock = threading.Lock()
        self._prefetched: dict[Match, bool | str | None] = {}
        self._recent: dict[Match, bool | str | None] = {}
        self._strikes = StrikeCounter()

    def prefetch(self, matches: Iterable[Match]) -> None:
        """Make these matches now, in few calls, and remember them until the next ``prefetch``."""
        wanted = list(dict.fromkeys(matches))
        results: dict[Match, bool | str | None] = {}
        for batch in _batches(wanted):
            results.update(zip(batch, self._run(batch), strict=True))
        with self._lock:
            self._prefetched, self._recent = results, {}

    def test(self, pattern: str, text: str, flags: str = "") -> bool:
        """Whether the pattern is found anywhere in the text.

        Raises:
            Unscorable: ``bad-pattern``, ``timeout`` where the match takes too long, or where the check
                that makes it has made many and its time is over.
        """
        time_limits.tick()
        match = (pattern, flags, text)
        with self._lock:
            results = self._prefetched if match in self._prefetched else self._recent
            is_new = match not in results
            result = None if is_new else results[match]
        if is_new:
            result = self._run([match])[0]
            self._remember(match, result)
        if isinstance(result, bool):
            return result
        if result is None:
            message = f"the pattern {quoted_json(pattern)} took longer than {self._seconds:g} s on this text"
            raise Unscorable("timeout", message)
        raise Unscorable("bad-pattern", f"the pattern {quoted_json(pattern)} does not compile: {result}")

    def _remember(self, match: Match, result: bool | str | None) -> None:
        with self._lock:
            if len(self._recent) > 4 * _BATCH:
                self._recent.clear()
            self._recent[match] = result

    def _run(self, matches: Sequence[Match]) -> list[bool | str | None]:
        """A result per match: found or not, why the pattern does not compile, or None for out of time or memory."""
        results: list[bool | str | None] = []
        while len(results) < len(matches):
            rest = matches[len(results) :]
            if time_limits.used_up() or self._strikes.struck_out(rest[0][:2]):
                results.append(None)
                continue
            some = list(takewhile(lambda match: not self._strikes.struck_out(match[:2]), rest))
            done = self._call(some)
            for match in some[: len(done)]:
                self._strikes.record(match[:2], overran=False)
            if len(done) < len(some):
                done += self._alone(some[len(done)], tried=not done)
            results += done
        return results

    def _alone(self, match: Match, tried: bool) -> list[bool | str | None]:
        """The match during which the time ran out, with all the time for itself, unless it had that already."""
        done = [] if tried else self._call([match])
        self._strikes.record(match[:2], overran=not done)
        return done or [None]

    def _call(self, matches: Sequence[Match], again: bool = True) -> list[bool | str | None]:
        """The results that came in time, from the first match on. What falls alone is tried again, once."""
        request: WorkerRequest = {"op": "match", "packed": json.dumps(_packed(matches)), "seconds": self._seconds}
        try:
            done: list[bool | str | None] = self._process.ask(request, self._seconds)["results"]
        except WorkerDied as death:
            if len(matches) > 1:
                return self._call(matches[: len(matches) // 2])
            return self._call(matches, again=False) if again and not death.late else []
        return done


def _packed(matches: Sequence[Match]) -> list[object]:
    patterns: dict[tuple[str, str], int] = {}
    texts: dict[str, int] = {}
    jobs = [
        [patterns.setdefault((source, flags), len(patterns)), texts.setdefault(text, len(texts))]
        for source, flags, text in matches
    ]
    return [list(patterns), list(texts), jobs]


def _batches(matches: Sequence[Match]) -> Iterable[Sequence[Match]]:
    start = size = 0
    for index, match in enumerate(matches):
        size += len(match[2])
        if index - start >= _BATCH or size > _MAX_TEXT:
            yield matches[start : index + 1]
            start, size = index + 1, 0
    if start < len(matches):
        yield matches[start:]


REGEXES = Regexes()


def search(pattern: str, text: str) -> WorkerAnswer:
    """Whether a pattern of the python dialect is found; see ``v8_worker``."""
    request: WorkerRequest = {"op": "search", "pattern": pattern, "text": text, "seconds": MATCH_SECONDS}
    return _asked(request, MATCH_SECONDS)


def html(text: str, **about: object) -> WorkerAnswer:
    """What a parser makes of a text; see ``v8_worker``."""
    return _asked({"op": "html", "text": text, **about}, HTML_SECONDS)


def sql(texts: Sequence[str], **about: object) -> WorkerAnswer:
    """What a parser makes of texts; see ``v8_worker``."""
    return _asked({"op": "sql", "texts": list(texts), **about}, SQL_SECONDS)


def run_script(body: str, output: object, context: object, mode: str = "verdict") -> WorkerAnswer:
    """What a script came to, in a context where nothing of other scripts and outputs can be met.

    Args:
        body: of a function of ``output`` and ``context``.
        output, context: JSON data; the script gets its own copy.
        mode: ``verdict`` for a verdict, ``transform`` for a value as JSON text under ``json``.

    Returns:
        ``kind`` and what belongs to it: ``boolean`` (``pass``), ``number`` (``score``), ``object`` (``pass``,
        ``score``, ``reason``, ``named``), ``value`` (``json``), ``other`` (``message``), ``threw`` (``message``),
        ``stuck``, ``timeout``, ``memory``, ``given-up``. A score that is not finite is a text.
    """
    if _STRIKES.struck_out(body):
        return {"kind": "given-up"}
    packed = json.dumps({"output": output, "context": context})
    request: WorkerRequest = {"op": "run", "body": body, "mode": mode, "packed": packed}
    request |= {"seconds": SCRIPT_SECONDS, "memory": SCRIPT_BYTES}
    answer = _asked(request, SCRIPT_SECONDS)
    _STRIKES.record(body, overran=answer["kind"] in ("timeout", "memory"))
    return answer


def _asked(request: WorkerRequest, seconds: float, again: bool = True) -> WorkerAnswer:
    """The answer; ``timeout`` or ``memory`` where the process did not live to give one.

    It may have been ended from outside: the second time it is the request's doing.
    """
    try:
        return PROCESS.ask(request, seconds)
    except WorkerDied as death:
        if death.late:
            return {"kind": "timeout"}
    return _asked(request, seconds, again=False) if again else {"kind": "memory"}


_STRIKES = StrikeCounter()
