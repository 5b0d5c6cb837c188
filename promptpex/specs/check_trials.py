"""What a proposed check is held against: examples, right answers, what the prompt prescribes, and earlier verdicts.

A check that refuses an output which is right is refused itself, with that output as the reason. So is one that tells
the same JSON in two forms apart (escapes, layout, order of keys): it reads the text and not the values. Numbers are
written as they were, since 19.90 may say more than 19.9.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Literal

from promptpex.assertions import check, check_inputs, named_variables
from promptpex.assertions.javascript.value_templates import EXPECTED
from promptpex.codecs.json_text import refuse_constant
from promptpex.codecs.text.wording import plural
from promptpex.core.records import Case, Check, InputCheck, Output, Verdict

LONGEST, DEEPEST = 20_000, 40
"""Characters of an output that is written otherwise, and levels of its nesting; beyond them it is left alone."""


class _Number(str):
    """A number, letter by letter."""


class _Members(tuple[tuple[str, object], ...]):
    """The members of an object, in order."""


@dataclass(frozen=True, slots=True)
class Rendering:
    """The same JSON in another form: ``how`` it is written, in words, and the text."""

    how: str
    text: str


def renderings(text: str) -> Iterator[Rendering]:
    """The other forms of a text that is JSON, an object or a list; none of any other text, or where two members of an
    object have one name."""
    value = _read(text)
    if value is None:
        return
    forms = (
        ("with escapes", _written(value, _escaped)),
        ("without escapes", _written(value)),
        ("without white space", _written(value, between="", after=":")),
        ("indented", _written(value, indent=2)),
        ("with its keys in another order", _written(_turned(value))),
    )
    for how, form in forms:
        if form != text.strip():
            yield Rendering(how, form)


def json_value(text: str) -> object:
    """What a text says that is JSON, an object or a list, to be compared with ``==`` whatever its form; None if it is
    something else."""
    value = _read(text)
    return None if value is None else _unordered(value)


def _read(text: str) -> object:
    if len(text) > LONGEST or not text.lstrip().startswith(("{", "[")):
        return None
    try:
        value: object = json.loads(
            text, parse_int=_Number, parse_float=_Number, parse_constant=refuse_constant, object_pairs_hook=_members
        )
        return None if _depth(value) > DEEPEST else value
    except (ValueError, RecursionError):
        return None


def _members(pairs: list[tuple[str, object]]) -> _Members:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("two members of one name")
    return _Members(pairs)


def _parts(value: object) -> list[object]:
    if isinstance(value, _Members):
        return [part for _, part in value]
    return value if isinstance(value, list) else []


def _depth(value: object) -> int:
    return 1 + max(map(_depth, _parts(value)), default=0)


def _turned(value: object) -> object:
    if isinstance(value, _Members):
        return _Members((name, _turned(part)) for name, part in reversed(value))
    return [_turned(part) for part in value] if isinstance(value, list) else value


def _unordered(value: object) -> object:
    if isinstance(value, _Members):
        return {name: _unordered(part) for name, part in value}
    if isinstance(value, list):
        return [_unordered(part) for part in value]
    return ("number", str(value)) if isinstance(value, _Number) else value


def _escaped(part: str) -> str:
    """A string with escapes where JSON allows them: of running text every letter, as it would be in most languages;
    of names, ids and dates what is not ASCII, and slashes."""
    signs = f'"{"".join(map(_escaped_sign, part))}"' if " " in part.strip() else json.dumps(part)
    return signs.replace("/", "\\/")


def _escaped_sign(sign: str) -> str:
    return f"\\u{ord(sign):04x}" if sign.isascii() and sign.isalpha() else json.dumps(sign)[1:-1]


def _plain(part: str) -> str:
    return json.dumps(part, ensure_ascii=False)


def _written(
    value: object,
    string: Callable[[str], str] = _plain,
    *,
    between: str = " ",
    after: str = ": ",
    indent: int = 0,
    level: int = 1,
) -> str:
    """The JSON text of a value.

    Args:
        between: stands behind each comma, unless each part gets a line of its own.
        after: stands between the name of a member and its value.
        indent: blanks of each level; 0 = all on one line.
        level: how deep the value stands.
    """

    def inner(part: object) -> str:
        return _written(part, string, between=between, after=after, indent=indent, level=level + 1)

    if isinstance(value, _Members):
        return _listed("{}", [f"{string(name)}{after}{inner(part)}" for name, part in value], between, indent, level)
    if isinstance(value, list):
        return _listed("[]", [inner(part) for part in value], between, indent, level)
    if isinstance(value, _Number):
        return str(value)
    return string(value) if isinstance(value, str) else json.dumps(value)


def _listed(brackets: str, parts: list[str], between: str, indent: int, level: int) -> str:
    opening, closing = brackets[0], brackets[1]
    if not (parts and indent):
        return f"{opening}{f',{between}'.join(parts)}{closing}"
    line = "\n" + " " * indent * level
    return f"{opening}{line}{f',{line}'.join(parts)}{line[:-indent]}{closing}"


EXCERPT, LEAD = 120, 30
"""Characters of an example that a reason shows, and how many of them stand before what sets it apart."""


MAX_OUTPUTS = 200
"""Judged outputs of a rule, and expected ones, that its checks are held against."""
MAX_RENDERED = 20
"""Right outputs of JSON that the checks of a rule are held against in other forms."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What became of a rule's proposal.

    Attributes:
        checks: what was proposed; empty when nothing was.
        when: what tells from the inputs whether the rule's condition holds.
        after: the rule without which this one cannot be looked at; holds whatever becomes of the checks.
        dropped: why they are not kept; None = kept.
        refused: whether they were refused for what they decide, so that the author may mend them.
    """

    rule: str
    checks: tuple[Check, ...] = ()
    decides: Literal["wholly", "partly"] = "wholly"
    when: tuple[InputCheck, ...] = ()
    after: str | None = None
    dropped: str | None = None
    refused: bool = False

    def refuse(self, reason: str | None) -> Proposal:
        return replace(self, dropped=reason, refused=True) if reason else self


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of right and wrong outputs besides the author's own examples.

    Attributes:
        outputs, verdicts: of an earlier run; what code said there is passed over.
        cases: usable cases; their inputs, and their expected outputs, which are right.
        prescribed: outputs that the prompt itself prescribes.
        quoted: texts that the prompt sets apart, of which some may be whole answers.
    """

    outputs: Sequence[Output] = ()
    verdicts: Sequence[Verdict] = ()
    cases: Sequence[Case] = ()
    prescribed: Sequence[str] = ()
    quoted: Sequence[str] = ()
    inputs: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    @property
    def has_expected(self) -> bool:
        """Whether there are cases, and all have an expected output: on others, checks that name it are unscored."""
        return bool(self.cases) and all(case.expected is not None for case in self.cases)

    def of(self, rule: str) -> list[tuple[Output, bool]]:
        """The judged outputs of a rule, each with whether it kept it; several verdicts on one are each counted."""
        texts = {output.key: output for output in self.outputs if output.error is None}
        spoken = [v for v in self.verdicts if v.rule == rule and v.key in texts and not v.source.startswith("check:")]
        return [(texts[v.key], v.status == "pass") for v in spoken if v.status in ("pass", "fail")][:MAX_OUTPUTS]


@dataclass(frozen=True, slots=True)
class KnownOutput:
    """An output that keeps or breaks a rule, as somebody says.

    Attributes:
        inputs: that it answers, as far as they are known.
    """

    text: str
    whose: str
    inputs: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Examples:
    """What the author gave with a proposal.

    Attributes:
        keeps: outputs that keep the rule, whatever else.
        right: those of them that keep all rules.
        inputs: that all of them answer.
        other_inputs: for which the rule's condition does not hold.
    """

    keeps: tuple[str, ...] = ()
    right: tuple[str, ...] = ()
    breaks: tuple[str, ...] = ()
    inputs: Mapping[str, object] = field(default_factory=dict)
    other_inputs: Mapping[str, object] = field(default_factory=dict)


def own_problem(proposal: Proposal, given: Examples) -> str | None:
    """Why a proposal does not tell its own examples apart; for ``partly`` one broken example that is caught is
    enough."""
    if not proposal.checks:
        return None
    if not given.right or not given.breaks:
        return "came without outputs that keep the rule and outputs that break it"
    lacking = sorted(_named(proposal) - set(given.inputs))
    if lacking:
        return f"its examples lack the input {lacking[0]}, which its checks name"
    refused = [text for text in given.keeps if not _let_by(proposal, text, given)]
    if refused:
        return f"does not pass an output that should keep the rule: {_apart(refused[0], given.breaks)!r}"
    missed = [text for text in given.breaks if _status(proposal.checks, text, given.inputs) != "fail"]
    if missed and (proposal.decides == "wholly" or len(missed) == len(given.breaks)):
        return f"does not catch an output that should break the rule: {_apart(missed[0], given.keeps)!r}"
    return None


def _let_by(proposal: Proposal, text: str, given: Examples) -> bool:
    """Whether the checks pass an example; where it breaks another rule, they may find nothing to look at."""
    status = _status(proposal.checks, text, given.inputs)
    return status == "pass" or (status == "unscored" and text not in given.right)


def condition_problem(proposal: Proposal, given: Examples, evidence: Evidence) -> str | None:
    """Why the checks of the condition do not fit: the author's own inputs, or the cases that aim at the rule."""
    if not proposal.when:
        return None
    if not given.inputs or not given.other_inputs:
        return "its condition came without inputs for which it holds and inputs for which it does not"
    unmet = check_inputs(proposal.when, given.inputs)
    if unmet:
        return f"its condition does not hold for the inputs that its examples answer: {unmet[0]}"
    if not check_inputs(proposal.when, given.other_inputs):
        return "its condition holds for the inputs for which it should not"
    aimed = [case for case in evidence.cases if case.rule == proposal.rule]
    excluded = ((case.id, unmet[0]) for case in aimed if (unmet := check_inputs(proposal.when, case.inputs)))
    for case, problem in excluded:
        return f"its condition excludes the case {case}, which was written for the rule: {problem}"
    return None


def counterexample(proposal: Proposal, right: Iterable[KnownOutput]) -> str | None:
    """The first output that is right and that the checks refuse, in words; None where there is none.

    Outputs whose inputs are not known tell nothing of checks that look at inputs.
    """
    for example in right:
        if concerned(proposal, example.inputs) and _status(proposal.checks, example.text, example.inputs) == "fail":
            return f"refuses an output that is right ({example.whose}): {_apart(example.text, ())!r}"
    return None


def form_problem(proposal: Proposal, given: Examples, right: Iterable[KnownOutput]) -> str | None:
    """The first right output of JSON that the checks pass as it stands and refuse when the same JSON is written
    otherwise, in words; None where there is none, or where the rule is about the form.

    That is sound, as the author has the last word on what a rule is about. A rule about how JSON is written has
    outputs that break it by their form alone: as soon as one of ``given.breaks`` is the JSON of a right output, no
    other form counts. Where the author did not think of one, the refusal names one, and the second proposal can give
    it. All other rules are about what the JSON says, and what it says is the same in every form; a check that is
    dropped for lack of a second proposal leaves its rule to the judge.
    """
    examples = [*(KnownOutput(text, "an example of the rule", given.inputs) for text in given.right), *right]
    values = [(example, value) for example in examples if (value := json_value(example.text)) is not None]
    broken = [value for text in given.breaks if (value := json_value(text)) is not None]
    if any(value in broken for _, value in values):
        return None
    passed = (example for example, _ in values if _passes(proposal, example))
    for example in islice(passed, MAX_RENDERED):
        for other in renderings(example.text):
            if _status(proposal.checks, other.text, example.inputs) == "fail":
                apart = _apart(other.text, (example.text,))
                return f"refuses an output that is right ({example.whose}, written {other.how}): {apart!r}"
    return None


def _passes(proposal: Proposal, example: KnownOutput) -> bool:
    is_concerned = concerned(proposal, example.inputs)
    return is_concerned and _status(proposal.checks, example.text, example.inputs) == "pass"


def concerned(proposal: Proposal, inputs: Mapping[str, object]) -> bool:
    """Whether checks may be held against an output with these inputs: they are known, and the condition holds."""
    variables_named = _named(proposal) | {one.variable for one in proposal.when}
    return bool(proposal.checks) and variables_named <= set(inputs) and not check_inputs(proposal.when, inputs)


def right_outputs(
    evidence: Evidence, others: Mapping[str, Examples], rule: str, whole: Sequence[str] = ()
) -> list[KnownOutput]:
    """Outputs that are right in every respect: prescribed, expected, and right examples of the other rules.

    Args:
        whole: quoted texts that are shown to be right answers.
    """
    examples = [KnownOutput(text, "the prompt prescribes it") for text in evidence.prescribed]
    examples += [KnownOutput(text, "the prompt quotes it, and it was shown to be right") for text in whole]
    for case in evidence.cases[:MAX_OUTPUTS]:
        if case.expected is not None:
            inputs = {EXPECTED: case.expected, **case.inputs}
            examples.append(KnownOutput(case.expected, f"the expected output of case {case.id}", inputs))
    for other, examples_given in others.items():
        if other != rule:
            examples += [
                KnownOutput(text, f"an example of rule {other}", examples_given.inputs) for text in examples_given.right
            ]
    return examples


def contradicted(proposal: Proposal, evidence: Evidence) -> str | None:
    """Whether most verdicts so far say otherwise; a pass of checks that decide in part contradicts nothing."""
    against: list[tuple[Output, bool]] = []
    agreeing = 0
    for output, rule_was_kept in evidence.of(proposal.rule):
        inputs = evidence.inputs.get(output.case, {})
        status = _status(proposal.checks, output.text or "", inputs) if concerned(proposal, inputs) else "unscored"
        if status == "unscored" or (status == "pass" and proposal.decides == "partly"):
            continue
        agrees = (status == "pass") == rule_was_kept
        agreeing += agrees
        against += [] if agrees else [(output, rule_was_kept)]
    if len(against) <= agreeing:
        return None
    output, rule_was_kept = against[0]
    count = (
        f"all {plural(len(against), 'verdict')}"
        if not agreeing
        else f"{len(against)} of {len(against) + agreeing} verdicts"
    )
    such = f"the judge {'passed' if rule_was_kept else 'failed'} {_apart(output.text or '', ())!r}"
    return f"contradicts {count} so far; {such}"


def _named(proposal: Proposal) -> set[str]:
    return set(named_variables((*proposal.checks, *proposal.when)))


def _status(checks: Sequence[Check], text: str, inputs: Mapping[str, object]) -> str:
    return check(text, list(checks), vars=inputs).status


def _apart(text: str, others: Sequence[str]) -> str:
    """What sets an example apart from those of the other side; outputs of one form, as JSON is, begin alike."""
    alike = max((_alike(text, other) for other in others), default=0)
    start = max(0, alike - LEAD) if len(text) > EXCERPT else 0
    end = start + EXCERPT
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


def _alike(text: str, other: str) -> int:
    pairs = enumerate(zip(text, other, strict=False))
    return next((at for at, (one, two) in pairs if one != two), min(len(text), len(other)))
