"""Ids: hashes of canonical JSON, so that equal content has the same id on every machine."""

from __future__ import annotations

import hashlib
import json
from typing import Any

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical(value: Any) -> str:
    """JSON with sorted keys, without whitespace, non-ASCII kept: one text per value.

    Raises:
        ValueError: for NaN and infinities, which JSON does not have.
    """
    return _ENCODER.encode(value)


def digest(value: Any, length: int = 64) -> str:
    return hashlib.sha256(canonical(value).encode("utf-8", "surrogatepass")).hexdigest()[:length]


def text_digest(text: str, length: int = 16) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:length]
