"""The spec: what a prompt promises."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import AliasChoices, ConfigDict, Field, field_validator, model_validator

from promptpex.core.ids import digest, text_digest
from promptpex.core.records._base import MACHINES, OwnedRecord, Record
from promptpex.core.records.grade import CALIBRATION_EXAMPLE, KEY_LENGTH, JudgeCalibration

Origin = Literal["extracted", "generated", "edited", "added"]
"""Who made it. promptpex changes only what is ``extracted`` or ``generated``; the rest belongs to people."""

RuleOrigin = Literal["extracted", "generated", "edited", "added", "synthesized"]
"""As ``Origin``; ``synthesized`` rules hold chosen assertions, and only choosing again changes or removes them."""

WHOLE_INPUT = "*"
"""The key in ``Spec.inputs`` for constraints on the inputs as a whole."""


ALSO_VALID = "Also valid:"
"""What the sentence about a variable begins with that lists unusual values which are valid: it forbids nothing."""


class Check(Record):
    """Code that decides whether an output is right: of its kind, with what that kind compares with."""

    model_config = ConfigDict(allow_inf_nan=False)

    kind: str = Field(
        validation_alias=AliasChoices("kind", "type"),
        description="What is looked at, by promptfoo's names. With not- in front it passes where the kind fails.",
        examples=["contains", "not-regex", "word-count"],
    )
    value: Any = Field(
        default=None,
        description="What the kind compares with: a text, a number, a list, bounds, a schema, code. Texts are "
        "templates over the inputs.",
        examples=["Thank you", ["yes", "no"], {"max": 50}],
    )
    threshold: float | None = Field(
        default=None,
        description="The limit of kinds that measure: an edit distance, a share, US dollars, milliseconds.",
        examples=[0.5],
    )
    weight: float = Field(
        default=1.0,
        description="Its share in the score of an assert-set; 0 informs only.",
        examples=[2],
    )
    metric: str | None = Field(default=None, description="A name to collect scores under.", examples=["tone"])
    transform: str | None = Field(
        default=None,
        description="A JavaScript expression over output whose result is checked instead of the output.",
        examples=["output.trim().toLowerCase()"],
    )
    unit: Literal["words", "spoken-words", "sentences", "lines", "characters"] = Field(
        default="words", description="What word-count counts.", examples=["sentences"]
    )
    dialect: Literal["ecmascript", "unicode", "python"] = Field(
        default="ecmascript",
        description="How a regex is read: as in JavaScript, with its flag u, or as Python's regex package does.",
        examples=["unicode"],
    )
    ignore_case: bool = Field(
        default=False,
        description="Whether upper and lower case are the same to regex, word-any and word-all.",
        examples=[True],
    )
    exact: bool = Field(
        default=False,
        description="Whether multipleOf of a schema counts in decimals, so that 19.99 is a multiple of 0.01.",
        examples=[True],
    )
    path: str | None = Field(
        default=None,
        description="Which value of a JSON output is looked at; with [] every item of a list. By default the whole "
        "output.",
        examples=["reply", "items[].sku"],
    )
    n: int = Field(default=1, description="Of rouge-n: how many words in a row are compared, 1 to 20.", examples=[2])
    asserts: tuple[Check, ...] | None = Field(
        default=None,
        validation_alias=AliasChoices("asserts", "assert"),
        serialization_alias="assert",
        description="The checks of an assert-set: all of them have to pass, or so many that the threshold is reached.",
        examples=[[{"kind": "contains", "value": "Monday"}, {"kind": "contains", "value": "Tuesday"}]],
    )
    config: Any = Field(
        default=None,
        description="Handed to javascript and python code as context.config.",
        examples=[{"function": "is_polite"}],
    )


class InputCheck(Check):
    """A check over an input; templates in its value may name the other inputs."""

    variable: str = Field(description="The input that is looked at.", examples=["question"])


class VariableSpec(Record):
    """What one input variable may hold: sentences, or a mapping with a type and bounds."""

    model_config = ConfigDict(allow_inf_nan=False)

    constraints: tuple[str, ...] = Field(
        default=(),
        description="Sentences about valid inputs, for people and for the model that writes cases.",
        examples=[["The question is one sentence.", "It is about an order."]],
    )
    type: Literal["text", "number", "integer", "boolean", "enum", "json"] = Field(
        default="text", description="What kind of value it is.", examples=["integer"]
    )
    values: tuple[Any, ...] | None = Field(
        default=None, description="The values that an enum may have.", examples=[["low", "high"]]
    )
    schema_: dict[str, Any] | None = Field(
        default=None,
        alias="schema",
        description="The JSON schema of a json value.",
        examples=[{"type": "object", "required": ["id"]}],
    )
    minimum: float | None = Field(default=None, description="The least a number may be.", examples=[1])
    maximum: float | None = Field(default=None, description="The most a number may be.", examples=[99])
    min_length: int | None = Field(default=None, description="The fewest characters of a text.", examples=[1])
    max_length: int | None = Field(default=None, description="The most characters of a text.", examples=[500])

    @model_validator(mode="before")
    @classmethod
    def _from_sentences(cls, data: Any) -> Any:
        if isinstance(data, str):
            return {"constraints": [data]}
        if isinstance(data, list | tuple):
            return {"constraints": list(data)}
        return data


class Rule(OwnedRecord):
    """One promise about the output, with its opposite."""

    not_content: ClassVar[frozenset[str]] = frozenset(("content", "origin", "stale", "misquoted", "judge"))
    measured: ClassVar[frozenset[str]] = frozenset(("judge",))
    lasting: ClassVar[frozenset[str]] = frozenset(("judge",))

    id: str = Field(
        min_length=1,
        pattern=r"^[A-Za-z0-9_.-]+$",
        description="What the rule is called in cases, tables and reports; unique in its spec. A rule without one is "
        "called by its words.",
        examples=["short", "r1"],
    )
    rule: str = Field(
        min_length=1,
        description="The promise, in a sentence that can be checked by reading an output.",
        examples=["The answer has at most two sentences."],
    )
    needs: Literal["output", "input"] = Field(
        default="output",
        description="What a judge must see to decide the rule: the output, or the input too.",
        examples=["input"],
    )
    when: tuple[InputCheck, ...] = Field(
        default=(),
        description="Checks on the inputs. The rule concerns an output only where all of them hold; without any "
        "it concerns every output.",
        examples=[[{"variable": "question", "kind": "icontains", "value": "order"}]],
    )
    inverse: str | None = Field(
        default=None,
        description="What an output does that breaks the rule. Harder cases are aimed at it.",
        examples=["The answer has three sentences or more."],
    )
    source: str | None = Field(
        default=None,
        description="The words of the prompt that state the rule, exactly, so that a change is noticed.",
        examples=["in at most two sentences"],
    )
    checks: tuple[Check, ...] = Field(
        default=(),
        description="Code that decides the rule; all of them must pass. A rule without checks is left to a judge.",
        examples=[[{"kind": "word-count", "value": {"max": 2}, "unit": "sentences"}]],
    )
    decides: Literal["wholly", "partly"] = Field(
        default="wholly",
        description="Whether the checks decide the rule wholly, or partly: what passes them is then left to a judge.",
        examples=["partly"],
    )
    after: str | None = Field(
        default=None,
        description="The id of a rule that has to be kept first, such as that the output is JSON. An output that "
        "breaks that one is unscored for this one.",
        examples=["json"],
    )
    origin: RuleOrigin = Field(
        default="extracted",
        description="Who made the rule. A rule that says no origin is yours; promptpex changes only extracted and "
        "generated ones.",
        examples=["added"],
        json_schema_extra=MACHINES,
    )
    stale: bool = Field(
        default=False,
        description="Whether the words under source are no longer in the prompt.",
        examples=[True],
        json_schema_extra=MACHINES,
    )
    misquoted: bool = Field(
        default=False,
        description="Whether the words under source were not in the prompt when the rule was extracted, so that "
        "missing them tells nothing.",
        examples=[True],
        json_schema_extra=MACHINES,
    )
    judge: tuple[JudgeCalibration, ...] = Field(
        default=(),
        description="How far each judge may be trusted on the rule, as people's grades have shown.",
        examples=[[CALIBRATION_EXAMPLE]],
        json_schema_extra=MACHINES,
    )
    content: str | None = Field(
        default=None,
        description="The hash of the rule as it was extracted. A rule that no longer fits it was edited by hand and "
        "is yours.",
        examples=["0f4c3a9b12de"],
        json_schema_extra=MACHINES,
    )

    @property
    def inverse_id(self) -> str:
        return f"{self.id}-inverse"

    @property
    def digest(self) -> str:
        return text_digest(self.rule, KEY_LENGTH)

    def promised(self) -> dict[str, Any]:
        return {name: value for name, value in self.to_dict().items() if name != "judge"}

    @property
    def needs_judge(self) -> bool:
        return not self.checks or self.decides == "partly"


class Spec(Record):
    """What a prompt promises: its intent, what it takes, and the rules its output keeps."""

    prompt: str = Field(
        default="",
        description="The name of the prompt's file, next to this one. Left out: mail.spec.yaml belongs to mail.md.",
        examples=["prompt.md"],
    )
    prompt_fingerprint: str | None = Field(
        default=None,
        description="The hash of the prompt that the spec was written for. When the prompt has changed, promptpex says "
        "so.",
        examples=["173559b30c218e41"],
        json_schema_extra=MACHINES,
    )
    intent: str = Field(
        default="",
        description="What the prompt is for, in a sentence or two.",
        examples=["Answer a customer's question about an order."],
    )
    inputs: dict[str, VariableSpec] = Field(
        default_factory=dict,
        description="What each variable of the prompt may hold: a sentence, a list of sentences, or a mapping. Under * "
        "stands what holds of all inputs together.",
        examples=[{"question": ["The question is one sentence."], "count": {"type": "integer", "minimum": 1}}],
    )
    input_checks: tuple[InputCheck, ...] = Field(
        default=(),
        description="Code that every input has to pass; validate names the cases that do not.",
        examples=[[{"variable": "question", "kind": "word-count", "value": {"max": 60}}]],
    )
    rules: tuple[Rule, ...] = Field(
        default=(),
        description="The promises that outputs have to keep.",
        examples=[[{"id": "short", "rule": "The answer has at most two sentences."}]],
    )

    @field_validator("intent", mode="before")
    @classmethod
    def _no_intent(cls, value: Any) -> Any:
        return "" if value is None else value

    @property
    def digest(self) -> str:
        return digest({**self.to_dict(), **({"rules": [rule.promised() for rule in self.rules]} if self.rules else {})})

    def rule(self, rule_id: str) -> Rule | None:
        return next((rule for rule in self.rules if rule.id == rule_id), None)
