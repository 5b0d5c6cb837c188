"""What the words of a rule tell of how to judge it: does it have a condition, and does it point into the prompt?"""

from __future__ import annotations

import re

from promptpex.core.records import Rule

_CONDITIONS = (
    "if", "when", "whenever", "where", "wherever", "unless", "in case", "once", "as long as", "provided that",
    "wenn", "falls", "sofern", "sobald", "si", "quand", "lorsque", "cuando", "se", "quando", "als", "indien", "wanneer",
    "jeśli", "jeżeli", "gdy", "om", "hvis", "если", "когда", "якщо",
)  # fmt: skip
"""How a rule with a condition begins, in the languages that prompts are mostly written in."""

_BEGINNING = re.compile(rf"\W*(?:{'|'.join(_CONDITIONS)})(?!\w)|\W*(?:如果|若|当)", re.IGNORECASE)
_INSIDE = re.compile(r"\b(?:if|unless|whenever|in case)\b", re.IGNORECASE)

_CLAUSE = re.compile(r"\W*(?:for|on|in|with|without|after|before|during|at|upon|among|of)\b[^.]*?,", re.IGNORECASE)
_EXCEPTIONS = re.compile(
    r"\b(?:if|when\w*|where\w*|while|unless|once|until|only|except\w*|otherwise|provided|whose|such(?! as\b))\b",
    re.IGNORECASE,
)
_ENGLISH = re.compile(r"\b(?:the|and|with)\b", re.IGNORECASE)
"""Words that no other language has which uses the Latin alphabet much."""

_SURELY = "listed|pre-?defined|specified|allowed|permitted|prescribed|supplied|aforementioned|above"
"""Words after "the" that point somewhere, whatever they are said of."""
_GIVEN = f"{_SURELY}|given|provided|defined|mentioned|described|stated|following"
_THING = (
    "lists?|tags?|tag ?sets?|labels?|values?|categor(?:y|ies)|options?|formats?|schemas?|templates?|examples?|keys?|"
    "fields?|words?|phrases?|sets?|types?|class(?:es)?|steps?|structure"
)
_POINTER = re.compile(
    rf"\bthe (?:{_SURELY})\b|\bthe (?:{_GIVEN}) (?:[\w-]+ ){{0,2}}(?:{_THING})\b"
    rf"|\bas (?:{_GIVEN}|instructed|required|requested)\b"
    rf"|\b(?:{_GIVEN}) (?:above|below|earlier|in the (?:system )?(?:prompt|instructions?|message))\b"
    r"|\bthe (?:system )?(?:prompt|instructions?|guidelines)\b"
    r"|\b(?:of|from|in|on|to) the (?:list|tag ?set|examples?)\b",
    re.IGNORECASE,
)


def has_condition(rule: Rule) -> bool:
    """Whether there may be outputs that the rule does not concern: its words set a condition, at its beginning or, in
    English, anywhere. Of a rule that needs the input the softest sign is enough, and in another language none is
    needed, since its condition may be worded in any way."""
    words = rule.rule
    if rule.when or _BEGINNING.match(words) or _INSIDE.search(words):
        return True
    may_hide_one = _CLAUSE.match(words) or _EXCEPTIONS.search(words) or not _ENGLISH.search(words)
    return rule.needs == "input" and bool(may_hide_one)


def points_into_prompt(rule: Rule) -> bool:
    """Whether the rule speaks of something that only the prompt has, such as "the listed tags", in English words."""
    return _POINTER.search(rule.rule) is not None
