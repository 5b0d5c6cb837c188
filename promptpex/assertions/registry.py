"""What a kind is; which kinds there are, each found in its own module when first needed."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from promptpex.assertions.model import Assertion, CheckedOutput, KindResult, Unscorable

Plan = Callable[[Assertion, Any], Any]
Evaluate = Callable[[Assertion, Any, CheckedOutput], KindResult]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of assertion.

    Attributes:
        name: without ``not-``.
        plan: makes of an assertion and its rendered value what ``evaluate`` works with, or raises ``Unscorable``.
        evaluate: gives the verdict before ``not-``, or raises ``Unscorable``.
        renders: whether texts in the value are templates.
        renders_inside: whether texts inside of an object are templates too; schemas are taken as they stand.
        verify: what only a strict compile looks at, such as whether a pattern is one.
        refuse: what only a strict compile refuses, such as a threshold that is not there.
    """

    name: str
    plan: Plan
    evaluate: Evaluate
    renders: bool = True
    renders_inside: bool = True
    verify: Callable[[Assertion, Any], None] | None = None
    refuse: Callable[[Assertion], None] | None = None


_HOMES = {
    "text": (
        "contains icontains contains-all contains-any icontains-all icontains-any equals starts-with ends-with "
        "levenshtein"
    ),
    "regex": "regex",
    "count": "word-count",
    "json": "is-json contains-json",
    "measures": "cost latency perplexity perplexity-score finish-reason",
    "overlap": "bleu gleu rouge-n rouge-l",
    "markup": "is-xml contains-xml is-html contains-html",
    "sql": "is-sql contains-sql",
    "refusal": "is-refusal",
    "language": "language",
    "javascript": "javascript",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}
SET = "assert-set"

KIND_NAMES: tuple[str, ...] = (*sorted(_HOME_OF), SET)
"""Every kind without ``not-``."""


@cache
def kind(name: str) -> Kind:
    """The kind of this name, without ``not-``.

    Raises:
        Unscorable: code ``unknown-kind``, with the nearest names.
    """
    home = _HOME_OF.get(name)
    if home is None:
        raise Unscorable("unknown-kind", f"there is no kind {_quoted(name)}{_suggestion(name)}")
    for found in import_module(f"promptpex.assertions.kinds.{home}").KINDS:
        if found.name == name:
            return found  # type: ignore[no-any-return]
    raise AssertionError(f"{home} lacks {name}")  # pragma: no cover - held by a test


def _suggestion(name: str) -> str:
    close = difflib.get_close_matches(name.removeprefix("not-").replace("_", "-").lower(), KIND_NAMES, n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else f"; the kinds are {', '.join(KIND_NAMES)}"


def _quoted(name: str) -> str:
    return repr(name if len(name) <= 40 else name[:37] + "...")
