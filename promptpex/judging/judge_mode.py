"""What a judge mode is: what the judge is shown, how it replies, and which verdicts the reply means."""

from __future__ import annotations

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
