"""How much there is to do, as far as it is known before anything is asked: what estimates are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptpex.config import Settings


@dataclass(frozen=True, slots=True)
class Workload:
    """How much there is to do, as far as it is known before anything is asked.

    Attributes:
        settings: the resolved settings.
        prompt_tokens: tokens of the prompt.
        variables: input variables of the prompt.
        rules: rules of the spec, or a guess.
        case_requests: requests for new cases.
        case_tokens: tokens of such a request, where it can be rendered already; 0 = unknown.
        new_cases: cases that will be made. rated: cases that will be rated.
        cases: usable cases that will be run.
        asked_cases: those of them whose outputs a judge compares with the expected one.
        models: models under test.
        metrics: metrics that a judge scores outputs by.
        questions: those that checks put about one output.
        criteria: criteria that candidates will be asked for, several of them by one request.
        criteria_alone: criteria that have a request for candidates of their own, with graded outputs.
        requests: those of stages that only their command can count, by stage.
        known: whether these counts are known; False = partly guessed, since an earlier stage has not run yet.
    """

    settings: Settings
    prompt_tokens: int = 0
    variables: int = 0
    rules: int = 0
    case_requests: int = 0
    case_tokens: int = 0
    new_cases: int = 0
    rated: int = 0
    cases: int = 0
    asked_cases: int = 0
    models: int = 0
    metrics: int = 0
    questions: int = 0
    criteria: int = 0
    criteria_alone: int = 0
    requests: Mapping[str, int] = field(default_factory=dict)
    known: bool = True

    @property
    def variants(self) -> int:
        """Longer variants of the new cases."""
        return self.new_cases * self.settings.expansion

    @property
    def outputs(self) -> int:
        """Outputs of one model under test."""
        return self.cases * self.settings.repeats
