"""promptfoo's tests in tables: columns are variables, ``__expected`` and its like are assertions.

After promptfoo's own reader (``testCaseFromCsvRow`` and ``assertionFromString``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from promptpex.core.errors import InputError
from promptpex.core.translation import stored
from promptpex.interchange.promptfoo.files import FILE, ConfigFiles
from promptpex.interchange.reading.foreign_values import At

_WITH_THRESHOLD = frozenset(
    ("answer-relevance", "classifier", "context-faithfulness", "context-recall", "context-relevance", "cost", "latency",
     "levenshtein", "perplexity-score", "perplexity", "rouge-n", "similar", "starts-with")
)  # fmt: skip
"""Types whose text in a cell has a threshold even where it names none."""
_DEFAULT = 0.75
_LISTS = frozenset(("contains-all", "contains-any", "icontains-all", "icontains-any"))
_ASSERTION = re.compile(r"(not-)?([a-z][a-z-]*)(?:\((\d+(?:\.\d+)?)\))?(?::([\s\S]*))?\Z")
_TYPES = frozenset(
    ("bleu", "classifier", "contains", "contains-all", "contains-any", "contains-html", "contains-json",
     "contains-sql", "contains-xml", "context-faithfulness", "context-recall", "context-relevance", "cost", "equals",
     "factuality", "finish-reason", "g-eval", "gleu", "guardrails", "icontains", "icontains-all", "icontains-any",
     "is-html", "is-json", "is-refusal", "is-sql", "is-valid-function-call", "is-valid-openai-function-call",
     "is-valid-openai-tools-call", "is-xml", "javascript", "latency", "levenshtein", "llm-rubric", "meteor",
     "model-graded-closedqa", "model-graded-factuality", "moderation", "perplexity", "perplexity-score", "pi", "python",
     "regex", "rouge-n", "ruby", "similar", "starts-with", "tool-call-f1", "webhook", "word-count", "answer-relevance",
     "select-best", "max-score", "search-rubric", "conversation-relevance", "ends-with")
)  # fmt: skip
_PREFIXES = {"javascript:": "javascript", "fn:": "javascript", "eval:": "javascript", "python:": "python",
             "grade:": "llm-rubric", "llm-rubric:": "llm-rubric"}  # fmt: skip
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\Z")
_FIELDS = {"__prefix": "prefix", "__suffix": "suffix"}


def table_tests(files: ConfigFiles, path: Path) -> Iterator[tuple[dict[str, object], At]]:
    """The tests of a CSV file, each with its line.

    Raises:
        InputError: it is not CSV, or a row has more cells than the header.
    """
    rows = files.table(path)
    head = [name.strip() for name in rows[0].cells] if rows else []
    for number, row in enumerate(rows[1:], 1):
        if not any(row.cells):
            continue
        if len(row.cells) > len(head):
            raise InputError(
                f"this row has {len(row.cells)} cells and the header {len(head)}", path=path, line=row.line
            )
        at = At(path, row=row.line)
        yield test_of_row(files, dict(zip(head, row.cells, strict=False)), number, at), at


def test_of_row(files: ConfigFiles, cells: Mapping[str, str], number: int, at: At) -> dict[str, object]:
    """The test that a row says, as the configuration would."""
    variables: dict[str, object] = {}
    options: dict[str, object] = {}
    metadata: dict[str, object] = {}
    asserts: list[dict[str, object]] = []
    test: dict[str, object] = {"description": f"Row #{number}", "vars": variables, "options": options}
    for name, cell in cells.items():
        if name.startswith("__expected"):
            asserts += [assertion_of(cell.strip())] if cell.strip() else []
        elif name in _FIELDS and cell:
            options[_FIELDS[name]] = cell
        elif name in ("__description", "__providerOutput", "__metric") and cell:
            test[name.removeprefix("__")] = cell
        elif name == "__threshold":
            test |= {"threshold": float(cell)} if _NUMBER.match(cell.strip()) else {}
            if cell.strip() and "threshold" not in test:
                files.left_out(at[name], stored("it is not a number, and promptfoo ignores it"))
        elif name.startswith("__metadata:") and cell.strip():
            metadata[name.removeprefix("__metadata:").removesuffix("[]")] = cell
        elif name.startswith("__config:"):
            _configure(asserts, name, cell, at)
        elif name.startswith("__") and cell:
            files.left_out(at[name], stored("promptfoo does not read this column either"))
        elif not name.startswith("__"):
            variables[name] = cell
    metric = test.pop("metric", None)
    test["assert"] = [{**each, **({"metric": metric} if metric else {})} for each in asserts]
    return {**test, **({"metadata": metadata} if metadata else {})}


def _configure(asserts: list[dict[str, object]], name: str, cell: str, at: At) -> None:
    """A column such as ``__config:__expected2:threshold``."""
    expected, _, key = name.removeprefix("__config:").partition(":")
    number = expected.removeprefix("__expected") or "1"
    index = int(number) - 1 if number.isdigit() and len(number) < 6 else -1
    if key != "threshold" or not _NUMBER.match(cell.strip()) or not 0 <= index < len(asserts):
        raise at.fail(f"the column {name} needs an assertion to its left, threshold as its key, and a number")
    asserts[index]["threshold"] = float(cell)


def assertion_of(text: str) -> dict[str, object]:
    """The assertion that a cell says: ``contains: x``, ``levenshtein(5): x``, or a text that the output has to be."""
    for prefix, kind in _PREFIXES.items():
        if text.startswith(prefix):
            return {"type": kind, "value": text.removeprefix(prefix).strip()}
    if text.startswith(FILE):
        name = text.lower().split("#")[0]
        if name.endswith((".py", ".js", ".mjs", ".cjs", ".ts")) or ".py:" in name or ".js:" in name:
            return {"type": "python" if ".py" in name else "javascript", "value": text}
    match = _ASSERTION.match(text)
    if match is None or match.group(2) not in _TYPES:
        return {"type": "equals", "value": text}
    negated, kind, threshold, value = match.groups()
    assertion: dict[str, object] = {"type": f"{negated or ''}{kind}"}
    if value is not None:
        assertion["value"] = value if kind in _LISTS or kind in ("contains-json", "is-json") else value.strip()
    if kind in _WITH_THRESHOLD:
        assertion["threshold"] = float(threshold) if threshold else _DEFAULT
    return assertion
