"""The checks of a spec's rules as one function of an output, for programs: no model is asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from promptpex.assertions import ExpectedOutput, OutputOfCase, check_conditions, check_time
from promptpex.assertions.rule_verdicts import code_verdicts, compiled_rules
from promptpex.core.records import Output, Rule, TokenLogprob, Verdict
from promptpex.judging.verdict_precedence import after_broken, left_open

GIVEN = "given"
"""What the verdicts call the case and the model, which nobody named."""


class RuleChecks:
    """Rules whose checks are made ready once, to be held against many outputs.

    Calling it with an output gives a verdict for each rule that has checks, by its id: as ``promptpex run`` gives it
    where no judge is asked. A condition that does not hold is ``not_concerned``; what cannot be decided is
    ``unscored``, with its reason; so is a rule that its checks pass and decide only in part.

    Args:
        rules: records, or mappings as a spec has them; stale ones are left out.

    Raises:
        CheckError: a check that cannot be used as written.
    """

    def __init__(self, rules: Iterable[Rule | Mapping[str, Any]]) -> None:
        records = [rule if isinstance(rule, Rule) else Rule.model_validate(rule) for rule in rules]
        self.rules = tuple(rule for rule in records if not rule.stale)
        with check_time():
            self._compiled = compiled_rules(self.rules)

    def __call__(
        self,
        output: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        expected: str | None = None,
        also_right: Iterable[str] = (),
        match: str = "normalised",
        prompt: str = "",
        cost_usd: float | None = None,
        latency_ms: float | None = None,
        finish_reason: str | None = None,
        logprobs: Iterable[float] | None = None,
    ) -> dict[str, Verdict]:
        """The verdicts on an output, by the ids of the rules.

        Args:
            output: what a model answered.
            inputs: of its case, for conditions, templates and code.
            expected: the right output, where it is known. also_right: further ones. match: how they are compared with.
            prompt: what the model was sent, for code that looks at it.
            cost_usd: US dollars. latency_ms: milliseconds.
            finish_reason: as the provider gave it.
            logprobs: natural-log probabilities of the tokens.
        """
        tokens = None if logprobs is None else tuple(TokenLogprob(token="", logprob=one) for one in logprobs)
        measured = {"cost_usd": cost_usd, "latency_ms": latency_ms, "finish_reason": finish_reason, "logprobs": tokens}
        one = Output(case=GIVEN, model=GIVEN, text=output, **measured)
        right = None if expected is None else ExpectedOutput(expected, match, tuple(also_right))
        each = OutputOfCase(output=one, inputs=dict(inputs or {}), expected=right, prompt=prompt)
        with check_time():
            unmet = check_conditions(self.rules, [one], lambda _: each.inputs)
            of_code = [verdict for verdict, _ in code_verdicts(self._compiled, [each])]
        checked = left_open(of_code, self.rules, ())
        settled = {verdict.rule: verdict for verdict in (*checked, *unmet)}
        with_checks = [settled[rule.id] for rule in self.rules if rule.checks]
        return {verdict.rule: verdict for verdict in after_broken(self.rules, with_checks)}
