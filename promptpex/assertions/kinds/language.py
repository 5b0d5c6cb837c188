"""The kind ``language``: in which language the output is written (ISO 639-1 codes, by the package py3langid)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Protocol

from promptpex.assertions.model import Assertion, CheckedOutput, KindResult, Unscorable
from promptpex.assertions.registry import Kind
from promptpex.core.translation import stored

_LEAST_LETTERS = 12
"""ASCII letters below which the identifier guesses."""
_LEAST_SURE = 0.5
"""The probability from which the identifier's answer counts: more likely than all others together."""
_SAME = {"yue": "zh", "cmn": "zh", "nb": "no", "nn": "no", "fil": "tl"}
"""Labels that people write with one code, or that are told apart by more than a short text shows."""
_NOISE = re.compile(r"```.*?```|`[^`\n]*`|https?://\S+|<[^<>\n]{1,80}>", re.S)


def _codes(assertion: Assertion, value: object) -> tuple[str, ...]:
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list | tuple) or not values or not all(isinstance(code, str) for code in values):
        raise _bad(assertion)
    codes = tuple(code.strip().lower().replace("_", "-").split("-")[0] for code in values)
    if not all(code.isascii() and code.isalpha() and len(code) in (2, 3) for code in codes):
        raise _bad(assertion)
    return tuple(_SAME.get(code, code) for code in codes)


def _bad(assertion: Assertion) -> Unscorable:
    return Unscorable("bad-value", f"{assertion.kind} needs a language code such as en or pt-BR, or a list of them")


def _verify(assertion: Assertion, codes: tuple[str, ...]) -> None:
    unknown = next((code for code in codes if code not in _labels()), None)
    if unknown is not None:
        raise Unscorable("bad-value", f"{assertion.kind} cannot tell the language {unknown!r} apart")


def _evaluate(assertion: Assertion, codes: tuple[str, ...], checked: CheckedOutput) -> KindResult:
    _verify(assertion, codes)
    text = _NOISE.sub(" ", checked.text)
    if sum(1 for mark in text if mark.isalpha()) < _LEAST_LETTERS and text.isascii():
        raise Unscorable("too-short", stored("the output is too short to tell its language"))
    code, sure = detected(text)
    if sure < _LEAST_SURE:
        unsure = stored("the output's language cannot be told; the best guess is {language}", language=code)
        raise Unscorable("unsure", unsure)
    reason = stored("the output is written in {language} ({share} sure)", language=code, share=f"{sure:.0%}")
    return KindResult(code in codes, reason)


def detected(text: str) -> tuple[str, float]:
    code, sure = _identifier().classify(text)
    return _SAME.get(str(code), str(code)), float(sure)


class _Identifier(Protocol):
    """What is used of py3langid, which has no types."""

    labels: Sequence[str]

    def classify(self, text: str) -> tuple[str, float]: ...


@cache
def _identifier() -> _Identifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # type: ignore[import-untyped]

    identifier: _Identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    return identifier


@cache
def _labels() -> frozenset[str]:
    return frozenset(_SAME.get(str(code), str(code)) for code in _identifier().labels)


KINDS = (Kind("language", _codes, _evaluate, verify=_verify),)
