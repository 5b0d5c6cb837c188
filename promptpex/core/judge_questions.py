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

RUBRIC_YES, RUBRIC_NO = (f"The answer to this question about the output is {word}: " for word in ("yes", "no"))
"""How a question reads as a statement, such as a rubric of promptfoo's."""


def question_of_rubric(kind: str, rubric: str) -> tuple[str, str]:
    """The kind of check and the question that an ``llm-rubric``, or its ``not-``, comes to."""
    for wanted, turned in ((RUBRIC_YES, False), (RUBRIC_NO, True)):
        if rubric.startswith(wanted):
            negated = kind.startswith("not-") != turned
            return "not-question" if negated else "question", rubric.removeprefix(wanted)
    text = rubric.strip()
    question = text if not text or text.endswith("?") else f"Does the response meet this: {text}"
    return "not-question" if kind.startswith("not-") else "question", question


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
