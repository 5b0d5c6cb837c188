"""The comparisons of an output with the expected one, by their names in case files, tables of cases and flags."""

from __future__ import annotations

import re

MATCH_KINDS = ("normalised", "exact", "json", "set", "numeric", "asked")
"""All comparisons. All but ``asked`` are made by code."""

DEFAULT_MATCH = "normalised"
"""The comparison where none is named: whether the form of an output is right is for rules to say."""

ASKED = "asked"
"""The comparison that a judge makes."""

MATCH_PATTERN = r"^(normalised|exact|json|set|asked|numeric(:\d{1,15}(\.\d{1,15})?%?)?)$"
"""What a name looks like: ``numeric:0.5`` and ``numeric:1%`` allow a difference, the second as a share of the expected
number."""


def match_name(text: str) -> str:
    """The comparison that a text names.

    Raises:
        ValueError: it names none; the message lists them.
    """
    if re.match(MATCH_PATTERN, text) is None or text.endswith("\n"):
        kinds = ", ".join(MATCH_KINDS)
        raise ValueError(f"there is no comparison {text[:60]!r}; they are {kinds}, and numeric:0.01 or numeric:1%")
    return text
