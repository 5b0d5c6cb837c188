"""What a judge mode is: what the judge is shown, how it replies, what the reply means; and what a rule's words tell."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import BaseModel

from promptpex.core.records import Prompt, Rule, Spec, Status


@dataclass(frozen=True, slots=True)
class Material:
    """What a mode may show the judge about an output.

    Attributes:
        prompt, spec: what the output was made under.
        rules: those to judge, in the order of this turn.
        inputs: the case's inputs as text; empty unless the judge is to see them.
        shows_prompt: whether the judge is to see the prompt as well as the rules.
    """

    prompt: Prompt
    spec: Spec
    rules: tuple[Rule, ...]
    inputs: str = ""
    shows_prompt: bool = False


@dataclass(frozen=True, slots=True)
class JudgeExample:
    """An output that people graded by a rule, as a judge is shown it.

    Attributes:
        rule: the rule's id.
        is_broken: what people found.
        inputs, output, reason: as text; the inputs are shown where the rule needs them.
    """

    rule: str
    is_broken: bool
    inputs: str
    output: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class JudgeFinding:
    """What a judge says about one rule: the verdict and its reason.

    Attributes:
        status: the verdict.
        reason: in the judge's words, or why it gave none.
        code: the reason code where ``status`` is ``unscored``.
        confidence: the probability of the verdict's word, where it is known.
    """

    status: Status
    reason: str
    code: str | None = None
    confidence: float | None = None


class JudgeMode(ABC):
    """One way to judge. A subclass named ``Mode`` in a module of ``judging.modes`` is all that a new mode takes, with
    its template ``judging/NAME``, which gets ``output``, ``inputs`` (a text, empty unless the judge is to see them),
    ``instructions``, ``wording`` (0 or 1) and what ``shows`` gives.

    Attributes:
        name: what ``judge_mode`` calls it.
        labels: the words under ``"verdict"`` in a reply, whose probability tells how sure the judge was; none where its
            replies have no such word.
        shows_inputs: whether it can show the judge the inputs.
        examples_template: the template that asks the judge where it is shown graded outputs; it also gets ``broken``
            and ``kept``, lists of ``JudgeExample``. Empty: the mode shows none.
        own_rules: rules that it adds to those of the spec, such as one for the prompt as a whole.
    """

    name: ClassVar[str]
    labels: ClassVar[tuple[str, ...]] = ("pass", "fail")
    shows_inputs: ClassVar[bool] = True
    examples_template: ClassVar[str] = ""
    own_rules: ClassVar[tuple[Rule, ...]] = ()

    @property
    def template(self) -> str:
        return f"judging/{self.name}"

    @abstractmethod
    def rules(self, spec: Spec, *, all_rules: bool) -> tuple[Rule, ...]:
        """The rules that it gives verdicts on; ``all_rules``: also those that code decides."""

    @abstractmethod
    def reply_type(self, rules: tuple[Rule, ...]) -> type[BaseModel]:
        """The shape of a reply on these rules."""

    @abstractmethod
    def shows(self, material: Material) -> dict[str, Any]:
        """The values for the template, besides those that every mode gets."""

    @abstractmethod
    def findings(self, reply: BaseModel, rules: tuple[Rule, ...]) -> Mapping[str, JudgeFinding]:
        """What a reply says about each of these rules, by id."""

    def readable(self, reply: str, rules: tuple[Rule, ...]) -> Mapping[str, JudgeFinding]:
        """What can be read of a reply that is not whole, by the rule's id; nothing unless a mode says otherwise."""
        return {}

    @abstractmethod
    def typical_tokens(self, prompt: int) -> int:
        """About how many tokens a request has besides the output, for estimates before there is a spec."""


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
