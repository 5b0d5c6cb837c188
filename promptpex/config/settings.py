"""All settings with their types, bounds and defaults."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from promptpex.config.setting_types import (
    Effort,
    EngineName,
    JudgeMode,
    MetricNames,
    ModelName,
    ModelNames,
    OpenShare,
    PathText,
    Prices,
    ReportLanguage,
    ScenarioSetting,
    Share,
    Weights,
)
from promptpex.core import store_address, translation
from promptpex.core.records import Match, Record
from promptpex.judging import modes
from promptpex.llm.named_models import NamedModel
from promptpex.llm.pacing import CALL_DEADLINE_S, CONCURRENCY, DRAIN_S, MAX_ATTEMPTS

_SHAPING = (
    "temperature", "max_tokens", "seed", "repeats", "judge_mode", "judge_sees_input", "judge_sees_prompt", "judge_all",
    "judge_repeat", "judge_confidence", "quorum", "instructions",
)  # fmt: skip
_DROPPING = ("drop_worse", "confidence", "weights")
"""They decide what is asked where models may be dropped, and nothing elsewhere."""


class Settings(Record):
    """All settings, resolved. Names are those of the flags, the file's keys and the environment's variables.

    In a file ``named_models`` are the tables ``[models.NAME]``, and ``under_test`` among them lists the models under
    test. Paths are relative to the file and stay inside its folder; by default ``results`` and ``store`` are beside
    it, or at the top of the prompt's project.
    """

    models: ModelNames = Field(
        default=(),
        description="Models under test.",
        examples=[["gpt-4o-mini", "llama3.2:1b"], "gpt-4o-mini,llama3.2:1b"],
    )
    author: ModelName | None = Field(
        default=None, description="The model that writes specs and cases.", examples=["gpt-4o"]
    )
    judge: ModelNames = Field(
        default=(),
        description="The models that judge what no check decides, or none: checks alone.",
        examples=[["gpt-4o"], "none"],
    )
    named_models: dict[str, NamedModel] = Field(
        default_factory=dict,
        description="Models by names of your own, each a table [models.NAME].",
        examples=[{"small": {"model": "openai/x", "temperature": 0}}],
    )
    api_base: str | None = Field(
        default=None, description="The base URL of an OpenAI-compatible server.", examples=["http://127.0.0.1:8080/v1"]
    )
    temperature: float | None = Field(
        default=None,
        ge=0,
        description="The temperature of models under test; left out: the default of each provider.",
        examples=[0.7],
    )
    max_tokens: int = Field(
        default=1024, ge=1, description="The longest answer of models under test, in tokens.", examples=[512]
    )
    seed: int = Field(
        default=0,
        description="The seed of all random choices, here and at providers that take one.",
        examples=[7],
    )
    repeats: int = Field(default=1, ge=1, description="How many times each case is asked.", examples=[3])
    concurrency: int = Field(
        default=CONCURRENCY, ge=1, description="The most concurrent requests to one provider.", examples=[16]
    )
    rpm: int | None = Field(
        default=None,
        ge=1,
        description="The most requests per minute to one provider; left out: as many as it accepts.",
        examples=[500],
    )
    tpm: int | None = Field(
        default=None,
        ge=1,
        description="The most tokens per minute to one provider; left out: as many as it accepts.",
        examples=[200000],
    )
    timeout: float = Field(
        default=CALL_DEADLINE_S,
        gt=0,
        description="The time limit of one request in seconds, retries included.",
        examples=[60],
    )
    deadline: float | None = Field(
        default=None,
        gt=0,
        description="The time limit of the whole run in seconds. Nothing is sent after it; what was sent is waited "
        f"for, up to {DRAIN_S:g} s more.",
        examples=[600],
    )
    max_attempts: int = Field(
        default=MAX_ATTEMPTS, ge=1, description="How many times a request is tried.", examples=[3]
    )
    max_cost: float | None = Field(
        default=None,
        ge=0,
        description="The budget of a run in US dollars, authors and judges included.",
        examples=[1.5],
    )
    max_requests: int | None = Field(
        default=None,
        ge=0,
        description="The most requests that a run may send, authors and judges included.",
        examples=[200],
    )
    max_total_tokens: int | None = Field(
        default=None,
        ge=0,
        description="The most tokens that a run may take, authors and judges included.",
        examples=[500000],
    )
    engine: EngineName = Field(
        default="local",
        description="Where checks run and matrices are computed: local, on this machine, or ray, on your Ray cluster.",
        examples=["ray"],
    )
    workers: int | None = Field(
        default=None,
        ge=1,
        description="The number of worker processes; left out: one, or on a cluster one per CPU. "
        "In a project's file it needs --trust-settings, as engine does.",
        examples=[4],
    )
    address: str | None = Field(
        default=None,
        min_length=1,
        description="Where the Ray cluster is; left out: as RAY_ADDRESS says, else that of this machine. "
        "In a project's file it needs --trust-settings.",
        examples=["10.0.0.5:6379"],
    )
    results: PathText = Field(
        default="results",
        description="The folder of the runs, relative to the settings file.",
        examples=["out/prompts"],
    )
    store: PathText = Field(
        default=".promptpex/store.db",
        description="Where answers are kept: a file, relative to the settings file, or the address of a "
        f"{store_address.NAMES} server (docs/store.md).",
        examples=[".cache/answers.db"],
    )
    record: PathText | None = Field(
        default=None,
        description="A file to record all answers in, which replay/FILE plays back; relative to the settings file.",
        examples=["recordings/today.jsonl"],
    )
    fresh: bool = Field(
        default=False,
        description="Whether everything is asked again; the new answers replace those in the store.",
        examples=[True],
    )
    prices: Prices = Field(
        default_factory=dict,
        description="US dollars per million tokens by model, over the known prices; each a table [prices.'MODEL'].",
        examples=[{"my/model": {"input": 0.1, "output": 0.4}}],
    )
    judge_mode: JudgeMode = Field(
        default=modes.DEFAULT,
        description="What judges decide on: each rule, or the prompt as a whole.",
        examples=["prompt"],
    )
    judge_sees_input: bool = Field(
        default=False, description="Whether judges are shown the inputs, whatever rule is judged.", examples=[True]
    )
    judge_sees_prompt: bool = Field(
        default=False, description="Whether judges are shown the prompt, whatever rule is judged.", examples=[True]
    )
    judge_all: bool = Field(
        default=False,
        description="Whether judges also decide what checks decide, to see how well the two agree.",
        examples=[True],
    )
    match: Match | None = Field(
        default=None,
        description="How outputs are compared with expected ones, where a case does not say it; left out: as the case "
        "file says.",
        examples=["json", "numeric:1%"],
    )
    metrics: MetricNames = Field(
        default=None,
        description="The metrics next to the prompt that score its outputs, by name; left out: all of them.",
        examples=[["tone"], "none"],
    )
    judge_repeat: int = Field(
        default=1,
        ge=1,
        description="How many times each judge is asked, to see how well it agrees with itself.",
        examples=[3],
    )
    judge_confidence: bool = Field(
        default=False,
        description="Whether judges are asked for log-probabilities, to tell how sure they were.",
        examples=[True],
    )
    quorum: Literal["majority", "unanimous"] = Field(
        default="majority",
        description="What decides of several judges: more than half of those asked, or all of them.",
        examples=["unanimous"],
    )
    min_agreement: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="A judge counts on a rule only if its kappa with people is at least this, by the lower end of its "
        "interval.",
        examples=[0.6],
    )
    judge_examples: int = Field(
        default=0, ge=0, le=8, description="How many graded outputs judges are shown for each rule.", examples=[4]
    )
    effort: Effort | None = Field(
        default=None,
        description="A preset for how much is extracted, generated, repeated and verified, where nothing else says so.",
        examples=["low"],
    )
    max_rules: int = Field(
        default=20, ge=1, description="The most rules that are extracted from a prompt.", examples=[30]
    )
    cases_per_rule: int = Field(default=2, ge=0, description="Cases that are generated for each rule.", examples=[3])
    inverse_cases: int = Field(
        default=1, ge=0, description="Cases that are generated for the inverse of each rule.", examples=[2]
    )
    rules_per_request: int | None = Field(
        default=None,
        ge=1,
        description="Rules that one request for cases covers; left out: 6, or 1 for the embedded model.",
        examples=[1],
    )
    rounds: int = Field(
        default=1,
        ge=0,
        description="How many times unusable cases are replaced by new ones.",
        examples=[2],
    )
    expansion: int = Field(
        default=0,
        ge=0,
        description="How many times generated inputs are lengthened and made more complex.",
        examples=[1],
    )
    validity: bool = Field(
        default=False, description="Whether a model checks that generated inputs are valid.", examples=[True]
    )
    checks: bool = Field(
        default=True, description="Whether the author proposes checks for the rules.", examples=[False]
    )
    verify: bool = Field(
        default=False,
        description="Whether a model is asked if the prompt states a rule, where the words alone do not settle it.",
        examples=[True],
    )
    scenarios: tuple[ScenarioSetting, ...] = Field(
        default=(),
        description="Situations in each of which every rule is tested.",
        examples=[[{"name": "angry customer", "constraints": ["The customer is angry."]}]],
    )
    samples: tuple[object, ...] = Field(
        default=(),
        description="Real inputs that the author is shown as examples, or the CSV, JSONL, JSON and YAML files beside "
        "the prompt that hold them.",
        examples=[["Where is my parcel?", {"file": "inputs.csv"}]],
    )
    samples_shown: int = Field(
        default=5, ge=0, le=50, description="How many samples the author is shown.", examples=[10]
    )
    expected: ModelName | None = Field(
        default=None,
        description="The model whose answers are taken as the expected outputs of generated cases.",
        examples=["gpt-4o"],
    )
    instructions: dict[str, str] = Field(
        default_factory=dict,
        description="Your own instructions to stages, by the name of the stage.",
        examples=[{"rules": "Leave out rules about tone.", "cases": "Write as customers do."}],
    )
    language: str | None = Field(
        default=None,
        description="The language that generated inputs have to be in, a BCP 47 tag; left out: that of the prompt.",
        examples=["vi", "pt-BR"],
    )
    embedded_threads: int | None = Field(
        default=None, ge=1, description="CPU threads of the embedded model; left out: by the machine.", examples=[4]
    )
    embedded_slots: int = Field(
        default=1,
        ge=1,
        description="The number of requests that the embedded model answers concurrently.",
        examples=[2],
    )
    embedded_model: PathText | None = Field(
        default=None, description="The GGUF file of the embedded model.", examples=["models/small.gguf"]
    )
    confidence: OpenShare = Field(
        default=0.95, description="The confidence level of intervals and decisions.", examples=["90%", 0.99]
    )
    tolerance: OpenShare = Field(
        default=0.05,
        description="How much more non-compliance than the best model, or that of against, is accepted; a share.",
        examples=["10%", 0.1],
    )
    against: ModelName | None = Field(
        default=None,
        description="The model that all others are compared with; left out: the best.",
        examples=["gpt-4o-mini"],
    )
    weights: Weights = Field(
        default_factory=dict,
        description="How many times each case counts, by rule and inverse or by the id of a rule.",
        examples=[{"rule": 3, "inverse": 1}, "rule=3,inverse=1"],
    )
    rank_by: str = Field(
        default="non-compliance",
        min_length=1,
        max_length=40,
        description="What models are ranked by: non-compliance, accuracy, corrected (by people's grades), or the "
        "name of a metric.",
        examples=["accuracy"],
    )
    drop_worse: bool = Field(
        default=False,
        description="Whether a model is asked no further once it is shown to be worse than another.",
        examples=[True],
    )
    fail_above: Share | None = Field(
        default=None, description="The non-compliance above which the command exits with 1.", examples=["5%", 0.05]
    )
    allow_missing_models: bool = Field(
        default=False,
        description="Whether a command may exit with 0 though a model gave no usable answer, if another one did.",
        examples=[True],
    )
    allow_self_judging: bool = Field(
        default=False, description="Whether a model may judge its own outputs without a warning.", examples=[True]
    )
    pull: bool = Field(
        default=False,
        description="Whether missing Ollama models are pulled. In a project's file, true needs --trust-settings.",
        examples=[False],
    )
    report_language: ReportLanguage = Field(
        default=translation.ENGLISH,
        description="The language of reports and messages, on pages and in the terminal.",
        examples=["vi"],
    )

    def to_dict(self) -> dict[str, object]:
        return self.model_dump(mode="json")

    def shaping(self) -> dict[str, object]:
        """The settings that shape what is asked or how it is judged: two runs that differ in one are two runs."""
        everything = self.to_dict()
        names = (*_SHAPING, *(_DROPPING if self.drop_worse else ()), *(("match",) if self.match else ()))
        names += ("min_agreement",) if self.min_agreement is not None else ()
        names += ("judge_examples",) if self.judge_examples else ()
        return {name: everything[name] for name in names}
