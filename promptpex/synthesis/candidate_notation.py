"""Candidates as people read and write them: Python, a question, or a check as YAML."""

from __future__ import annotations

import re

from pydantic import ValidationError

from promptpex.assertions import check_time, compile_checks
from promptpex.core.errors import CheckError
from promptpex.core.records import Check
from promptpex.core.records.criteria_board import CandidateForm
from promptpex.core.surrogates import has_surrogate
from promptpex.documents import yaml_writer
from promptpex.documents.record_problems import record_problems
from promptpex.documents.yaml_reader import load
from promptpex.synthesis.candidate_names import slug
from promptpex.synthesis.proposing.propose_candidates import PYTHON, QUESTION

LONGEST = 50_000
"""Characters of what a person writes."""
_FUNCTION = re.compile(r"^\s*(?:async\s+)?def\s+(\w+)", re.MULTILINE)
_WORDS_OF_A_NAME = 6


def form_of(check: Check) -> CandidateForm:
    """How people are shown this check; what holds more than code or a question is YAML."""
    if (
        check.kind in (PYTHON, QUESTION)
        and isinstance(check.value, str)
        and check.to_dict().keys() <= {"kind", "value"}
    ):
        return "python" if check.kind == PYTHON else "question"
    return "yaml"


def shown(check: Check) -> str:
    """The check as text, which ``written`` reads back."""
    form = form_of(check)
    return yaml_writer.document(check.to_dict()).strip() if form == "yaml" else str(check.value)


def written(form: CandidateForm, text: str) -> Check:
    """The check that a person wrote.

    Raises:
        CheckError: it is none, or does not compile; in a sentence.
    """
    if not text.strip():
        form_in_words = {
            "python": "a Python function",
            "question": "a question",
            "yaml": "a check, such as kind: contains",
        }
        raise CheckError(f"nothing was written: it needs {form_in_words[form]}")
    if len(text) > LONGEST:
        raise CheckError(f"a candidate has at most {LONGEST:,} characters")
    if has_surrogate(text):
        raise CheckError("the text contains half a character (a lone surrogate); type it again")
    check = _from_yaml(text) if form == "yaml" else Check(kind=form, value=text.strip())
    with check_time():
        compile_checks([check])
    return check


def name_of(form: CandidateForm, text: str) -> str:
    """What a hand-written candidate is called: as its function, or by the first words of its question."""
    function = _FUNCTION.search(text) if form == "python" else None
    if function is not None:
        return slug(function[1])
    words = slug(text).split("_") if form == "question" else []
    return "_".join(words[:_WORDS_OF_A_NAME])


def _from_yaml(text: str) -> Check:
    data = load(text, error=CheckError, what="check").data
    if isinstance(data, list) and len(data) == 1:
        data = data[0]
    if not isinstance(data, dict):
        raise CheckError("a check is a mapping, such as kind: contains and value: sorry")
    try:
        return Check.model_validate(data)
    except ValidationError as failure:
        problem = record_problems(failure, Check)[0]
        raise CheckError(f"{problem.message}; {problem.suggestion}".removesuffix("; ")) from None
