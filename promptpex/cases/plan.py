"""Which cases have to be generated: for each target (a rule or its inverse, in a scenario), those kept and missing.

What a generated case is for are its target and the input spec; the hash of these is its ``inputs_fingerprint``. A case
with another hash is outdated: it is retired and generated again. Who wrote a case, and with which instructions, counts
for nothing, and people's cases stay. Where a prompt answers from a retrieved document, half of its cases get one with
the answer in it and half one without: such prompts are at their weakest where the document does not say it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from promptpex.cases.comparable_words import slug, words
from promptpex.core.ids import digest, text_digest
from promptpex.core.records import Case, Prompt, Rule, Spec, Suite

_CONTEXTS = frozenset(
    words(
        "context contexts document documents doc docs passage passages excerpt excerpts source sources article "
        "articles background knowledge evidence facts chunk chunks snippet snippets retrieved reference references "
        "transcript kontext dokument dokumente quelle quellen contexte contexto contesto documento documentos "
        "documenti extrait extraits kontekst dokumen konteks bağlam belge контекст документ документы 文脈 "
        "文書 資料 上下文 文档 문맥 문서 السياق سياق संदर्भ"
    )
)
_CONTEXT_PAIRS = ("ngu canh", "ngữ cảnh", "tai lieu", "tài liệu", "van ban", "văn bản")
_QUESTIONS = frozenset(
    words(
        "question questions query queries asked claim frage pregunta consulta pergunta domanda vraag fråga spørgsmål "
        "spørsmål kysymys pytanie otázka soru pertanyaan вопрос питання ερώτηση 質問 问题 问句 질문 سؤال प्रश्न"
    )
)
_QUESTION_PAIRS = ("cau hoi", "câu hỏi")


def context_variable(prompt: Prompt, spec: Spec) -> str | None:
    """The variable that is a context for another, or None.

    Front matter decides where it speaks: ``context: NAME`` (``context: none`` for none), or ``context: true`` or
    ``type: context`` or ``type: document`` under an input. Otherwise a text variable named like a document, if
    another is named like a question; a prompt that translates a ``document`` into a ``language`` has no context.
    """
    declared = _declared(prompt)
    if declared is not None:
        return declared if declared in prompt.variables and len(prompt.variables) > 1 else None
    texts = [name for name in prompt.variables if name not in spec.inputs or spec.inputs[name].type == "text"]
    if not any(_is_named(name, _QUESTIONS, _QUESTION_PAIRS) for name in texts):
        return None
    named = [name for name in texts if _is_named(name, _CONTEXTS, _CONTEXT_PAIRS)]
    named = [name for name in named if not _is_named(name, _QUESTIONS, _QUESTION_PAIRS)]
    return named[0] if named else None


def _declared(prompt: Prompt) -> str | None:
    """What the front matter says: a variable's name, empty for none, None where it says nothing."""
    top = prompt.meta.get("context", prompt.unknown.get("context"))
    if isinstance(top, str):
        return top.strip()
    if top is False:
        return ""
    inputs = prompt.meta.get("inputs")
    for name, item in inputs.items() if isinstance(inputs, Mapping) else ():
        if isinstance(item, Mapping) and (item.get("context") is True or item.get("type") in ("context", "document")):
            return str(name)
    return None


def _is_named(name: str, single: frozenset[str], pairs: Sequence[str]) -> bool:
    parts = words(_parted(name))
    return bool(single & set(parts)) or any(pair in " ".join(parts) for pair in pairs)


def _parted(name: str) -> str:
    """``retrievedDocs_1`` as ``retrieved Docs 1``."""
    spaced = "".join(
        f" {char}" if char.isupper() and before.islower() else char
        for before, char in zip(" " + name, name, strict=False)
    )
    return spaced.replace("_", " ").replace("-", " ")


def balance_answerable(kept: Iterable[Case], wanted: Sequence[tuple[str, int]]) -> list[int]:
    """For each request for so many cases, how many of them are to have the answer in their context.

    Over the suite the halves differ by one case at most, what is kept included. Where a single case is even, the hash
    of what it aims at decides, so that not all rules get one kind and all inverses the other.

    Args:
        wanted: the stem of the target and the number of cases, for each request in order.
    """
    records = [case.answer_in_context for case in kept if case.invalid is None]
    lead = records.count(True) - records.count(False)
    shares = []
    for stem, count in wanted:
        odd_goes_to_answerable = int(text_digest(stem, 2), 16) % 2 == 0
        with_answer = 0
        for _ in range(count):
            answerable = lead < 0 or (lead == 0 and odd_goes_to_answerable)
            lead += 1 if answerable else -1
            with_answer += answerable
        shares.append(with_answer)
    return shares


TEMPLATE = "cases/generate"
VERSION = "2-"
"""What fingerprints begin with, by which those of earlier versions are told from them."""
RULES_PER_REQUEST = 6
"""Rules that one request covers unless it is said: a capable author still gives that many different situations."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A named set of extra input constraints and of variables with a fixed value."""

    name: str
    constraints: tuple[str, ...] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Generation:
    """How many cases to make, and how.

    Attributes:
        per_rule, per_inverse: generated cases for each rule and each inverse (per scenario).
        rules_per_request: rules that one request may cover, each with its inverse.
        extra: cases that a target should have beyond the usual number, by ``Target.inputs_fingerprint``; see ``more``.
        scenarios: each rule is put to the test in each of them; none = once, without.
        language: BCP 47 tag of the language that inputs have to be in; None = the prompt's.
        own_count: whether people's cases of a rule or inverse count among these numbers, unless it has stale ones.
        replace: whether cases beyond these numbers go.
    """

    per_rule: int = 2
    per_inverse: int = 1
    rules_per_request: int = RULES_PER_REQUEST
    extra: Mapping[str, int] = field(default_factory=dict)
    scenarios: tuple[Scenario, ...] = ()
    samples: tuple[str, ...] = ()
    instructions: str = ""
    language: str | None = None
    own_count: bool = False
    replace: bool = False


@dataclass(frozen=True, slots=True)
class Target:
    """What cases are aimed at.

    Attributes:
        inputs_fingerprint: hash of what the cases depend on.
        count: how many generated cases there should be.
        extra: whether its cases are those beyond the usual number.
    """

    rule: Rule
    inverse: bool
    scenario: Scenario | None
    inputs_fingerprint: str
    count: int
    extra: bool = False

    @property
    def text(self) -> str:
        return (self.rule.inverse or "") if self.inverse else self.rule.rule

    @property
    def aim(self) -> str:
        """The id of what it aims at: the rule's or its inverse's."""
        return self.rule.inverse_id if self.inverse else self.rule.id

    @property
    def place(self) -> tuple[str, bool, str | None]:
        return self.rule.id, self.inverse, self.scenario.name if self.scenario else None

    @property
    def stem(self) -> str:
        return f"{self.aim}-{slug(self.scenario.name)}" if self.scenario else self.aim


@dataclass(frozen=True, slots=True)
class Plan:
    """What a generation will do.

    Attributes:
        keep: cases that stay as they are; variants among them, which expansion plans for itself.
        retire: generated cases whose target or input spec has changed or gone, and those that are too many.
        make: targets with the number of cases still missing.
        orphans: people's cases, and variants, whose rule is gone; they stay.

    A case that was edited by hand still fills its place, as long as what it was made from has not changed.
    """

    keep: tuple[Case, ...]
    retire: tuple[Case, ...]
    make: tuple[tuple[Target, int], ...]
    orphans: tuple[Case, ...]

    @property
    def missing(self) -> int:
        return sum(count for _, count in self.make)


def plan(prompt: Prompt, spec: Spec, suite: Suite, *, options: Generation) -> Plan:
    """Which cases of ``suite`` stay, which go, and what is to be made."""
    usual = targets_of(prompt, spec, options=options)
    suite = _with_current_fingerprints(suite, usual)
    extra = [_extra(target, options.extra) for target in usual]
    fresh: dict[str, list[Case]] = {target.inputs_fingerprint: [] for target in (*usual, *extra)}
    most = {target.inputs_fingerprint: target.count for target in usual}
    keep: list[Case] = []
    retire: list[Case] = []
    own: Counter[tuple[str | None, bool, str | None]] = Counter()
    for case in suite.cases:
        same = fresh.get(case.inputs_fingerprint or "")
        if case.origin in ("edited", "added") or case.expanded_from is not None:
            keep.append(case)
            if case.origin == "edited" and same is not None:
                same.append(case)
            elif options.own_count and case.origin != "generated" and case.invalid is None:
                own[case.rule, case.inverse, case.scenario] += 1
            continue
        most_here = most.get(case.inputs_fingerprint or "")
        is_surplus = options.replace and case.invalid is None and most_here is not None and len(same or ()) >= most_here
        if same is None or is_surplus:
            retire.append(case)
            continue
        keep.append(case)
        if case.invalid is None:
            same.append(case)
    for case in retire:
        own.pop((case.rule, case.inverse, case.scenario), None)
    make = [(target, target.count - len(fresh[target.inputs_fingerprint]) - own[target.place]) for target in usual]
    make += [(target, target.count - len(fresh[target.inputs_fingerprint])) for target in extra]
    current = {rule.id for rule in spec.rules if not rule.stale}
    return Plan(
        keep=tuple(keep),
        retire=tuple(retire),
        make=tuple((target, count) for target, count in make if count > 0),
        orphans=tuple(case for case in keep if case.rule is not None and case.rule not in current),
    )


def _with_current_fingerprints(suite: Suite, targets: Sequence[Target]) -> Suite:
    """The suite in which generated cases of an earlier version, whose fingerprint also held their author, count as up
    to date where what they aim at is still there."""
    current = {target.place: target.inputs_fingerprint for target in targets}

    def updated(case: Case) -> Case:
        place = (case.rule or "", case.inverse, case.scenario)
        is_earlier = case.inputs_fingerprint is not None and not case.inputs_fingerprint.startswith(VERSION)
        if case.origin != "generated" or case.expanded_from is not None or not is_earlier or place not in current:
            return case
        return case.replace(inputs_fingerprint=current[place])

    return suite.replace(cases=tuple(map(updated, suite.cases)))


def targets_of(prompt: Prompt, spec: Spec, *, options: Generation) -> list[Target]:
    """Every rule and inverse, in the spec's order, in every scenario, with the hash of what its cases depend on."""
    scenarios: Sequence[Scenario | None] = options.scenarios or (None,)
    targets = []
    for rule in spec.rules:
        if rule.stale:
            continue
        for inverse, count in ((False, options.per_rule), (True, options.per_inverse)):
            if inverse and not rule.inverse:
                continue
            for scenario in scenarios:
                inputs_fingerprint = _inputs_fingerprint(prompt, spec, rule, inverse, scenario, options)
                targets.append(Target(rule, inverse, scenario, inputs_fingerprint, count))
    return targets


def brought_along(suite: Suite, before: Sequence[Target], after: Sequence[Target]) -> Suite:
    """The suite with the cases of changed targets as cases of what these have become."""
    both = [*zip(before, after, strict=True)]
    both += [(_extra(old, {}), _extra(new, {})) for old, new in both]
    now = {old.inputs_fingerprint: new.inputs_fingerprint for old, new in both}
    known = [(case, case.inputs_fingerprint or "") for case in suite.cases]
    return suite.replace(
        cases=tuple(case.replace(inputs_fingerprint=now.get(mark, mark) or None) for case, mark in known)
    )


def with_more(options: Generation, prompt: Prompt, spec: Spec, suite: Suite, *, more: int) -> Generation:
    """The options by which each target gets ``more`` cases beyond those that it has; they stay, whatever the counts."""
    usable = Counter(case.inputs_fingerprint for case in suite.cases if case.invalid is None)
    targets = [_extra(target, {}) for target in targets_of(prompt, spec, options=options) if target.count]
    extra = {target.inputs_fingerprint: usable[target.inputs_fingerprint] + more for target in targets}
    return replace(options, extra=extra)


def _extra(target: Target, counts: Mapping[str, int]) -> Target:
    """The target of the cases beyond the usual number, which other counts leave alone."""
    inputs_fingerprint = VERSION + digest([target.inputs_fingerprint, "more"], 16)
    count = counts.get(inputs_fingerprint, 0)
    return replace(target, inputs_fingerprint=inputs_fingerprint, count=count, extra=True)


def _inputs_fingerprint(
    prompt: Prompt,
    spec: Spec,
    rule: Rule,
    inverse: bool,
    scenario: Scenario | None,
    options: Generation,
) -> str:
    context = context_variable(prompt, spec)
    return VERSION + digest(
        {
            **({"context": context} if context else {}),
            **({"language": options.language} if options.language else {}),
            "rule": rule.id,
            "text": rule.rule,
            **({"needs": rule.needs} if rule.needs != "output" else {}),
            **({"when": [check.to_dict() for check in rule.when]} if rule.when else {}),
            "inverse": rule.inverse if inverse else None,
            "inputs": {name: variable.to_dict() for name, variable in spec.inputs.items()},
            "input_checks": [check.to_dict() for check in spec.input_checks],
            "variables": prompt.variables,
            "scenario": [scenario.name, list(scenario.constraints), dict(scenario.fixed)] if scenario else None,
        },
        16,
    )
