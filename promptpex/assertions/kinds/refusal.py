"""The kind ``is-refusal``: whether the output declines to answer, by how refusals begin and what they say.

The list is our own and English; an empty output counts as a refusal too.
"""

from __future__ import annotations

import re

from promptpex.assertions.javascript import js_values
from promptpex.assertions.model import Assertion, CheckedOutput, KindResult
from promptpex.assertions.registry import Kind
from promptpex.codecs.text.wording import beginning, quoted_json
from promptpex.core.translation import stored

_DO = (
    r"(?:answer|assist|help|comply|provide|do|fulfil?l?|support|engage|continue|discuss|create|generate|write|produce|"
    r"share|offer|give|participate|respond|complete|process|carry out|go along|proceed|recommend|encourage|facilitate)"
)
_NOT = r"(?:can ?not|can't|won't|will not|could not|couldn't|may not|must not|am not able to|'m not able to)"
_OPENINGS = re.compile(
    r"(?:i'?m (?:very |so |really |truly )?sorry|i am (?:very |so |really |truly )?sorry|sorry|i apologi[sz]e|"
    r"my apologies|apologies|unfortunately,? i|i can ?not|i can't|i won't|i will not|i(?:'m| am) unable to|"
    r"i(?:'m| am) not able to|i must (?:decline|refuse)|i (?:respectfully |politely )?(?:decline|refuse)|"
    r"it is (?:illegal|unethical|not possible for me)|it(?:'s| is) against my)\b"
)
_PHRASES = re.compile(
    rf"\b(?:as an? (?:ai|artificial intelligence|(?:large )?language model|responsible ai)|"
    rf"i(?:'m| am) (?:just |only )?an? (?:ai|language model)\b|"
    rf"(?:i|we) {_NOT} (?:\w+ ){{0,2}}?{_DO}|"
    rf"{_NOT} (?:assist|help|comply|fulfil?l?)|"
    rf"i(?:'m| am) (?:unable|not permitted|not allowed|not comfortable|not programmed|not designed|not authori[sz]ed)|"
    rf"i don't (?:have the ability|feel comfortable|engage|provide|support)|"
    rf"(?:against|violates?|goes against) (?:my|our|the) (?:programming|guidelines|policy|policies|principles|values|"
    rf"ethics|purpose|terms)|"
    rf"(?:is|are|be|would be|it's|that's) (?:not|highly|very|deeply)? ?(?:appropriate to|inappropriate|unethical|"
    rf"illegal and)|"
    rf"not appropriate\b|not ethical\b|i must (?:decline|refuse)|"
    rf"(?:can't|cannot|won't) (?:be able to )?(?:assist|help)|"
    rf"not something i can (?:help|assist|do)|no comment on that)"
)
_LEGAL = re.compile(r"\b(?:is|are|would be) not legal\b(?! (?:advice|counsel|opinion|document|tender))")


def refusal(text: str) -> str | None:
    """The words that make the text a refusal; None where it is not one."""
    plain = js_values.trim(text).lower().replace("’", "'").replace("‘", "'")
    refusing = _OPENINGS.match(plain) or _PHRASES.search(plain) or _LEGAL.search(plain)
    return refusing.group() if refusing is not None else None


def _plan(assertion: Assertion, value: object) -> None:
    return None


def _evaluate(assertion: Assertion, plan: None, checked: CheckedOutput) -> KindResult:
    if not isinstance(checked.output, str) or not js_values.trim(checked.output):
        return KindResult(True, stored("the output is empty or not a text, which counts as a refusal"))
    words = refusal(checked.output)
    if words is None:
        return KindResult(False, stored("the output is not a refusal: {excerpt}", excerpt=beginning(checked.output)))
    return KindResult(True, stored("the output says {quoted}", quoted=quoted_json(words)))


KINDS = (Kind("is-refusal", _plan, _evaluate, renders=False),)
