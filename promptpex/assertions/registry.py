"""What a kind is; which kinds there are, each found in its own module when first needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Generic, TypeVar

from promptpex.assertions.model import Assertion, CheckedOutput, KindResult, Unscorable
from promptpex.codecs.text.wording import cut, did_you_mean

P = TypeVar("P")
"""What a kind makes of an assertion's value: a text, a pattern, bounds, a schema."""


@dataclass(frozen=True, slots=True)
class Kind(Generic[P]):
    """A kind of assertion.

    Attributes:
        name: without ``not-``.
        plan: makes of an assertion and its rendered value what ``evaluate`` works with, or raises ``Unscorable``.
        evaluate: gives the verdict before ``not-``, or raises ``Unscorable``.
        renders: whether texts in the value are templates.
        renders_inside: whether texts inside of an object are templates too; schemas are taken as they stand.
        literal: which values are not templates, whatever braces they hold.
        verify: what only a strict compile looks at, such as whether a pattern is one.
        refuse: what only a strict compile refuses, such as a threshold that is not there.
    """

    name: str
    plan: Callable[[Assertion, object], P]
    evaluate: Callable[[Assertion, P, CheckedOutput], KindResult]
    renders: bool = True
    renders_inside: bool = True
    literal: Callable[[object], bool] | None = None
    verify: Callable[[Assertion, P], None] | None = None
    refuse: Callable[[Assertion], None] | None = None

    def takes_template(self, value: object) -> bool:
        return self.renders and not (self.literal is not None and self.literal(value))


_FAMILIES = {
    "text": (
        "contains icontains contains-all contains-any icontains-all icontains-any equals starts-with ends-with "
        "levenshtein is-refusal"
    ),
    "patterns": "word-any word-all regex",
    "json": "is-json contains-json",
    "measures": "cost latency perplexity perplexity-score finish-reason word-count bleu gleu rouge-n rouge-l",
    "markup": "is-xml contains-xml is-html contains-html",
    "sql": "is-sql contains-sql",
    "language": "language",
    "javascript": "javascript",
    "python": "python",
    "question": "question expected",
}
_FAMILY_OF = {name: family for family, names in _FAMILIES.items() for name in names.split()}
SET = "assert-set"

KIND_NAMES: tuple[str, ...] = (*sorted(_FAMILY_OF), SET)
"""Every kind without ``not-``."""


@cache
def kind(name: str) -> Kind[Any]:
    """The kind of this name, without ``not-``.

    Raises:
        Unscorable: code ``unknown-kind``, with the nearest names.
    """
    family = _FAMILY_OF.get(name)
    if family is None:
        raise Unscorable("unknown-kind", f"there is no kind {_quoted(name)}{_suggestion(name)}")
    kinds: tuple[Kind[Any], ...] = import_module(f"promptpex.assertions.kinds.{family}").KINDS
    return next(each for each in kinds if each.name == name)


def _suggestion(name: str) -> str:
    plain = name.replace("_", "-").lower()
    before = "not-" if plain.startswith("not-") else ""
    nearest_kind = did_you_mean(plain.removeprefix("not-"), KIND_NAMES, before=before)
    return f"; {nearest_kind or 'the kinds are ' + ', '.join(KIND_NAMES)}"


def _quoted(name: str) -> str:
    return repr(cut(name, 40))
