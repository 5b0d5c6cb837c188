"""How reasons quote hostile text: short, on one line, never more than people can read."""

from __future__ import annotations

import json

from promptpex.core.surrogates import has_surrogate

LONGEST = 60


def shown(value: str, longest: int = LONGEST) -> str:
    """``value`` in double quotes, escaped and cut to ``longest`` characters."""
    cut = value if len(value) <= longest else value[: longest - 3] + "..."
    return json.dumps(cut, ensure_ascii=has_surrogate(cut))
