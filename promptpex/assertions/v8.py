"""ECMAScript regular expressions in V8: one context for all of them, since no user code runs in it.

A call into V8 costs some 0.3 ms in thread switches and a match some microseconds, so that whoever has many matches to
make announces them (``prime``) and they are made in one call. No match can hang a run: V8 falls back to a linear
engine where a pattern backtracks without end and has none of what that engine lacks, and every call has a time limit.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from promptpex.assertions.model import Unscorable
from promptpex.assertions.wording import shown

if TYPE_CHECKING:
    from py_mini_racer import MiniRacer

MATCH_SECONDS = 1.0
_BATCH = 512
_MOST_TEXT = 4_000_000
_FLAGS = (
    "--single-threaded",
    "--enable-experimental-regexp-engine-on-excessive-backtracks",
    "--no-js-regexp-modifiers",
    "--no-js-regexp-duplicate-named-groups",
)
"""The last two hold the syntax to that of the Node that promptfoo runs on: ``(?i:x)`` is no pattern there."""
_SETUP = """
(() => {
  const made = new Map();
  let results = [];
  const pattern = (source, flags) => {
    const key = flags + '/' + source;
    if (!made.has(key)) {
      if (made.size > 2000) made.clear();
      made.set(key, new RegExp(source, flags));
    }
    return made.get(key);
  };
  globalThis.match = (packed) => {
    const [patterns, texts, jobs] = JSON.parse(packed);
    results = [];
    for (const [source, text] of jobs) {
      try {
        results.push(pattern(patterns[source][0], patterns[source][1]).test(texts[text]));
      } catch (error) {
        results.push(String(error.message));
      }
    }
    return JSON.stringify(results);
  };
  globalThis.matched = () => JSON.stringify(results);
})()
"""

Match = tuple[str, str, str]
"""A pattern, its flags, and the text it is tried on."""

Made = TypeVar("Made")


def racer() -> MiniRacer:
    """A new context of V8, with an event loop of its own whatever runs in this thread."""
    return _outside_of_loops(_new_racer)


def _new_racer() -> MiniRacer:
    from py_mini_racer import DEFAULT_V8_FLAGS, MiniRacer, init_mini_racer

    init_mini_racer(flags=(*DEFAULT_V8_FLAGS, *_FLAGS), ignore_duplicate_init=True)
    return MiniRacer()


def _outside_of_loops(make: Callable[[], Made]) -> Made:
    """What ``make`` gives in a thread that runs no event loop; mini-racer would else take the caller's and block."""
    made: list[Made] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            made.append(make())
        except BaseException as error:  # carried over to the caller
            failed.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return made[0]


def literal(data: Any) -> str:
    """JavaScript source of a string that holds ``data`` as JSON: ASCII alone, lone surrogates escaped."""
    return json.dumps(json.dumps(data))


class Regexes:
    """Matches made in V8. Safe to share between threads."""

    def __init__(self, seconds: float = MATCH_SECONDS) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._racer: MiniRacer | None = None
        self._known: dict[Match, bool | str | None] = {}

    def prime(self, matches: Iterable[Match]) -> None:
        """Make these matches now, in few calls, and remember them until the next ``prime``."""
        wanted = list(dict.fromkeys(matches))
        with self._lock:
            self._known = {}
            for batch in _batches(wanted):
                self._known.update(zip(batch, self._run(batch), strict=True))

    def test(self, pattern: str, text: str, flags: str = "") -> bool:
        """Whether the pattern is found anywhere in the text.

        Raises:
            Unscorable: ``bad-pattern`` where it is none, ``timeout`` where the match takes too long.
        """
        match = (pattern, flags, text)
        with self._lock:
            found = self._known[match] if match in self._known else self._run([match])[0]
        if isinstance(found, bool):
            return found
        if found is None:
            message = f"the pattern {shown(pattern)} took longer than {self._seconds:g} s on this text"
            raise Unscorable("timeout", message)
        raise Unscorable("bad-pattern", f"the pattern {shown(pattern)} does not compile: {found}")

    def _run(self, matches: Sequence[Match]) -> list[bool | str | None]:
        """A result per match: found or not, why the pattern is none, or None for out of time."""
        results: list[bool | str | None] = []
        while len(results) < len(matches):
            rest = matches[len(results) :]
            done = self._call(rest)
            if len(done) < len(rest):
                done += self._call(rest[len(done) : len(done) + 1]) or [None]
            results += done
        return results

    def _call(self, matches: Sequence[Match]) -> list[bool | str | None]:
        """The results that came in time, from the first match on."""
        from py_mini_racer import JSEvalException

        if self._racer is None:
            self._racer = racer()
            self._racer.eval(_SETUP)
        try:
            packed = self._racer.eval(f"match({literal(_packed(matches))})", timeout_sec=self._seconds)
        except JSEvalException:
            packed = self._racer.eval("matched()", timeout_sec=self._seconds)
        done: list[bool | str | None] = json.loads(str(packed))
        return done


def _packed(matches: Sequence[Match]) -> list[Any]:
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
        if index - start >= _BATCH or size > _MOST_TEXT:
            yield matches[start : index + 1]
            start, size = index + 1, 0
    if start < len(matches):
        yield matches[start:]


REGEXES = Regexes()
"""The process's own; V8 starts with the first match."""
