"""The spec: what a prompt promises."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import AliasChoices, ConfigDict, Field, field_validator, model_validator

from promptpex.core.ids import digest, text_digest
from promptpex.core.records._base import OwnedRecord, Record
from promptpex.core.records.calibration import JudgeCalibration
from promptpex.core.records.grade import KEY_LENGTH

Origin = Literal["extracted", "generated", "edited", "added"]
"""Who made it. promptpex changes only what is ``extracted`` or ``generated``; the rest belongs to people."""

RuleOrigin = Literal["extracted", "generated", "edited", "added", "synthesized"]
"""As ``Origin``; ``synthesized`` rules hold chosen assertions, and only choosing again changes or removes them."""

WHOLE_INPUT = "*"
"""The key in ``Spec.inputs`` for constraints on the inputs as a whole."""


ALSO_VALID = "Also valid:"
"""What the sentence about a variable begins with that lists unusual values which are valid: it forbids nothing."""


class Check(Record):
    """A deterministic test on an output. ``kind`` follows promptfoo's names; a leading ``not-`` negates it.

    Attributes:
        kind: such as ``regex`` or ``not-contains``; ``type`` is read as well.
        value: what the kind compares with (text, number, list, schema).
        threshold: for the kinds that measure.
        weight: its share in a set's score; 0 informs only.
        metric: a name to collect scores under.
        transform: a JavaScript expression over ``output``, applied first.
        unit: of ``word-count``.
        dialect: of ``regex``.
        ignore_case: of ``regex``, ``word-any`` and ``word-all``.
        exact: of schemas: ``multipleOf`` counts in decimals, not in doubles.
        path: of the value of a JSON output that is looked at, such as ``reply`` or ``items[].sku``; None = the whole.
        n: of ``rouge-n``.
        asserts: of ``assert-set``; written ``assert``.
        config: given to scripts, as promptfoo does.
    """

    model_config = ConfigDict(allow_inf_nan=False)

    kind: str = Field(validation_alias=AliasChoices("kind", "type"))
    value: Any = None
    threshold: float | None = None
    weight: float = 1.0
    metric: str | None = None
    transform: str | None = None
    unit: Literal["words", "spoken-words", "sentences", "lines", "characters"] = "words"
    dialect: Literal["ecmascript", "unicode", "python"] = "ecmascript"
    ignore_case: bool = False
    exact: bool = False
    path: str | None = None
    n: int = 1
    asserts: tuple[Check, ...] | None = Field(
        default=None, validation_alias=AliasChoices("asserts", "assert"), serialization_alias="assert"
    )
    config: Any = None


class InputCheck(Check):
    """A check over an input: ``variable`` names which; templates in ``value`` may name the others."""

    variable: str


class VariableSpec(Record):
    """What one input variable may hold.

    Attributes:
        constraints: sentences for people and authors.
        type: ``text`` unless said otherwise.
        values: the allowed values of an ``enum``.
        schema_: JSON schema of a ``json`` value; written ``schema``.
        minimum, maximum: bounds of a number.
        min_length, max_length: bounds of a text, in characters.
    """

    model_config = ConfigDict(allow_inf_nan=False)

    constraints: tuple[str, ...] = ()
    type: Literal["text", "number", "integer", "boolean", "enum", "json"] = "text"
    values: tuple[Any, ...] | None = None
    schema_: dict[str, Any] | None = Field(default=None, alias="schema")
    minimum: float | None = None
    maximum: float | None = None
    min_length: int | None = None
    max_length: int | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_sentences(cls, data: Any) -> Any:
        if isinstance(data, str):
            return {"constraints": [data]}
        if isinstance(data, list | tuple):
            return {"constraints": list(data)}
        return data


class Rule(OwnedRecord):
    """One promise about the output, with its opposite.

    Attributes:
        id: the stem; the inverse is ``<id>-inverse``.
        rule: checkable by reading the output or, where it ``needs`` the input, output and input.
        needs: what a reader must see to decide it: the ``output`` alone, or the ``input`` as well.
        when: checks on the inputs, all of which must hold for the rule to concern an output; none: it concerns all.
        inverse: one semantic opposite, to aim harder cases at.
        source: the words of the prompt that state it.
        checks: code that decides it; all must pass.
        decides: whether the checks decide it ``wholly`` or ``partly``. Partly: an output that fails them breaks the
            rule; one that passes them is left to a judge, and unscored without one.
        after: the id of a rule without which this one cannot be looked at, such as that the output is JSON: an output
            that breaks it is unscored for this rule.
        origin: who made it.
        stale: whether the words it cites are no longer in the prompt.
        misquoted: whether they were not there when it was extracted, so that missing them tells nothing.
        judge: how far each judge may be trusted on it, as people's grades have shown; it is no part of the promise.
        content: hash of the rule as extracted; one that no longer matches it was edited by hand.
    """

    not_content: ClassVar[frozenset[str]] = frozenset(("content", "origin", "stale", "misquoted", "judge"))
    measured: ClassVar[frozenset[str]] = frozenset(("judge",))
    lasting: ClassVar[frozenset[str]] = frozenset(("judge",))

    id: str = Field(min_length=1, pattern=r"^[A-Za-z0-9_.-]+$")
    rule: str = Field(min_length=1)
    needs: Literal["output", "input"] = "output"
    when: tuple[InputCheck, ...] = ()
    inverse: str | None = None
    source: str | None = None
    checks: tuple[Check, ...] = ()
    decides: Literal["wholly", "partly"] = "wholly"
    after: str | None = None
    origin: RuleOrigin = "extracted"
    stale: bool = False
    misquoted: bool = False
    judge: tuple[JudgeCalibration, ...] = ()
    content: str | None = None

    @property
    def inverse_id(self) -> str:
        return f"{self.id}-inverse"

    @property
    def digest(self) -> str:
        """What grades and calibrations know its text by."""
        return text_digest(self.rule, KEY_LENGTH)

    def promised(self) -> dict[str, Any]:
        """The rule as JSON-ready data, without what was measured of judges."""
        return {name: value for name, value in self.to_dict().items() if name != "judge"}

    @property
    def needs_judge(self) -> bool:
        """Whether code alone cannot decide it."""
        return not self.checks or self.decides == "partly"


class Spec(Record):
    """What a prompt promises: its intent, what it takes, and the rules its output keeps."""

    prompt: str
    prompt_fingerprint: str | None = None
    intent: str = ""
    inputs: dict[str, VariableSpec] = Field(default_factory=dict)
    input_checks: tuple[InputCheck, ...] = ()
    rules: tuple[Rule, ...] = ()

    @field_validator("intent", mode="before")
    @classmethod
    def _no_intent(cls, value: Any) -> Any:
        return "" if value is None else value

    @property
    def digest(self) -> str:
        """The hash of what is promised: a calibration of a judge does not change it."""
        return digest({**self.to_dict(), **({"rules": [rule.promised() for rule in self.rules]} if self.rules else {})})

    def rule(self, rule_id: str) -> Rule | None:
        """The rule of this id, if there is one."""
        return next((rule for rule in self.rules if rule.id == rule_id), None)
