"""What a reply is cut to is said to the model: the limits of reply types stand in their stage's template.

A text has one limit there, in characters or in words; those in words are well within what is cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, get_args, get_origin

import pytest
from pydantic import BaseModel, BeforeValidator

from promptpex.cases import expand, expected, new_cases_request, rate, validity
from promptpex.cases.new_cases_request import TOLERATED
from promptpex.core import stage_templates
from promptpex.judging import metric_judge, modes, questions, same_as_expected
from promptpex.specs import ask_checks, extract, groundedness, propose_rules
from promptpex.synthesis.history import categories
from promptpex.synthesis.proposing import criteria, propose_candidates
from promptpex.synthesis.proposing.replies import list_reply
from promptpex.synthesis.results import implications
from tests.samples import spec

FAR = 1_000_000
MANY = 10_000
"""Characters and items that no limit reaches."""
LONG_WORD = 15
"""Characters of a word and its blank, of which few are longer on average in any language."""
WORDS = {2: "two", 4: "four", 8: "eight", 20: "twenty"}

TYPES: dict[str, type[BaseModel]] = {
    "specs/intent": extract.IntentReply,
    "specs/inputs": extract.AllInputsAndIntentReply,
    "specs/rules": propose_rules.rules_reply(10, inverses=True),
    "specs/inverse": propose_rules.InverseReply,
    "specs/checks": ask_checks.checks_reply(10, conditional=True),
    "specs/grounded": groundedness.groundedness_reply_type(3),
    "cases/generate": new_cases_request.reply_type(("text",), 3, ("r1", "r2")),
    "cases/expand": expand.reply_type(2, ("text",)),
    "cases/validity": validity.reply_type(2, ("c1", "c2")),
    "cases/rate": rate.reply_type(2),
    "cases/expected": expected.ScoreReply,
    "synthesis/implications": implications.implications_reply(3),
    "judging/match": same_as_expected.MatchReply,
    "judging/metric": metric_judge.PassFailScore,
    "judging/question": questions.QuestionReply,
    "synthesis/categories": list_reply(categories.PhraseReply, categories.LIMIT),
    "synthesis/criteria": list_reply(criteria.CriterionReply, categories.LIMIT),
    "synthesis/infer": list_reply(criteria.InferredReply, criteria.MOST),
    "synthesis/notes": list_reply(criteria.NoteReply, criteria.MOST),
    "synthesis/candidates": list_reply(propose_candidates.CandidateReply, 18),
    "judging/rules_with_examples": modes.mode("rules").reply_type(spec().rules),
    **{mode.template: mode.reply_type(mode.rules(spec(), all_rules=True)) for mode in map(modes.mode, modes.names())},
}


def limits(kind: Any, marks: Any = (), *, within: str = "") -> Iterator[tuple[str, int]]:
    """How each text, value of an input or list of a reply is asked for at most: what it is, and the number."""
    is_list = list in (kind, get_origin(kind))
    given: Any = ["x"] * MANY if is_list else "x" * FAR
    cuts: list[Any] = [mark.func for mark in marks if isinstance(mark, BeforeValidator)]
    lefts = [left for left in (cut(given) for cut in cuts) if isinstance(left, str | list) and left[:1] == given[:1]]
    for most in map(len, lefts):
        if within == "Inputs":
            yield "value", most // TOLERATED
        elif 0 < most < len(given):  # a list loses all that is not an item of it, which is not a limit
            yield "list" if is_list else "text", most
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        for field in kind.model_fields.values():
            yield from limits(field.annotation, field.metadata, within=kind.__name__)
    for part in get_args(kind):
        yield from limits(getattr(part, "__origin__", part), getattr(part, "__metadata__", ()), within=within)


def test_every_template_has_its_reply_type() -> None:
    assert sorted(TYPES) == sorted(stage_templates.names())


@pytest.mark.parametrize("name", TYPES)
def test_what_is_cut_is_reported(name: str) -> None:
    source = (stage_templates.folder() / f"{name}.jinja").read_text(encoding="utf-8")
    limited = set(limits(TYPES[name]))
    assert limited or name == "cases/rate"  # whose replies hold numbers and names alone
    for what, most in limited:
        in_list = ("{{ count }}", "~ count ~", "{{ limit }}", WORDS.get(most, "?"))
        in_words = any(LONG_WORD * int(words) <= most for words in re.findall(r"at most (\d+) words", source))
        is_said = any(word in source for word in in_list) if what == "list" else f"{most:,}" in source or in_words
        assert is_said, (what, most)


@pytest.mark.parametrize(("variable", "implicit"), [("text", False), ("text", True), ("*", False), ("", False)])
def test_as_many_constraints_are_asked_for_as_are_accepted(variable: str, implicit: bool) -> None:
    words: dict[str, Any] = {"prompt": "Say it.", "variables": ("text", "tone"), "whole": "*", "instructions": ""}
    words |= {"description": "", "declared": "", "samples": "", "with_intent": False, "intent_note": ""}
    asked = stage_templates.render("specs/inputs", **words, variable=variable, implicit=implicit).messages[-1].content
    assert "At most eight items" in asked
    assert "an empty list if nothing has to hold" in asked
    assert "two" not in asked.casefold()
    for count in (0, 1, 8):
        assert len(extract.InputsReply.model_validate({"constraints": ["It is text."] * count}).constraints) == count
