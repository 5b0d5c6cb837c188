"""What judges say to yes-or-no questions about an output, and how many such questions may be put.

Checks ask them (the kinds ``question`` and ``python``), a judge answers, and both sides share these names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

MAX_QUESTIONS = 20
"""That one check may put about one output."""

MAX_QUESTION = 2_000
"""Characters of a question."""


@dataclass(frozen=True, slots=True)
class JudgeAnswer:
    """What a judge says to a yes-or-no question about an output.

    Attributes:
        value: yes or no; None: there is no answer.
        reason: in the judge's words; of a missing answer, why.
        unscored: the reason code of a missing answer.
        judge: the label of who answered.
        fingerprint: of all that shapes that judge's answers.
    """

    value: bool | None
    reason: str = ""
    unscored: str | None = None
    judge: str = ""
    fingerprint: str = ""


Answers = Mapping[str, JudgeAnswer]
"""The answers that are known about one output, by question."""
