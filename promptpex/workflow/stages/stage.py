"""A stage: everything about one kind of request to a model but the function that sends it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from promptpex.core.records import Completion, Request

if TYPE_CHECKING:
    from promptpex.config import Settings
    from promptpex.workflow.stages.run import PlannedRun


TYPICAL_ANSWER = 200
"""Tokens of an answer of unknown length; the stored answers of the same model are a better guess. A rough figure."""

Role = Literal["author", "checker", "judge", "answerer", "model", "reference"]
"""Who is asked. ``checker``: the first judge that is named, else the author; ``answerer``: the first judge;
``reference``: setting ``expected``."""


@dataclass(frozen=True, slots=True)
class ModelRequests:
    """The requests of a stage to one model in a run whose cases are known.

    Attributes:
        label: the model's.
        requests: all of them.
        stored: the replies that the store holds, by the ids of their requests.
        further: requests at most that come on top, of the same length, and are not known before others are answered.
    """

    label: str
    requests: Sequence[Request]
    stored: Mapping[str, Completion]
    further: int = 0


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage: one kind of request to a model.

    Attributes:
        name: in requests, events, the store, estimates and ``instructions``.
        label: what progress calls it; a ``Key`` where it is to be shown in the reader's language.
        part: the part of the work it belongs to, by the name of the command that asks for it.
        role: who is asked.
        requests: how many requests one model is sent.
        request_tokens, answer_tokens: tokens of one request and of its answer, roughly.
        templates: the templates it renders, such as ``specs/intent``. A stage with a template takes instructions.
        settings: the settings that decide whether and how it asks.
        exact: whether ``requests`` is right where the workload is known, not an upper bound.
        refusals: whether a reply that can be read may be refused, and is then asked for once more.
        planned: the very requests of a run whose cases are known, by model; without it they are counted as in any
            other part, by ``requests``.
    """

    name: str
    label: str
    part: str
    role: Role
    requests: Callable[[Workload], int]
    request_tokens: Callable[[Workload], int]
    answer_tokens: Callable[[Workload], int] = lambda work: TYPICAL_ANSWER
    templates: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    exact: bool = False
    refusals: bool = False
    planned: Callable[[PlannedRun], Awaitable[Sequence[ModelRequests]]] | None = None

    @property
    def most_again(self) -> int:
        """How many requests more there are for each, if no reply can be used as it first comes: one where a reply has
        a form to keep, and one where it may be refused. Replies that are then asked for in parts come on top."""
        return bool(self.templates) + self.refusals


def beyond_prompt(tokens: int) -> Callable[[Workload], int]:
    """The tokens of a request that holds the prompt and so many more: about the length of the stage's template."""
    return lambda work: work.prompt_tokens + tokens


def counted(stage: str) -> Callable[[Workload], int]:
    """The requests that only the command itself can count: as the workload says."""
    return lambda work: work.requests.get(stage, 0)


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
        return self.new_cases * self.settings.expansion

    @property
    def outputs(self) -> int:
        return self.cases * self.settings.repeats
