"""Settings as keyword arguments, with their types."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypedDict

from promptpex.config import Resolved, load
from promptpex.config.setting_types import Effort
from promptpex.core.translation import speak

SettingsTable = Mapping[str, object]
"""An entry such as a table of a settings file."""
Share = float | str
"""A share of 1, such as 0.05 or ``5%``."""


class RunPlaceSettings(TypedDict, total=False):
    """The settings that say where runs are kept.

    ``results`` is their folder; ``config`` names the settings file; ``no_config`` reads none; ``trust_settings`` trusts
    the project's file like arguments; ``report_language`` is that of all texts from then on.
    """

    config: str | Path
    no_config: bool
    trust_settings: bool
    results: str | Path
    report_language: str


class CompareSettings(RunPlaceSettings, total=False):
    """The settings that a comparison of two runs depends on.

    ``confidence`` of the intervals; ``weights`` of the cases, by type or rule; ``rank_by``, what decides whether a
    model is worse.
    """

    confidence: Share
    weights: Mapping[str, int] | str
    rank_by: str


class KeywordSettings(CompareSettings, total=False):
    """The settings of the command line by name, for ``promptpex.run(..., seed=1, max_cost=0.5)``.

    What each means and its default: ``promptpex run --help-all``, under the flag of the same name. One that is left
    out, or None, is as the environment, the settings files and the defaults have it. Models, author and judges are
    arguments of the functions that ask them.
    """

    # models
    named_models: Mapping[str, SettingsTable]
    api_base: str | None
    temperature: float | None
    max_tokens: int
    seed: int
    prices: Mapping[str, tuple[float, float] | Mapping[str, float]]
    embedded_threads: int | None
    embedded_slots: int
    embedded_model: str | Path | None
    pull: bool

    # limits and budget
    concurrency: int
    rpm: int | None
    tpm: int | None
    timeout: float
    deadline: float | None
    max_attempts: int
    max_cost: float | None
    max_requests: int | None
    max_total_tokens: int | None

    # where checks and matrices are worked on
    engine: Literal["local", "ray"]
    workers: int | None
    address: str | None

    # files
    store: str | Path
    record: str | Path | None
    fresh: bool

    # spec and cases
    effort: Effort | None
    max_rules: int
    cases_per_rule: int
    inverse_cases: int
    rules_per_request: int | None
    rounds: int
    expansion: int
    validity: bool
    checks: bool
    verify: bool
    scenarios: Sequence[SettingsTable]
    samples: Sequence[object]
    samples_shown: int
    expected: str | None
    instructions: Mapping[str, str]
    language: str | None

    # runs
    repeats: int
    drop_worse: bool
    fail_above: Share | None
    allow_missing_models: bool

    # judging
    judge_mode: str
    judge_sees_input: bool
    judge_sees_prompt: bool
    judge_all: bool
    judge_repeat: int
    judge_confidence: bool
    quorum: Literal["majority", "unanimous"]
    min_agreement: float | None
    judge_examples: int
    match: str | None
    metrics: Sequence[str] | str | None
    allow_self_judging: bool

    # statistics
    tolerance: Share
    against: str | None


def resolved_settings(given: Mapping[str, object], *, start: Path | None = None) -> Resolved:
    """The settings in force: what was given, over environment and settings files; None is not given.

    Args:
        start: the folder from which a settings file is looked for; by default the working folder.

    Raises:
        ConfigError: an argument that is not a setting, or a value that cannot be used.
    """
    resolved = load(given, start=start or Path.cwd(), env=os.environ, given_as="argument")
    speak(resolved.settings.report_language)
    return resolved
