"""Opinions: what machines say of an item, beside which people's grades are held."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Opinion:
    """What a check, a judge or a candidate says of an item.

    Attributes:
        assertion: its name, unique within its subject: a rule's id with its source, or a candidate's id.
        subject: the id of the subject that it speaks of.
        source: what kind of machine it is.
        judge: the judge's label; empty where none was asked.
        status: ``none``: it does not say, such as for an error or where a rule does not concern the output.
        reason: in words.
    """

    assertion: str
    subject: str
    source: Literal["check", "judge", "candidate"]
    judge: str = ""
    status: Literal["pass", "fail", "none"] = "none"
    reason: str = ""


Opinions = Mapping[str, tuple[Opinion, ...]]
"""All opinions by the item's id."""
