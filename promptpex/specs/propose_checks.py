"""From rules to checks: the author proposes code that decides rules, and only a proposal that proves itself is kept.

Checks must compile, pass every output that they were given as keeping the rule, fail those given as breaking it, refuse
nothing that is right (``check_trials``), and not contradict what was judged of the rule so far. What is refused is
asked for once more, with the reason and the output that it refused, and is then dropped. Right are, besides examples,
outputs that the prompt prescribes for special cases (``If no tag fits, return Unknown.``), and texts that it sets apart
and that somebody has shown to be whole answers.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from promptpex.assertions import compile_checks, named_variables
from promptpex.assertions.javascript.value_templates import EXPECTED
from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.codecs.text.wording import cut
from promptpex.core.errors import CheckError
from promptpex.core.events import Listener, ignore_events
from promptpex.core.records import NOT_CONCERNED, Check, InputCheck, Output, Prompt, Rule, Spec, Verdict
from promptpex.core.sentences import normal_form, sentences
from promptpex.judging.judge_mode import has_condition
from promptpex.llm.model_in_role import RoleModel
from promptpex.specs.ask_checks import CheckRequests, ConditionalChecks, ProposedChecks, read_check, read_condition
from promptpex.specs.check_trials import (
    Evidence,
    Examples,
    Proposal,
    condition_problem,
    contradicted,
    counterexample,
    form_problem,
    own_problem,
    right_outputs,
)

MAX_VALUES = 10
"""Outputs that are looked at."""
_CONDITION = re.compile(
    r"\b(?:if|when|whenever|where|unless|otherwise|else|in case|for (?:any|all)|cannot|can't|unable)\b", re.I
)
_ORDER = r"\b(?:return|respond|reply|answer|output|print|give|write|say|response)s?\b"
_FILLERS = (
    r"(?:\s+(?:with|back|only|just|exactly|the|a|an|is|should|must|be|empty|single|"
    r"word|words|text|string|value|literal|sentence|array|list))*"
)
_QUOTED = (('"', '"'), ("“", "”"), ("‘", "’"), ("'", "'"), ("`", "`"), ("«", "»"))
_TEXT = "|".join(
    rf"{re.escape(left)}(?P<q{n}>[^{left}{right}\n]{{1,200}}){right}" for n, (left, right) in enumerate(_QUOTED)
)
_END = r"(?=\s*(?:instead|only|alone|exactly|and nothing else)?\s*(?:[.,;:!)]|\n|$))"
_PRESCRIBED = re.compile(
    rf"(?i:{_ORDER}{_FILLERS})\s*:?\s+(?:{_TEXT}|(?P<json>\[[^\[\]\n]{{0,200}}\])|(?P<word>[A-Z][A-Za-z0-9_]*)){_END}"
)


def prescribed_outputs(prompt: str) -> tuple[str, ...]:
    """The outputs that the text of a prompt prescribes, in order, each once; at most ``MAX_VALUES``."""
    values: list[str] = []
    for sentence in sentences(prompt.replace('\\"', '"')):
        if _CONDITION.search(sentence):
            values += [_value(match) for match in _PRESCRIBED.finditer(sentence)]
    return tuple(dict.fromkeys(values))[:MAX_VALUES]


def _value(match: re.Match[str]) -> str:
    return next(text for text in match.groups() if text is not None)


MOST_TEXTS = 200
"""Texts that are looked at."""
LONGEST = 200
"""Characters of a text that may be a whole answer; a block of code has ten times as many."""

_PAIRS = ("“”", "„“", "„”", "‚‘", "‘’", "«»", "»«", "‹›", "「」", "『』", "﹁﹂", "〝〞", "《》")
_BETWEEN = re.compile("|".join(rf"{pair[0]}(?=([^{pair}\n]{{1,{LONGEST}}}){pair[1]})" for pair in _PAIRS))
_SAME_MARK = ('"', "'", "＂", "`", "**", "__")
_BLOCK = re.compile(r"^ {0,3}(```|~~~)[^\n]*\n(.{1,2000}?)\n {0,3}\1", re.MULTILINE | re.DOTALL)


def quoted_texts(prompt: str) -> tuple[str, ...]:
    """The texts that a prompt sets apart, as they stand between their marks, each once; at most ``MOST_TEXTS``."""
    texts = dict.fromkeys(text for text in map(str.strip, _set_apart(prompt.replace('\\"', '"'))) if text)
    return tuple(texts)[:MOST_TEXTS]


def _set_apart(prompt: str) -> Iterator[str]:
    for match in _BETWEEN.finditer(prompt):
        yield next(text for text in match.groups() if text is not None)
    for mark in _SAME_MARK:
        for line in prompt.splitlines():
            # Which marks open and which close is not told, and a text that nobody shows to be right is left out.
            yield from (part for part in line.split(mark)[1:-1] if len(part) <= LONGEST)
    yield from (match[2] for match in _BLOCK.finditer(prompt))


def shown_to_be_right(quoted: Sequence[str], right: Iterable[str], broken: Iterable[str]) -> list[str]:
    """The quoted texts that are a whole right answer: somebody has shown them as one, and nobody as a broken one.

    Args:
        right: whole outputs that are right in every respect, as somebody says.
        broken: outputs that break a rule, as somebody says.
    """
    right_texts, unwanted = ({normal_form("NFC", text.strip()) for text in texts} for texts in (right, broken))
    only_right = right_texts - unwanted
    return [text for text in quoted if normal_form("NFC", text) in only_right]


def demanded_texts(rules: Iterable[Rule]) -> tuple[str, ...]:
    checks = [check for rule in rules if not rule.stale for check in rule.checks]
    whole = (check.value for check in checks if check.kind == "equals" and not check.path and not check.transform)
    return tuple(value for value in whole if isinstance(value, str) and "{{" not in value)


def judged_texts(
    quoted: Collection[str], outputs: Iterable[Output], verdicts: Iterable[Verdict]
) -> tuple[frozenset[str], frozenset[str]]:
    """The quoted texts that are outputs of a run: those that broke no rule, as a judge and every other verdict that
    counts say, and those that broke one."""
    quoted_set = set(quoted)
    keys = {output.key: text for output in outputs if (text := (output.text or "").strip()) in quoted_set}
    statuses: dict[tuple[str, str, int], set[str]] = {}
    judged: set[tuple[str, str, int]] = set()
    for verdict in verdicts:
        if verdict.key in keys and verdict.counts:
            statuses.setdefault(verdict.key, set()).add(verdict.status)
            if not verdict.source.startswith("check:"):
                judged.add(verdict.key)
    texts_kept = (keys[key] for key in judged if statuses[key] <= {"pass", NOT_CONCERNED})
    return frozenset(texts_kept), frozenset(keys[key] for key, of_output in statuses.items() if "fail" in of_output)


async def propose_checks(
    author: RoleModel,
    prompt: Prompt,
    spec: Spec,
    *,
    only: Collection[str] | None = None,
    evidence: Evidence | None = None,
    instructions: str = "",
    emit: Listener = ignore_events,
) -> list[Proposal]:
    """A proposal for every rule that has no checks yet, in order, each kept or dropped with its reason.

    Args:
        only: ids of the rules to propose for; None = all. The author sees the other rules as well.
        evidence: what is known of right and wrong outputs, besides what the prompt prescribes.
    """
    todo = [
        rule for rule in spec.rules if not (rule.checks or rule.stale or (only is not None and rule.id not in only))
    ]
    text = prompt.text()
    full_evidence = replace(evidence or Evidence(), prescribed=prescribed_outputs(text), quoted=quoted_texts(text))
    trial = _Trial(spec, prompt.variables, full_evidence)
    requests = CheckRequests(author, prompt, spec, full_evidence.has_expected, instructions, emit)
    replies = await requests.ask(todo)
    proposals = {rule.id: trial.outcome(rule, replies) for rule in todo}
    again = [rule for rule in todo if proposals[rule.id].refused]
    if again:
        revised = await requests.ask(again, {rule.id: _refusal(proposals[rule.id]) for rule in again})
        replies = {**replies, **revised}
        proposals |= {rule.id: trial.outcome(rule, replies, last=True) for rule in again if rule.id in revised}
    return _without_circles(spec.rules, [proposals[rule.id] for rule in todo])


def with_checks(rules: Sequence[Rule], proposals: Sequence[Proposal]) -> list[Rule]:
    by_rule = {proposal.rule: proposal for proposal in proposals}
    return [_rule_with(rule, by_rule[rule.id]) if rule.id in by_rule else rule for rule in rules]


def _rule_with(rule: Rule, proposal: Proposal) -> Rule:
    rule = rule.replace(after=rule.after or proposal.after)
    if proposal.dropped is not None:
        return rule
    decided = {"checks": proposal.checks, "decides": proposal.decides} if proposal.checks else {}
    return rule.replace(when=rule.when or proposal.when, **decided)


class _Trial:
    """Proposals held against all that is known."""

    def __init__(self, spec: Spec, variables: Sequence[str], evidence: Evidence) -> None:
        self._spec = spec
        self._inputs = frozenset(variables)
        self._evidence = evidence
        self._has_others = sum(not rule.stale for rule in spec.rules) > 1
        texts_kept, broken = judged_texts(evidence.quoted, evidence.outputs, evidence.verdicts)
        self._right = {*texts_kept, *demanded_texts(spec.rules)}
        self._broken = {*broken}

    def outcome(self, rule: Rule, replies: Mapping[str, ProposedChecks], last: bool = False) -> Proposal:
        """The proposal of a rule's reply, dropped where it does not compile, separate its own examples, refuses what
        is right, or contradicts what was judged; and where an output that breaks another rule alone was forgotten,
        unless the author was asked for it before (``last``)."""
        reply = replies.get(rule.id)
        if reply is None:
            return Proposal(rule.id, dropped="the author gave no usable reply")
        named = self._spec.rule(reply.after.strip())
        after = named.id if named is not None and not named.stale and named.id != rule.id else None
        try:
            proposal = replace(self._read(rule, reply), after=after)
        except CheckError as error:
            return Proposal(rule.id, after=after, dropped=f"does not compile: {error}", refused=True)
        if not proposal.checks and (not proposal.when or rule.when):
            return replace(proposal, dropped="code cannot decide it, says the author")
        examples_given = examples(reply)
        disputed = {text.strip() for text in examples_given.breaks}
        others = {name: examples(other) for name, other in replies.items()}
        whole = self._whole_answers(others.values())
        outputs_known = right_outputs(self._evidence, others, rule.id, whole)
        right = [one for one in outputs_known if one.text.strip() not in disputed]
        reason = own_problem(proposal, examples_given)
        reason = reason or (None if rule.when else condition_problem(proposal, examples_given, self._evidence))
        refused = None if reason else counterexample(proposal, right)
        if refused and self._meets_other_inputs(rule, proposal):
            return replace(proposal, dropped=f"{refused}; code cannot tell where its condition holds")
        reason = reason or refused
        reason = reason or form_problem(proposal, examples_given, right)
        reason = reason or contradicted(proposal, self._evidence)
        if proposal.checks and self._has_others and not (reply.keeps_only_this or last):
            reason = reason or "came without an output that keeps this rule and breaks another one"
        return proposal.refuse(reason)

    def _meets_other_inputs(self, rule: Rule, proposal: Proposal) -> bool:
        """Whether the checks are held against outputs that the rule does not concern, which no other wording mends."""
        blind = not proposal.when and not named_variables(proposal.checks)
        return blind and rule.needs == "input" and has_condition(rule)

    def _whole_answers(self, shown: Iterable[Examples]) -> list[str]:
        """The texts that the prompt quotes and that are right answers as they stand, as far as anybody has shown; an
        example of an earlier reply stays one."""
        for each in shown:
            self._right.update(each.right)
            self._broken.update(each.breaks)
        return shown_to_be_right(self._evidence.quoted, self._right, self._broken)

    def _read(self, rule: Rule, reply: ProposedChecks) -> Proposal:
        conditional = isinstance(reply, ConditionalChecks) and rule.needs == "input"
        expected = {EXPECTED} if self._evidence.has_expected else set()
        names = self._inputs | expected if conditional else frozenset[str]()
        checks = () if reply.decides == "condition" else tuple(read_check(one, names) for one in reply.checks)
        when: tuple[InputCheck, ...] = rule.when
        if isinstance(reply, ConditionalChecks) and conditional and not when:
            when = tuple(read_condition(one, self._inputs) for one in reply.when)
        compile_checks([*checks, *when], where=f"rule {rule.id}")
        decides = "partly" if reply.decides == "condition" else reply.decides
        return Proposal(rule.id, checks, decides, when)


def examples(reply: ProposedChecks) -> Examples:
    """The examples of a reply; what the author gives as breaking the rule is not a right example of it."""
    breaks = tuple(reply.breaks)
    right = tuple(text for text in reply.keeps if text not in breaks)
    inputs = [reply.inputs, reply.other_inputs] if isinstance(reply, ConditionalChecks) else [[], []]
    own_inputs, elsewhere = ({one.name: one.value for one in inputs_of_one} for inputs_of_one in inputs)
    return Examples((*reply.keeps, *reply.keeps_only_this), right, breaks, own_inputs, elsewhere)


def _refusal(proposal: Proposal) -> str:
    check_texts = "; ".join(map(_shown, (*proposal.checks, *proposal.when)))
    return f"{check_texts or 'the checks'}: {proposal.dropped}"


def _shown(check: Check) -> str:
    value = value_text(check.value)
    return f"{check.kind} {cut(value, 300)}"


def _without_circles(rules: Sequence[Rule], proposals: Sequence[Proposal]) -> list[Proposal]:
    """The proposals, less the ``after`` of those that would wait for each other in a circle."""
    waits = {rule.id: rule.after for rule in rules if rule.after is not None}
    proposals_kept: list[Proposal] = []
    for proposal in proposals:
        before, seen = proposal.after, {proposal.rule}
        while before is not None and before not in seen:
            seen.add(before)
            before = waits.get(before)
        if before is None and proposal.after is not None:
            waits[proposal.rule] = proposal.after
        proposals_kept.append(proposal if before is None else replace(proposal, after=None))
    return proposals_kept
