"""V8 in a process of its own: ECMAScript regular expressions and scripts, with limits on time and memory.

Patterns of the python dialect are searched for, and HTML and SQL are parsed, in that process as well.

Whoever has many matches to make hands them in together (``prefetch``), and they are made in one call. No match and no
script can hang or end a run: V8 falls back to a linear engine where a pattern backtracks without end, every call has a
time limit, and a V8 that does not answer or dies is replaced.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path

from promptpex.assertions import time_limits
from promptpex.assertions.model import Unscorable
from promptpex.assertions.worker_process import (
    StrikeCounter,
    WorkerAnswer,
    WorkerDied,
    WorkerProcess,
    WorkerRequest,
    home_of,
)
from promptpex.codecs.text.wording import quoted_json
from promptpex.core.translation import stored

MATCH_SECONDS = 1.0
"""One match, and one search of the python dialect; what does not backtrack takes microseconds."""
SCRIPT_SECONDS = 2.0
"""One script on one output."""
TEMPLATE_SECONDS = 2.0
"""Rendering one value of a check."""
HTML_SECONDS = 2.0
"""Parsing one output."""
SQL_SECONDS = time_limits.CHECK_SECONDS - 1.0
"""Parsing all SQL of one output: the check's time, less what the process may take to answer."""
SCRIPT_BYTES = 128_000_000
"""V8's heap for one script."""
_BATCH = 512
"""Matches in one call: enough that the call itself does not count."""
_MAX_TEXT = 4_000_000
"""Characters of texts in one call, which are copied twice."""

TOOK_LONG = stored("the pattern {quoted} took longer than {seconds} s on this text")
IS_NONE = stored("the pattern {quoted} does not compile: {detail}")
Match = tuple[str, str, str]
"""A pattern, its flags, and the text it is tried on."""
Place = tuple[int, int]
"""Where a match stands in a text: its first character, and the one behind it."""


class OutOfTime:
    """Stands for a match that ran out of time or memory."""


OUT_OF_TIME = OutOfTime()
Result = list[int] | str | OutOfTime | None
"""Where a match stands, in UTF-16 units; None: nowhere; or why the pattern does not compile."""


def _command() -> list[str]:
    packages = dict.fromkeys(map(home_of, ("py_mini_racer", "regex", "selectolax", "sqlglot")))
    return [str(Path(__file__).with_name("v8_worker.py")), *packages]


class V8Process(WorkerProcess):
    """The process that holds V8 and the parsers."""

    def __init__(self) -> None:
        super().__init__(_command)


PROCESS = V8Process()
"""The process's own; V8 starts with the first match or script."""


class Regexes:
    """Matches made in V8. Safe to share between threads."""

    def __init__(self, process: V8Process = PROCESS, seconds: float = MATCH_SECONDS) -> None:
        self._process = process
        self._seconds = seconds
        self._lock = threading.Lock()
        self._prefetched: dict[Match, Result] = {}
        self._recent: dict[Match, Result] = {}
        self._strikes = StrikeCounter()

    def prefetch(self, matches: Iterable[Match]) -> None:
        """Make these matches now, in few calls, and remember them until the next ``prefetch``."""
        unique_matches = list(dict.fromkeys(matches))
        results: dict[Match, Result] = {}
        for batch in _batches(unique_matches):
            results.update(zip(batch, self._run(batch), strict=True))
        with self._lock:
            self._prefetched, self._recent = results, {}

    def test(self, pattern: str, text: str, flags: str = "") -> bool:
        """Whether the pattern is found anywhere in the text.

        Raises:
            Unscorable: ``bad-pattern``, ``timeout`` where the match takes too long, or where the check
                that makes it has made many and its time is over.
        """
        return self._result(pattern, text, flags) is not None

    def find(self, pattern: str, text: str, flags: str = "") -> Place | None:
        """Where in the text the pattern is found first, in characters; raises what ``test`` does."""
        place = self._result(pattern, text, flags)
        return None if place is None else _in_characters(text, place)

    def _result(self, pattern: str, text: str, flags: str) -> list[int] | None:
        """Where the pattern is found, in UTF-16 units."""
        time_limits.tick()
        match = (pattern, flags, text)
        with self._lock:
            results = self._prefetched if match in self._prefetched else self._recent
            is_new = match not in results
            result: Result = None if is_new else results[match]
        if is_new:
            result = self._run([match])[0]
            self._remember(match, result)
        if result is None or isinstance(result, list):
            return result
        if isinstance(result, OutOfTime):
            raise Unscorable("timeout", TOOK_LONG.format(quoted=quoted_json(pattern), seconds=f"{self._seconds:g}"))
        raise Unscorable("bad-pattern", IS_NONE.format(quoted=quoted_json(pattern), detail=result))

    def _remember(self, match: Match, result: Result) -> None:
        with self._lock:
            if len(self._recent) > 4 * _BATCH:
                self._recent.clear()
            self._recent[match] = result

    def _run(self, matches: Sequence[Match]) -> list[Result]:
        """A result per match."""
        results: list[Result] = []
        while len(results) < len(matches):
            rest = matches[len(results) :]
            if time_limits.used_up() or self._strikes.struck_out(rest[0][:2]):
                results.append(OUT_OF_TIME)
                continue
            batch = list(takewhile(lambda match: not self._strikes.struck_out(match[:2]), rest))
            batch_results = self._call(batch)
            for match in batch[: len(batch_results)]:
                self._strikes.record(match[:2], overran=False)
            if len(batch_results) < len(batch):
                batch_results += self._alone(batch[len(batch_results)], tried=not batch_results)
            results += batch_results
        return results

    def _alone(self, match: Match, tried: bool) -> list[Result]:
        """The match during which the time ran out, with all the time for itself, unless it had that already."""
        results = [] if tried else self._call([match])
        self._strikes.record(match[:2], overran=not results)
        return results or [OUT_OF_TIME]

    def _call(self, matches: Sequence[Match], again: bool = True) -> list[Result]:
        """The results that came in time, from the first match on. What falls alone is tried again, once."""
        request: WorkerRequest = {"op": "match", "packed": json.dumps(_packed(matches)), "seconds": self._seconds}
        try:
            results: list[Result] = self._process.ask(request, self._seconds)["results"]
        except WorkerDied as death:
            if len(matches) > 1:
                return self._call(matches[: len(matches) // 2])
            return self._call(matches, again=False) if again and not death.late else []
        return results


def _in_characters(text: str, place: Sequence[int]) -> Place:
    if text.isascii():
        return place[0], place[1]
    units = text.encode("utf-16-le", "surrogatepass")
    start, end = (len(units[: 2 * unit].decode("utf-16-le", "ignore")) for unit in place)
    return start, max(start, end)


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


def template(do: str, source: str, variables: Mapping[str, object]) -> WorkerAnswer:
    """What nunjucks makes of a template; see ``v8_worker``.

    Args:
        do: ``render`` for the text, ``names`` for the variables that it does not set itself, ``check`` for nothing.
    """
    request: WorkerRequest = {"op": "template", "do": do, "source": source, "packed": json.dumps(variables)}
    return _asked(request | {"seconds": TEMPLATE_SECONDS, "memory": SCRIPT_BYTES}, TEMPLATE_SECONDS)


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
