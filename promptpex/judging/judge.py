"""Judging by a model: what no check decides.

What the judge is shown and how it replies is up to the judge mode (``judging.modes``). A judge that cannot be read
gives ``unscored``, never a pass and never a fail.

A judge tends to favour the outputs of its own model family: Panickssery et al. 2024, "LLM Evaluators Recognize and
Favor Their Own Generations".
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from itertools import zip_longest
from types import MappingProxyType
from typing import Any

from promptpex.codecs.text.inputs_as_text import inputs_text
from promptpex.core.errors import MalformedReply, ModelError, TruncatedReply
from promptpex.core.ids import digest
from promptpex.core.records import (
    CUT,
    NOT_ASKED,
    Completion,
    Output,
    Prompt,
    Request,
    Rule,
    Spec,
    TokenLogprob,
    Verdict,
)
from promptpex.core.stage_templates import Rendered, fingerprint, render
from promptpex.core.translation import stored
from promptpex.engines import run_all
from promptpex.judging import modes
from promptpex.judging.judge_mode import JudgeExample, JudgeFinding, JudgeMode, Material, points_into_prompt
from promptpex.llm.model_in_role import RoleModel
from promptpex.llm.schemas import reply_schema


def confidences(completion: Completion, labels: tuple[str, ...]) -> list[float]:
    """The probability of each ``"verdict"`` that a reply gives, in order, against the other labels; from 0 to 1.

    The token that begins the label is weighed against its alternatives, renormalised over those that could begin one
    of the labels: under a grammar, log-probabilities are those of the unconstrained model. Empty where the
    provider gave none, or where the tokens do not spell the reply.
    """
    tokens = completion.logprobs
    if not labels or not tokens or "".join(token.token for token in tokens) != completion.text:
        return []
    pattern = re.compile(r'"verdict"\s*:\s*"(' + "|".join(labels) + r')"')
    shares = [_probability(tokens, match.start(1), match[1], labels) for match in pattern.finditer(completion.text)]
    return [share for share in shares if share is not None] if None not in shares else []


def _probability(tokens: Sequence[TokenLogprob], at: int, label: str, labels: tuple[str, ...]) -> float | None:
    start = 0
    for token in tokens:
        if start <= at < start + len(token.token):
            return _share(token, token.token[: at - start], label, labels)
        start += len(token.token)
    return None


def _share(token: TokenLogprob, before: str, label: str, labels: tuple[str, ...]) -> float | None:
    """``before`` is what the token holds in front of the label, such as an opening quote."""
    weights = dict.fromkeys(labels, 0.0)
    logprobs = {token.token: token.logprob, **dict(token.top)}
    for text, logprob in logprobs.items():
        rest = text[len(before) :] if text.startswith(before) else text.lstrip(' "')
        for name in labels:
            if rest and (name.startswith(rest) or rest.startswith(name)):
                weights[name] += math.exp(min(logprob, 0.0))
    total = sum(weights.values())
    return weights[label] / total if total > 0 else None


STAGE = "judge"

FEWEST_TO_HALVE = 4
"""Rules from which on a reply of no use is asked for in halves; with fewer, it was not their number."""


@dataclass(frozen=True, slots=True)
class Judging:
    """How to judge.

    Attributes:
        mode: the name of the judge mode.
        sees_input: whether the judge is shown the inputs for all rules, not only for those that need them.
        sees_prompt: whether the judge is shown the prompt for all rules, not only where one points into it.
        all_rules: whether rules that code decides are judged as well, to measure agreement.
        turns: how often each output is judged; later turns have the rules in another order and other words.
        confidence: whether log-probabilities are asked for, to tell how sure the judge was.
        instructions: the owner's note for the judge.
    """

    mode: str = modes.DEFAULT
    sees_input: bool = False
    sees_prompt: bool = False
    all_rules: bool = False
    turns: int = 1
    confidence: bool = False
    instructions: str = ""

    @property
    def judge_mode(self) -> JudgeMode:
        return modes.mode(self.mode)

    def rules(self, spec: Spec) -> tuple[Rule, ...]:
        return self.judge_mode.rules(spec, all_rules=self.all_rules)


@dataclass(frozen=True, slots=True)
class Question:
    """What one request asks a judge about an output.

    Attributes:
        rules: those to judge, in the order in which they are put.
        inputs: the case's inputs as text; empty where the judge is not to see them.
        turn: from 0, the times that the same was asked before.
    """

    rules: tuple[Rule, ...]
    inputs: str = ""
    turn: int = 0


@dataclass(frozen=True)
class Judge:
    """One judge model with the material that its verdicts rest on."""

    role_model: RoleModel
    prompt: Prompt
    spec: Spec
    options: Judging = field(default_factory=Judging)
    examples: tuple[JudgeExample, ...] = ()
    """Graded outputs that it is shown; those whose rule is asked about."""

    @property
    def source(self) -> str:
        return f"judge:{self.role_model.label}"

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        return self.options.rules(self.spec)

    async def judge(
        self, output: Output, inputs: Mapping[str, Any], *, turn: int = 0, left_out: Collection[str] = ()
    ) -> list[Verdict]:
        """A verdict per rule on a usable output, in the spec's order; unscored with the reason where none came.

        A later ``turn`` asks again, with the rules in another order and in other words around them.
        """
        questions = self.questions(inputs, turn=turn, left_out=left_out)
        findings: dict[str, JudgeFinding] = {}
        for each in await run_all(partial(self._findings, output), questions, alive=max(1, len(questions))):
            findings |= each
        if any(finding.code not in NOT_ASKED for finding in findings.values()):
            findings = _asked_before(findings)
        verdict = self._verdict(output, turn)
        return [verdict(rule.id, findings[rule.id]) for rule in self.rules if rule.id in findings]

    def questions(
        self, inputs: Mapping[str, Any], *, turn: int = 0, left_out: Collection[str] = ()
    ) -> tuple[Question, ...]:
        """What the judge is asked about an output of a case with these inputs, a request each.

        Rules that need the input are asked about with the inputs shown, all others from the output alone: the paper's
        judge never sees the input (arXiv 2503.05070v1, §3.4), so equal outputs are judged alike, an input that talks to
        the judge cannot move those verdicts, and one rule that needs it changes no other's request. That costs a second
        request where a spec has both kinds. A judge that sees the input throughout is asked once. Rules that some cases
        leave out come last, so that requests begin alike.
        """
        rules = [rule for rule in self._in_turn(turn) if rule.id not in left_out]
        rules.sort(key=lambda rule: bool(rule.when))
        parts = [tuple(rule for rule in rules if self._sees_input(rule) == seeing) for seeing in (False, True)]
        shown_texts = ("", inputs_text(inputs))
        return tuple(Question(part, text, turn) for part, text in zip(parts, shown_texts, strict=True) if part)

    def request(self, output: Output, question: Question) -> Request:
        request = self._role_model.request(self._rendered(output, question), stage=STAGE, repeat=question.turn)
        return request.replace(reply_schema=reply_schema(self.options.judge_mode.reply_type(question.rules)))

    def _sees_input(self, rule: Rule) -> bool:
        return self.options.judge_mode.shows_inputs and (self.options.sees_input or rule.needs == "input")

    @property
    def _role_model(self) -> RoleModel:
        needs_logprobs = self.options.confidence and not self.role_model.defaults.logprobs
        return (
            replace(self.role_model, defaults=self.role_model.defaults.replace(logprobs=True))
            if needs_logprobs
            else self.role_model
        )

    async def _findings(self, output: Output, question: Question, *, again: bool = True) -> dict[str, JudgeFinding]:
        """What the judge says about each rule; why it says nothing where no usable reply came.

        A reply that is cut off or in another form is asked for once more (``again``) in parts: what can be read of it
        stands.
        """
        try:
            return await self._asked(output, question)
        except ModelError as error:
            findings = {
                rule.id: JudgeFinding("unscored", str(error), code=f"judge-{error.reason}") for rule in question.rules
            }
            if not again or type(error) not in (MalformedReply, TruncatedReply):
                return findings
            readable = self.options.judge_mode.readable(error.reply or "", question.rules)
        for part in _smaller(question, readable):
            findings |= _asked_before(await self._findings(output, part, again=False))
        return findings | dict(readable)

    async def _asked(self, output: Output, question: Question) -> dict[str, JudgeFinding]:
        mode, rules = self.options.judge_mode, question.rules
        reply = await self._role_model.ask(
            self._rendered(output, question), mode.reply_type(rules), stage=STAGE, repeat=question.turn
        )
        findings = mode.findings(reply.value, rules)
        shares = confidences(reply.completion, mode.labels)
        has_shares = len(shares) == len(rules)
        return {
            rule.id: replace(findings[rule.id], confidence=share if has_shares else None)
            for rule, share in zip_longest(rules, shares[: len(rules)])
        }

    def _in_turn(self, turn: int) -> tuple[Rule, ...]:
        start = turn % max(len(self.rules), 1)
        return self.rules[start:] + self.rules[:start]

    def _rendered(self, output: Output, question: Question) -> Rendered:
        mode, examples = self.options.judge_mode, self._examples(question)
        shows_prompt = self.options.sees_prompt or any(map(points_into_prompt, question.rules))
        return render(
            mode.examples_template if examples else mode.template,
            output=output.text or "",
            inputs=question.inputs,
            instructions=self.options.instructions,
            wording=question.turn % 2,
            **mode.shows(Material(self.prompt, self.spec, question.rules, question.inputs, shows_prompt)),
            broken=[one for one in examples if one.is_broken],
            kept=[one for one in examples if not one.is_broken],
        )

    def _examples(self, question: Question) -> list[JudgeExample]:
        """The examples of the rules that are asked about, with their inputs where the judge sees those."""
        if not self.options.judge_mode.examples_template:
            return []
        rule_ids = {rule.id for rule in question.rules}
        examples = [one for one in self.examples if one.rule in rule_ids]
        return examples if question.inputs else [replace(one, inputs="") for one in examples]

    def _verdict(self, output: Output, turn: int) -> Callable[[str, JudgeFinding], Verdict]:
        def verdict(rule: str, finding: JudgeFinding) -> Verdict:
            return Verdict.of(
                output.key,
                rule,
                finding.status,
                self.source,
                reason=finding.reason.strip(),
                unscored=finding.code,
                fingerprint=self.fingerprint(),
                confidence=finding.confidence,
                turn=turn,
            )

        return verdict

    def fingerprint(self) -> str:
        """Hash of all that shapes its verdicts: the template, who answers, its settings, the rules, how they are put to
        it, and the graded outputs that it is shown."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        mode = self.options.judge_mode
        rules = [rule.promised() for rule in self.rules if rule not in mode.own_rules]
        who = [*self.role_model.identity, self.role_model.defaults.to_dict()]
        parts = [fingerprint(mode.template), who, asdict(self.options), self.spec.intent, rules]
        rule_ids = {rule.id for rule in self.rules}
        examples = [asdict(one) for one in self.examples if one.rule in rule_ids]
        if examples and mode.examples_template:
            parts += [fingerprint(mode.examples_template), examples]
        return digest(parts, 16)


def _asked_before(findings: Mapping[str, JudgeFinding]) -> dict[str, JudgeFinding]:
    """The findings about an output of which the judge was asked at least something: what the end of the run kept from
    being asked as well is open."""
    return {rule: replace(one, code=CUT.get(one.code or "", one.code)) for rule, one in findings.items()}


def _smaller(question: Question, readable: Collection[str]) -> list[Question]:
    """What is left to ask after a reply that could not be used: the rules that it does not decide, else two halves."""
    left = tuple(rule for rule in question.rules if rule.id not in readable)
    if readable or len(left) < FEWEST_TO_HALVE:
        return [replace(question, rules=left)] if readable and left else []
    middle = len(left) // 2
    return [replace(question, rules=part) for part in (left[:middle], left[middle:])]


_FAMILIES = {
    "OpenAI": r"\b(?:gpt|chatgpt|o[134](?:-mini|-pro)?|davinci|openai)\b",
    "Anthropic": r"\b(?:claude|anthropic)\b",
    "Google": r"\b(?:gemini|gemma\d*|palm|google)\b",
    "Meta": r"\b(?:llama[\d.]*|codellama|meta)\b",
    "Mistral": r"\b(?:mistral|mixtral|ministral|codestral|magistral)\b",
    "Qwen": r"\b(?:qwen[\d.]*|qwq)\b",
    "DeepSeek": r"\bdeepseek\b",
    "Microsoft": r"\b(?:phi[\d.]*|microsoft)\b",
    "Cohere": r"\b(?:command|cohere|aya)\b",
    "xAI": r"\b(?:grok|xai)\b",
    "SmolLM": r"\bsmollm\d*\b",
}
_COMPILED = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in _FAMILIES.items()}


def family(model: str) -> str:
    """The vendor of a model by its name, else the name itself without provider, tag and parameters.

    ``openrouter/meta-llama/llama-3.1-8b`` is Meta's, whoever serves it; an unknown ``my-model:7b`` is ``my-model``.
    """
    route = model.partition("?")[0]
    base_name = route.rsplit("/", 1)[-1]
    vendor_route = route if not route.startswith("openai/") else ""  # "openai/" also routes to any compatible server
    for text in (base_name, vendor_route):
        for name, pattern in _COMPILED.items():
            if pattern.search(text):
                return name
    return base_name.partition(":")[0].casefold()


def self_preference_warnings(
    judges: Sequence[str],
    models: Sequence[str],
    author: str | None = None,
    *,
    named: Mapping[str, str] = MappingProxyType({}),
) -> list[str]:
    """A sentence for each judge that comes from the same vendor as a model under test or as the author."""

    def vendor(label: str) -> str:
        return family(named.get(label, label))

    warnings = []
    for judge in judges:
        same = [model for model in models if vendor(model) == vendor(judge)]
        if same:
            warnings.append(_may_favour(judge, same, vendor(judge)))
        if author and vendor(author) == vendor(judge):
            warnings.append(
                stored(
                    "the judge {judge} comes from the same vendor as the author {author} ({vendor})",
                    judge=judge,
                    author=author,
                    vendor=vendor(judge),
                )
            )
    return warnings


def _may_favour(judge: str, models: Sequence[str], vendor: str) -> str:
    values = {"judge": judge, "models": ", ".join(models), "vendor": vendor}
    if len(models) == 1:
        return stored(
            "the judge {judge} comes from the same vendor as {models} ({vendor}) and may favour its outputs; use a "
            "judge from another vendor, or pass --allow-self-judging",
            **values,
        )
    return stored(
        "the judge {judge} comes from the same vendor as {models} ({vendor}) and may favour their outputs; use a "
        "judge from another vendor, or pass --allow-self-judging",
        **values,
    )
