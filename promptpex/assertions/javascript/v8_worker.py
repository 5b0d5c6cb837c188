"""The process that holds V8. It runs alone, with nothing of promptpex imported and an empty environment.

A script can end the process of V8 (``new Array(1e9).fill(0)`` does, whatever the memory limit says), and the package
``regex`` compiles ``(?:a{60000}){60000}`` without end; HTML takes minutes to parse for a list of options, and SQL hours
for 30 nested types. So none of them works in the process of a run. Requests and replies are lines of ASCII
JSON on stdin and stdout.

``worker_loop`` starts it with the folders where ``py_mini_racer``, ``regex``, ``selectolax`` and ``sqlglot`` are
installed.
"""

from __future__ import annotations

import json
import re
import secrets
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import regex
    from py_mini_racer import MiniRacer
    from sqlglot import exp

WorkerRequest = dict[str, Any]
WorkerAnswer = dict[str, Any]
"""JSON; which keys it has depends on the operation."""

_FLAGS = (
    "--single-threaded",
    "--enable-experimental-regexp-engine-on-excessive-backtracks",
    "--no-js-regexp-modifiers",
    "--no-js-regexp-duplicate-named-groups",
)
"""Linear time where a pattern backtracks without end, and the pattern syntax of the Node that promptfoo runs on."""

_HERE = Path(__file__).parent
NUNJUCKS = "nunjucks_3.2.4/nunjucks.min.js"
"""The template engine of promptfoo, as its authors publish it (BSD 2-clause, beside it)."""


def _literal(text: str) -> str:
    return json.dumps(text)


class V8Worker:
    """The requests: ``match`` and ``template`` in a lasting context each; ``run`` in one of its own, or in that of its
    script; ``search`` by the package regex; ``html`` by Lexbor; ``sql`` by sqlglot."""

    def __init__(self, *folders: str) -> None:
        sys.path.extend(folders)
        from py_mini_racer import DEFAULT_V8_FLAGS, init_mini_racer

        init_mini_racer(flags=(*DEFAULT_V8_FLAGS, *_FLAGS), ignore_duplicate_init=True)
        self._regexes: MiniRacer | None = None
        self._templates: MiniRacer | None = None
        self._frozen = FrozenContexts()
        verdict = _source("verdict.js")
        self._sandbox = f"{_source('sandbox.js')}({verdict})"

    def answer(self, request: WorkerRequest) -> WorkerAnswer:
        """The reply to a request."""
        if request["op"] == "wake":
            return {}
        if request["op"] == "match":
            return {"results": self._match(request)}
        if request["op"] == "template":
            return self._template(request)
        if request["op"] == "search":
            return _searched(request["pattern"], request["text"], request["seconds"])
        if request["op"] == "html":
            return _html(request)
        if request["op"] == "sql":
            return _sql(request)
        deadline = time.monotonic() + request["seconds"]
        return self._frozen.answer(request, deadline) or self._run(request, deadline)

    def _match(self, request: WorkerRequest) -> Any:
        from py_mini_racer import JSEvalException, MiniRacer

        if self._regexes is None:
            self._regexes = MiniRacer()
            self._regexes.eval(_source("regex.js"))
        try:
            results = self._regexes.eval(f"match({_literal(request['packed'])})", timeout_sec=request["seconds"])
        except JSEvalException:
            results = self._regexes.eval("matched()")
        return json.loads(str(results))

    def _template(self, request: WorkerRequest) -> WorkerAnswer:
        """What nunjucks makes of a template; ``kind`` is ``made`` (``value``), ``bad`` (``message``), ``timeout`` or
        ``memory``."""
        from py_mini_racer import JSEvalException, JSTimeoutException, MiniRacer

        if self._templates is None:
            self._templates = MiniRacer()
            self._templates.set_hard_memory_limit(request["memory"])
            for source in ("globalThis.self = globalThis;", _source(NUNJUCKS), _source("templates.js")):
                self._templates.eval(source)
        arguments = ", ".join(_literal(request[part]) for part in ("do", "source", "packed"))
        try:
            answer: WorkerAnswer = json.loads(
                str(self._templates.eval(f"answer({arguments})", timeout_sec=request["seconds"]))
            )
            return answer
        except JSEvalException as error:  # no memory left, or no time
            self._templates.close()
            self._templates = None
            return {"kind": "timeout" if isinstance(error, JSTimeoutException) else "memory"}

    def _run(self, request: WorkerRequest, deadline: float) -> WorkerAnswer:
        from py_mini_racer import JSEvalException, JSOOMException, JSTimeoutException, MiniRacer

        racer = MiniRacer()
        try:
            racer.set_hard_memory_limit(request["memory"])
            verdict = self._verdict(racer, request, deadline)
        except JSTimeoutException:
            return {"kind": "timeout"}
        except JSOOMException:
            return {"kind": "memory"}
        except JSEvalException as error:
            return {"kind": "threw", "message": str(error).splitlines()[0][:300]}
        finally:
            racer.close()
        if verdict["kind"] not in ("threw", "stuck"):
            self._frozen.decided_alone(request)
        return verdict

    def _verdict(self, racer: MiniRacer, request: WorkerRequest, deadline: float) -> WorkerAnswer:
        name = "_" + secrets.token_hex(16)
        arguments = ", ".join(_literal(request[part]) for part in ("body", "mode", "packed"))
        state = racer.eval(f"{self._sandbox}({arguments}, '{name}')", timeout_sec=_left(deadline))
        while state == "pending":
            if time.monotonic() >= deadline:
                return {"kind": "timeout"}
            state = racer.eval(f"{name}()", timeout_sec=_left(deadline))
        if state == "stuck":
            return {"kind": "stuck"}
        verdict: WorkerAnswer = json.loads(str(state))
        return verdict


def _searched(pattern: str, text: str, seconds: float) -> WorkerAnswer:
    """Whether the package regex finds the pattern: ``kind`` is ``searched`` (``place``), ``bad`` (``message``),
    ``timeout`` or ``memory``."""
    try:
        compiled = _python_pattern(pattern)
    except Exception as error:  # whatever its parser trips over, the pattern is not one
        return {"kind": "bad", "message": str(error) or type(error).__name__}
    try:
        match = compiled.search(text, timeout=seconds)
        return {"kind": "searched", "place": None if match is None else match.span()}
    except TimeoutError:
        return {"kind": "timeout"}
    except (RecursionError, MemoryError):
        return {"kind": "memory"}


def _html(request: WorkerRequest) -> WorkerAnswer:
    """What the HTML5 parser Lexbor makes of ``text``; ``kind`` is ``html``.

    ``loose``: text stands directly in a body that is not ``written``; ``recognized``: an element of
    ``elements``, or one of the ``skeleton`` that is written, stands in it.
    """
    from selectolax.lexbor import LexborHTMLParser

    written, skeleton, elements = (set(request[name]) for name in ("written", "skeleton", "elements"))
    loose = recognized = False
    root = LexborHTMLParser(request["text"]).root
    for node in root.traverse(include_text=True) if root is not None else ():
        name = node.tag or ""
        if name == "-text":
            parent = node.parent.tag if node.parent is not None else ""
            bare = parent == "body" and not written & {"body", "html"}
            loose = loose or (bare and bool((node.text(deep=False) or "").strip(request["blanks"])))
        elif name in skeleton:
            recognized = recognized or name in written
        else:
            recognized = recognized or name in elements or ("-" in name and not name.startswith("-"))
    return {"kind": "html", "loose": loose, "recognized": recognized}


def _sql(request: WorkerRequest) -> WorkerAnswer:
    """What the parser sqlglot makes of ``texts``; ``kind`` is ``sql``, or ``memory``.

    ``problems``: why each is not SQL of the ``dialect`` that keeps to ``tables`` and ``columns`` (None: any), up to the
    first that is (None).
    """
    problems: list[str | None] = []
    for text in request["texts"]:
        try:
            problems.append(_sql_problem(text, request))
        except MemoryError:
            return {"kind": "memory"}
        except Exception as error:  # whatever its parser trips over, the text is not SQL
            first_line, *_ = str(error).splitlines() or [type(error).__name__]
            problems.append(f"it is not SQL: {first_line[:160]}")
        if problems[-1] is None:
            break
    return {"kind": "sql", "problems": problems}


def _sql_problem(text: str, request: WorkerRequest) -> str | None:
    """What sqlglot could not read but kept as a ``Command`` is not a statement."""
    import sqlglot
    from sqlglot import exp

    allowed_kinds = (
        exp.Query,
        exp.DML,
        exp.DDL,
        exp.Drop,
        exp.Alter,
        exp.TruncateTable,
        exp.Use,
        exp.Set,
        exp.Show,
        exp.Transaction,
        exp.Commit,
    )
    statements = [part for part in sqlglot.parse(text, read=request["dialect"] or None) if part is not None]
    if not statements or not all(isinstance(statement, allowed_kinds) for statement in statements):
        return "it is not an SQL statement"
    for allowed, named, noun in ((request["tables"], _tables, "table"), (request["columns"], _columns, "column")):
        accesses = (access for statement in statements for access in _accesses(statement, named))
        wrong = None if allowed is None else _forbidden(accesses, allowed)
        if wrong is not None:
            return f"the {noun} {wrong[:80]} is not allowed"
    return None


def _forbidden(accesses: Iterable[str], allowed: list[str]) -> str | None:
    """The first access that no pattern of the list covers from its first character to its last."""
    patterns = [re.compile(f"(?:{pattern})", re.I) for pattern in allowed]
    return next((access for access in accesses if not any(pattern.fullmatch(access) for pattern in patterns)), None)


def _accesses(statement: exp.Expr, named: Callable[[exp.Expr], Iterator[str]]) -> list[str]:
    """What a statement does to what it names, as node-sql-parser lists it. What changes anything is among it at least
    by its operation, so that no list of reads lets it pass."""
    from sqlglot import exp

    accesses = list(named(statement))
    changes = (exp.DML, exp.DDL, exp.Drop, exp.Alter, exp.Into, exp.TruncateTable)
    for operation in dict.fromkeys(_operation(node) for node in (statement, *statement.find_all(*changes))):
        if operation != "select" and not any(access.startswith(f"{operation}::") for access in accesses):
            accesses.append(f"{operation}::null::null")
    return accesses


def _tables(statement: exp.Expr) -> Iterator[str]:
    """``operation::database::table`` of each table; a database that is not named is ``null``."""
    from sqlglot import exp

    for table in statement.find_all(exp.Table):
        yield f"{_operation(table)}::{table.db or 'null'}::{table.name}"


def _columns(statement: exp.Expr) -> Iterator[str]:
    """``operation::table::column`` of each column; a table that is not named is ``null``, all columns are ``(.*)``."""
    from sqlglot import exp

    tables = {table.alias_or_name: table.name for table in statement.find_all(exp.Table)}
    for node in statement.find_all(exp.Column, exp.Star, exp.ColumnDef, exp.Insert, exp.Delete):
        if isinstance(node, exp.Insert | exp.Delete):
            into, target = node.this, next(node.find_all(exp.Table))
            columns = [column.name for column in into.expressions] if isinstance(into, exp.Schema) else ["(.*)"]
            yield from (f"{node.key}::{target.name}::{column}" for column in columns)
        elif isinstance(node, exp.ColumnDef):
            yield f"{_operation(node)}::null::{node.name}"
        elif isinstance(node, exp.Column):
            operation = "update" if _is_set(node) else "select"
            column = "(.*)" if isinstance(node.this, exp.Star) else node.name
            yield f"{operation}::{tables.get(node.table, node.table) or 'null'}::{column}"
        elif isinstance(node.parent, exp.Select):
            yield "select::null::(.*)"


def _is_set(column: exp.Column) -> bool:
    from sqlglot import exp

    equation = column.parent
    return isinstance(equation, exp.EQ) and equation.arg_key == "expressions" and column.arg_key == "this"


def _operation(node: exp.Expr) -> str:
    from sqlglot import exp

    statements = (exp.Query, exp.DML, exp.DDL, exp.Drop, exp.Alter, exp.Into, exp.TruncateTable)
    around = node if isinstance(node, statements) else node.find_ancestor(*statements) or node.root()
    if isinstance(around, exp.Query):
        return "select"
    return "create" if isinstance(around, exp.Into) else around.key.removesuffix("table")


@lru_cache(maxsize=256)
def _python_pattern(pattern: str) -> regex.Pattern[str]:
    import regex

    return regex.compile(pattern, regex.VERSION0)


class FrozenContexts:
    """A lasting context per script, in which nothing can be changed, for scripts that can live with that.

    A script gets one at its second output. Where it threw there, gave a promise or was stopped, it runs again in
    a context of its own; a script that then comes to a verdict needs one, and gets no other any more.
    """

    def __init__(self) -> None:
        self._setup = f"{_source('frozen.js')}({_source('verdict.js')})"
        self._contexts: dict[bytes, tuple[MiniRacer, str]] = {}
        self._met: set[bytes] = set()
        self._unfit: set[bytes] = set()
        self._refused: bytes | None = None

    def answer(self, request: WorkerRequest, deadline: float) -> WorkerAnswer | None:
        """What the script says of this output; None where a context of its own has to."""
        self._refused = None
        script = script_digest(request)
        if script in self._unfit or NEEDS_ITS_OWN.search(request["body"]):
            return None
        if script not in self._met:
            if len(self._met) >= MAX_MET:
                self._met.clear()
                self._unfit.clear()
            self._met.add(script)
            return None
        verdict = self._asked(script, request, deadline)
        if verdict is None:
            self._refused = script
        return verdict

    def decided_alone(self, request: WorkerRequest) -> None:
        """A context of its own came to a verdict: where the lasting one had not, the script needs its own."""
        script = script_digest(request)
        if self._refused == script:
            self._unfit.add(script)
            self._drop(script)

    def _asked(self, script: bytes, request: WorkerRequest, deadline: float) -> WorkerAnswer | None:
        from py_mini_racer import JSEvalException, JSTimeoutException

        try:
            context = self._contexts.pop(script) if script in self._contexts else self._made(request, deadline)
            self._contexts[script] = context
            racer, name = context
            state = racer.eval(f"{name}({_literal(request['packed'])})", timeout_sec=_left(deadline))
        except JSTimeoutException:
            self._drop(script)
            return {"kind": "timeout"}
        except JSEvalException:  # a syntax that strict mode lacks, or no memory left
            self._drop(script)
            return None
        verdict: WorkerAnswer | None = None if state == "again" else json.loads(str(state))
        return verdict

    def _made(self, request: WorkerRequest, deadline: float) -> tuple[MiniRacer, str]:
        from py_mini_racer import JSEvalException, MiniRacer

        while len(self._contexts) >= MAX_KEPT:
            self._drop(next(iter(self._contexts)))
        racer, name = MiniRacer(), "_" + secrets.token_hex(16)
        arguments = ", ".join(_literal(request[part]) for part in ("body", "mode"))
        try:
            racer.set_hard_memory_limit(request["memory"])
            if racer.eval(f"{self._setup}({arguments}, '{name}')", timeout_sec=_left(deadline)) is True:
                return racer, name
        except JSEvalException:
            racer.close()
            raise
        racer.close()
        raise JSEvalException("the context cannot be frozen")

    def _drop(self, script: bytes) -> None:
        if script in self._contexts:
            self._contexts.pop(script)[0].close()


def script_digest(request: WorkerRequest) -> bytes:
    """What a script is known by: a hash, for there may be thousands of them, of a megabyte each."""
    return sha256(f"{request['mode']} {request['body']}".encode("utf-8", "surrogatepass")).digest()


MAX_KEPT, MAX_MET = 6, 10_000
"""Lasting contexts, each with a heap of its own, and scripts whose hash is remembered."""
NEEDS_ITS_OWN = re.compile(
    r"\b(?:this|arguments|eval|Function|constructor|prototype|__proto__|globalThis|try|with|delete|async|await|yield|"
    r"import|Promise|Proxy|Reflect|Symbol|RegExp|Error|WeakRef|FinalizationRegistry|set[A-Z]\w*|clear[A-Z]\w*|"
    r"queueMicrotask|is(?:Frozen|Sealed|Extensible)|getOwnProperty\w*|defineProperty|defineProperties|caller|callee|"
    r"function\s*\*?\s*[\w$]+|use\s+strict)\b|\\u"
)
"""Words by which a script might see, without being told, that it runs in strict mode or that all is frozen."""


def _source(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8").rstrip()


def _left(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.001)


@cache
def _worker() -> V8Worker:
    return V8Worker(*sys.argv[1:])


def answer(request: WorkerRequest) -> WorkerAnswer:
    return _worker().answer(request)


if __name__ == "__main__":
    answer({"op": "wake"})
