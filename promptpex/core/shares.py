"""Shares of 1 as people write them, on the command line, in settings and in programs.

They become fractions made from their decimal text, since in binary floating point .07 * 100 is above 7 and .29 * 100
below 29: what is compared with a limit is never a rounded share.
"""

from __future__ import annotations

import re
from fractions import Fraction

from promptpex.core.errors import InputError

_SHARE = re.compile(r"\s*(\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})\s*(%?)\s*", re.ASCII)


def share(text: str, example: str = "10% or 0.1") -> Fraction:
    """A share as a person writes it, ``10%``, ``0.1`` or ``.1``, without rounding.


    Raises:
        InputError: it is not a number from 0 to 1, or from 0% to 100%.
    """
    number = _SHARE.fullmatch(text)
    value = Fraction(number[1]) / (100 if number[2] else 1) if number else None
    if value is None or not 0 <= value <= 1:
        raise InputError(f"{text[:40]!r} is not a share: write {example}")
    return value
