"""All settings with their types, bounds and defaults."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, ValidationInfo, field_validator

from promptpex.config.effort import Effort
from promptpex.config.wording import dollars
from promptpex.core import texts
from promptpex.core.records import Match, Record
from promptpex.judging import modes
from promptpex.llm.named_models import NamedModel
from promptpex.llm.pacing import CALL_DEADLINE_S, CONCURRENCY, MAX_ATTEMPTS

_SHAPING = (
    "temperature", "max_tokens", "seed", "repeats", "judge_mode", "judge_sees_input", "judge_sees_prompt", "judge_all",
    "judge_repeat", "judge_confidence", "quorum", "instructions",
)  # fmt: skip
_STOPPING = ("until_decided", "decide_at", "tolerance", "confidence", "weights")
"""They decide what is asked where a run may stop early, and nothing elsewhere."""


class Price(NamedTuple):
    """US dollars per million tokens."""

    input: float
    output: float


class ScenarioSetting(Record):
    """A named set of extra input constraints, and of variables with a fixed value."""

    name: str = Field(min_length=1)
    constraints: tuple[str, ...] = ()
    fixed: dict[str, object] = Field(default_factory=dict)


class Settings(Record):
    """All settings, resolved. Names are those of the flags, the file's keys and the environment's variables.

    Attributes:
        models: models under test. author: writes specs and cases. judge: grade what no check decides.
        named_models: models by names of the user's own; in a file the tables ``[models.NAME]``, beside whose names
            ``under_test`` lists the models under test.
        api_base: base URL of an OpenAI-compatible server.
        temperature, max_tokens, seed: of requests to models under test.
        repeats: times each case is asked.
        concurrency, rpm, tpm: requests in flight, requests and tokens a minute, for one provider.
        timeout, deadline: seconds for a call with its retries, and for the run.
        max_attempts: times a request is tried.
        max_cost, max_requests, max_total_tokens: the run's budget, authors and judges included.
        results, store, record: the folder of the runs, the response store, a file to record all replies in. As a
            settings file has them they are relative to it and inside its folder; by default the first two are beside
            it, or at the top of the prompt's project.
        fresh: ask everything again; the answers take the place of those in the store.
        prices: US dollars per million tokens, per model, over the known ones.
        judge_mode: what judges decide on, by the name of the mode: ``rules``, each on its own; ``prompt``, as a whole.
        judge_sees_input, judge_sees_prompt: show the judge the inputs, and the prompt, whatever rule is judged.
        judge_all: judge also what code decides.
        judge_confidence: ask judges for log-probabilities, to tell how sure they were.
        match: how outputs are compared with expected ones, where a case does not say it; None = as the case file says.
        metrics: which metrics beside the prompt score the outputs, by name; None: all of them.
        judge_repeat: times each judge is asked. quorum: how several judges agree.
        min_agreement: a judge counts on a rule only where its kappa with people is known to be no less.
        judge_examples: graded outputs that judges are shown for each rule.
        effort: preset for what nothing else sets.
        max_rules, cases_per_rule, inverse_cases, rounds, expansion, validity, checks: how much is extracted, generated
            and verified.
        rules_per_request: rules, each with its inverse, that one request for cases covers; None: 6, and 1 where the
            author is the embedded model.
        samples: real inputs given to the author as examples, or the files that hold them; samples_shown: how many.
        expected: reference model that expected outputs are taken from.
        scenarios: each rule is tested in each. instructions: the owner's, by stage.
        language: BCP 47 tag of the language that generated inputs have to be in; None = the prompt's.
        verify: whether a model is asked if the prompt says what a rule says, where the words do not settle it.
        embedded_threads, embedded_slots, embedded_model: CPU threads (None: by the machine), requests side by side, and
            the GGUF file of the embedded model.
        confidence: level of intervals. tolerance: loss against the best, or against the model ``against``, that one is
            ready to accept, as a share.
        weights: how many times each case counts: whole numbers for ``rule`` and ``inverse`` cases, or for a rule's id;
            a case that aims at no rule counts once.
        rank_by: what models are ranked by, ``non-compliance``, ``accuracy`` or the name of a metric.
        until_decided: look at a growing part of the suite, and stop asking a model once its place is settled, or, with
            ``decide_at``, once it is known on which side of that non-compliance it lies.
        fail_over: highest non-compliance before the command exits with 1.
        allow_missing_models: whether a command may exit with 0 when a model gave not one usable answer, if another
            did.
        allow_self_judging: whether a model may judge its own outputs without a warning.
        pull: whether missing Ollama models are pulled.
        report_language: language of what people read of a run, on pages and in the terminal.
    """

    models: tuple[str, ...] = ()
    author: str | None = None
    judge: tuple[str, ...] = ()
    named_models: dict[str, NamedModel] = Field(default_factory=dict)
    api_base: str | None = None
    temperature: float | None = Field(default=None, ge=0)
    max_tokens: int = Field(default=1024, ge=1)
    seed: int = 0
    repeats: int = Field(default=1, ge=1)
    concurrency: int = Field(default=CONCURRENCY, ge=1)
    rpm: int | None = Field(default=None, ge=1)
    tpm: int | None = Field(default=None, ge=1)
    timeout: float = Field(default=CALL_DEADLINE_S, gt=0)
    deadline: float | None = Field(default=None, gt=0)
    max_attempts: int = Field(default=MAX_ATTEMPTS, ge=1)
    max_cost: float | None = Field(default=None, ge=0)
    max_requests: int | None = Field(default=None, ge=0)
    max_total_tokens: int | None = Field(default=None, ge=0)
    results: str = "results"
    store: str = ".promptpex/store.db"
    record: str | None = None
    fresh: bool = False
    prices: dict[str, Price] = Field(default_factory=dict)
    judge_mode: str = modes.DEFAULT
    judge_sees_input: bool = False
    judge_sees_prompt: bool = False
    judge_all: bool = False
    match: Match | None = None
    metrics: tuple[str, ...] | None = None
    judge_repeat: int = Field(default=1, ge=1)
    judge_confidence: bool = False
    quorum: Literal["majority", "unanimous"] = "majority"
    min_agreement: float | None = Field(default=None, ge=0, le=1)
    judge_examples: int = Field(default=0, ge=0, le=8)
    effort: Effort | None = None
    max_rules: int = Field(default=20, ge=1)
    cases_per_rule: int = Field(default=2, ge=0)
    inverse_cases: int = Field(default=1, ge=0)
    rules_per_request: int | None = Field(default=None, ge=1)
    rounds: int = Field(default=1, ge=0)
    expansion: int = Field(default=0, ge=0)
    validity: bool = False
    checks: bool = True
    verify: bool = False
    scenarios: tuple[ScenarioSetting, ...] = ()
    samples: tuple[object, ...] = ()
    samples_shown: int = Field(default=5, ge=0, le=50)
    expected: str | None = None
    instructions: dict[str, str] = Field(default_factory=dict)
    language: str | None = None
    embedded_threads: int | None = Field(default=None, ge=1)
    embedded_slots: int = Field(default=1, ge=1)
    embedded_model: str | None = None
    confidence: float = Field(default=0.95, gt=0, lt=1)
    tolerance: float = Field(default=0.05, gt=0, lt=1)
    against: str | None = None
    weights: dict[str, Annotated[int, Field(ge=0, le=1000)]] = Field(default_factory=dict)
    rank_by: str = Field(default="non-compliance", min_length=1, max_length=40)
    until_decided: bool = False
    decide_at: float | None = Field(default=None, ge=0, le=1)
    fail_over: float | None = Field(default=None, ge=0, le=1)
    allow_missing_models: bool = False
    allow_self_judging: bool = False
    pull: bool = False
    report_language: str = texts.ENGLISH

    @field_validator("report_language")
    @classmethod
    def _report_language(cls, value: str) -> str:
        if value not in texts.languages():
            raise ValueError(f"there is no report language {value!r}; there are {', '.join(texts.languages())}")
        return value

    @field_validator("judge_mode")
    @classmethod
    def _mode(cls, value: str) -> str:
        if value not in modes.names():
            raise ValueError(f"there is no judge mode {value!r}; they are {', '.join(modes.names())}")
        return value

    @field_validator("author", "expected", "against")
    @classmethod
    def _named(cls, value: str | None) -> str | None:
        if value is not None and not value.strip():
            raise ValueError("it names no model")
        return value

    @field_validator("models", "judge", mode="before")
    @classmethod
    def _from_one_text(cls, value: object) -> object:
        if isinstance(value, str) and not value.replace(",", "").strip():
            raise ValueError("it names no model")
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("metrics", mode="before")
    @classmethod
    def _metric_names(cls, value: object) -> object:
        """``none`` is not one of them."""
        names = [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value
        return () if names == ["none"] else names

    @field_validator("record", "embedded_model", "results", "store", mode="before")
    @classmethod
    def _from_path(cls, value: object) -> object:
        return str(value) if isinstance(value, Path) else value

    @field_validator("tolerance", "decide_at", "confidence", "fail_over", mode="before")
    @classmethod
    def _from_percent(cls, value: object, info: ValidationInfo) -> object:
        """``5%`` is 0.05."""
        share: object = value
        if isinstance(value, str) and value.strip():
            number = re.fullmatch(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*(%?)\s*", value)
            share = float(number[1]) / (100 if number[2] else 1) if number else -1.0
        if isinstance(share, int | float) and not 0 <= share <= 1:
            example = "95% or 0.95" if info.field_name == "confidence" else "10% or 0.1"
            raise ValueError(f"{value!r} is not a share: write {example}")
        return share

    @field_validator("weights", mode="before")
    @classmethod
    def _weights(cls, value: object) -> object:
        """``rule=3,inverse=1`` as a table."""
        if not isinstance(value, str):
            return value
        pairs = [part.rpartition("=") for part in value.split(",") if part.strip()]
        if not all(name.strip() and times.strip().isdecimal() for name, _, times in pairs):
            raise ValueError("weights are whole numbers by kind or rule, such as rule=3,inverse=1")
        return {name.strip(): int(times) for name, _, times in pairs}

    @field_validator("prices", mode="before")
    @classmethod
    def _prices(cls, value: object) -> object:
        if not isinstance(value, Mapping):
            return value
        return {name: Price(*dollars(name, price)) for name, price in value.items()}

    def to_dict(self) -> dict[str, object]:
        """All settings as JSON-ready data, those at their default too: a manifest leaves nothing to guess."""
        return self.model_dump(mode="json")

    def shaping(self) -> dict[str, object]:
        """The settings that shape what is asked or how it is judged: two runs that differ in one are two runs."""
        everything = self.to_dict()
        names = (*_SHAPING, *(_STOPPING if self.until_decided else ()), *(("match",) if self.match else ()))
        names += ("min_agreement",) if self.min_agreement is not None else ()
        names += ("judge_examples",) if self.judge_examples else ()
        return {name: everything[name] for name in names}
