"""An assertion, its kind, the output that it checks, the results, and what stops a check."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib import import_module
from itertools import islice
from typing import Any, Generic, Literal, TypeVar

from promptpex.assertions.javascript import js_values
from promptpex.codecs.text.wording import cut, did_you_mean
from promptpex.core.judge_questions import Answers
from promptpex.core.match_kinds import DEFAULT_MATCH

Status = Literal["pass", "fail", "unscored"]


MAX_JSON_VALUES = 1000
"""JSON values of an output in which a ``path`` is looked for."""


class Unscorable(Exception):
    """A check that cannot be decided.

    Args:
        code: the reason code: ``bad-value``, ``bad-template``, ``no-cost``, ``no-latency``, ``no-logprobs``,
            ``no-threshold``, ``no-output``, ``no-value``, ``no-expected``, ``bad-expected``, ``needs-judge``,
            ``script-error``, ``timeout``, ``memory``, ``unsupported-python``, ``no-sandbox``,
            ``too-many-questions``, ``unknown-kind``, ``bad-check``.
        message: one sentence for people.
        questions: what a judge has to answer first, where the code is ``needs-judge``.
    """

    def __init__(self, code: str, message: str, *, questions: tuple[str, ...] = ()) -> None:
        self.code = code
        self.message = message
        self.questions = questions
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Assertion:
    """One assertion as written, checked for its shape: what ``records.Check`` says, without pydantic's weight.

    ``kind`` keeps its ``not-``; ``value`` is ``js_values.MISSING`` where none was given.
    """

    kind: str
    value: object = js_values.MISSING
    threshold: float | None = None
    weight: float = 1.0
    metric: str | None = None
    transform: str | None = None
    unit: str = "words"
    dialect: str = "ecmascript"
    ignore_case: bool = False
    exact: bool = False
    path: str | None = None
    n: int = 1
    config: object = None
    asserts: tuple[Assertion, ...] | None = None
    unknown: tuple[str, ...] = ()

    @property
    def negated(self) -> bool:
        return self.kind.startswith("not-")

    @property
    def base(self) -> str:
        return self.kind[4:] if self.negated else self.kind

    @property
    def flags(self) -> str:
        return ("u" if self.dialect == "unicode" else "") + ("i" if self.ignore_case else "")


@dataclass(frozen=True, slots=True)
class ExpectedOutput:
    """The right output of a case, and how outputs are compared with it.

    Attributes:
        text: the output itself.
        match: the comparison, by its name (``core.matching``).
        others: further outputs that are right as well.
    """

    text: str
    match: str = DEFAULT_MATCH
    others: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        return (self.text, *self.others)


@dataclass
class CheckedOutput:
    """An output, and all else that a check may look at.

    Attributes:
        output: the raw output, a text or any JSON value.
        vars: the test's variables, prepared for templates.
        cost: US dollars; None = unknown.
        latency_ms: milliseconds; None = unknown.
        logprobs: natural-log probabilities of the tokens; None = unknown.
        finish_reason: as the provider gave it.
        prompt: the prompt's text, for scripts.
        metadata: free data for scripts.
        expected: the right output; None = unknown.
        asserts: the assertions of the row as data, for scripts.
        answers: what judges have said to questions about it so far.
        prepared: results of code that was run on many outputs together, by the code.
    """

    output: object
    vars: Mapping[str, object] = field(default_factory=dict)
    cost: float | None = None
    latency_ms: float | None = None
    logprobs: Sequence[float] | None = None
    finish_reason: str | None = None
    prompt: str | None = None
    metadata: Mapping[str, object] | None = None
    asserts: Sequence[object] = ()
    expected: ExpectedOutput | None = None
    answers: Answers = field(default_factory=dict)
    prepared: dict[object, Sequence[object]] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def text(self) -> str:
        return js_values.output_text(self.output)

    @cached_property
    def lower(self) -> str:
        return js_values.lower(self.text)

    @cached_property
    def json_values(self) -> tuple[object, ...]:
        """The objects and lists in the output, the first ``MAX_JSON_VALUES`` of them; itself where it is structured."""
        from promptpex.assertions.javascript import js_values

        if not isinstance(self.output, str):
            return (self.output,)
        return tuple(islice(js_values.in_text(self.output), MAX_JSON_VALUES))

    def with_output(self, output: object) -> CheckedOutput:
        return replace(self, output=output, prepared={})


@dataclass(frozen=True, slots=True)
class KindResult:
    """What a kind finds on an output, before ``not-``.

    Attributes:
        passed: the verdict.
        reason: in words.
        score: a number where the kind measures; None = 1 for pass, 0 for fail.
        flips: whether ``not-`` turns it.
        inverts: whether the score is a share, so that ``not-`` makes it 1 - score; else it follows the verdict.
        named: scores under names that a script returned.
    """

    passed: bool
    reason: str = ""
    score: float | None = None
    flips: bool = True
    inverts: bool = True
    named: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One assertion's verdict on one output.

    Attributes:
        kind: as written, with its ``not-``.
        status: pass, fail or unscored.
        score: usually 0..1; None when unscored or not finite.
        reason: in words.
        unscored: the reason code of an unscored result.
        weight: its share; 0 informs only.
        metric: the name its score is collected under.
        parts: an assert-set's own results.
        questions: what a judge has to answer before it can be decided.
    """

    kind: str
    status: Status
    score: float | None
    reason: str
    unscored: str | None = None
    weight: float = 1.0
    metric: str | None = None
    parts: tuple[CheckResult, ...] = ()
    named: Mapping[str, float] = field(default_factory=dict)
    questions: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """As JSON-ready data, empty fields left out."""
        data: dict[str, object] = {
            "kind": self.kind,
            "status": self.status,
            "score": self.score,
            "reason": self.reason,
        }
        if self.unscored is not None:
            data["unscored"] = self.unscored
        if self.weight != 1:
            data["weight"] = self.weight
        if self.metric is not None:
            data["metric"] = self.metric
        if self.parts:
            data["assertions"] = [part.to_dict() for part in self.parts]
        return data


@dataclass(frozen=True, slots=True)
class CheckReport:
    """All the verdicts on one output, and what they come to.

    Attributes:
        status: fail when an assertion that counts fails, else unscored when one could not be decided, else pass;
            with a threshold the weighted score decides.
        score: weighted mean; None when it cannot be computed.
        reason: the deciding assertion's reason.
        unscored: the reason code when ``status`` is unscored.
        results: in the order of the assertions.
        named_scores: weighted means per metric.
    """

    status: Status
    score: float | None
    reason: str
    unscored: str | None = None
    results: tuple[CheckResult, ...] = ()
    named_scores: Mapping[str, float] = field(default_factory=dict)

    @property
    def questions(self) -> tuple[str, ...]:
        each = [question for result in self.results for one in (result, *result.parts) for question in one.questions]
        return tuple(dict.fromkeys(each))

    def to_dict(self, row_id: object = None) -> dict[str, object]:
        """As JSON-ready data: ``{id, status, score, reason, assertions}``."""
        data: dict[str, object] = {} if row_id is None else {"id": row_id}
        data |= {"status": self.status, "score": self.score, "reason": self.reason}
        if self.unscored is not None:
            data["unscored"] = self.unscored
        data["assertions"] = [result.to_dict() for result in self.results]
        if self.named_scores:
            data["named_scores"] = dict(self.named_scores)
        return data


P = TypeVar("P")
"""What a kind makes of an assertion's value: a text, a pattern, bounds, a schema."""


@dataclass(frozen=True, slots=True)
class Kind(Generic[P]):
    """A kind of assertion.

    Attributes:
        name: without ``not-``.
        plan: makes of an assertion and its rendered value what ``evaluate`` works with, or raises ``Unscorable``.
        evaluate: gives the verdict before ``not-``, or raises ``Unscorable``.
        renders: whether texts in the value are templates.
        renders_inside: whether texts inside of an object are templates too; schemas are taken as they stand.
        literal: which values are not templates, whatever braces they hold.
        verify: what only a strict compile looks at, such as whether a pattern is one.
        refuse: what only a strict compile refuses, such as a threshold that is not there.
    """

    name: str
    plan: Callable[[Assertion, object], P]
    evaluate: Callable[[Assertion, P, CheckedOutput], KindResult]
    renders: bool = True
    renders_inside: bool = True
    literal: Callable[[object], bool] | None = None
    verify: Callable[[Assertion, P], None] | None = None
    refuse: Callable[[Assertion], None] | None = None

    def takes_template(self, value: object) -> bool:
        return self.renders and not (self.literal is not None and self.literal(value))


_FAMILIES = {
    "text": (
        "contains icontains contains-all contains-any icontains-all icontains-any equals starts-with ends-with "
        "levenshtein is-refusal language"
    ),
    "patterns": "word-any word-all regex",
    "json": "is-json contains-json",
    "measures": "cost latency perplexity perplexity-score finish-reason word-count bleu gleu rouge-n rouge-l",
    "markup": "is-xml contains-xml is-html contains-html",
    "sql": "is-sql contains-sql",
    "javascript": "javascript",
    "python": "python",
    "question": "question expected",
}
_FAMILY_OF = {name: family for family, names in _FAMILIES.items() for name in names.split()}
SET = "assert-set"

KIND_NAMES: tuple[str, ...] = (*sorted(_FAMILY_OF), SET)
"""Every kind without ``not-``."""


@cache
def kind_named(name: str) -> Kind[Any]:
    """The kind of this name, without ``not-``.

    Raises:
        Unscorable: code ``unknown-kind``, with the nearest names.
    """
    family = _FAMILY_OF.get(name)
    if family is None:
        raise Unscorable("unknown-kind", f"there is no kind {_quoted(name)}{_suggestion(name)}")
    kinds: tuple[Kind[Any], ...] = import_module(f"promptpex.assertions.kinds.{family}").KINDS
    return next(each for each in kinds if each.name == name)


def _suggestion(name: str) -> str:
    plain = name.replace("_", "-").lower()
    before = "not-" if plain.startswith("not-") else ""
    nearest_kind = did_you_mean(plain.removeprefix("not-"), KIND_NAMES, before=before)
    return f"; {nearest_kind or 'the kinds are ' + ', '.join(KIND_NAMES)}"


def _quoted(name: str) -> str:
    return repr(cut(name, 40))
