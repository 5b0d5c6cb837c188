"""A run: one execution of a prompt's suite on models, and the manifest that records what it was made from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from promptpex.core.ids import text_digest
from promptpex.core.records._base import Record
from promptpex.core.records.call import Output, OutputKey, Verdict
from promptpex.core.records.case import Suite
from promptpex.core.records.grade import KEY_LENGTH, output_key
from promptpex.core.records.prompt import Prompt
from promptpex.core.records.score import Metric, Score
from promptpex.core.records.spec import Spec
from promptpex.core.records.synthesis import Example
from promptpex.core.translation import from_data, tr

_NUMBER = ((int, float), "a number")
_COUNT = (int, "a whole number")
_COMPUTED_WITH: dict[str, tuple[type | tuple[type, ...], str]] = {
    **dict.fromkeys(("tolerance", "confidence", "min_agreement"), _NUMBER),
    **dict.fromkeys(("repeats", "judge_repeat", "judge_examples"), _COUNT),
    **dict.fromkeys(("against", "judge_mode", "rank_by"), (str, "a text")),
    "weights": (dict, "a mapping"),
}
"""Settings of a run that a report of it computes with: their kinds, and how these are called."""

_FAILED_IN = re.compile(r"(?:^|; )failed or unscored in run ([^;]+)")

RUNNING = "running"
"""``Manifest.partial`` of a run until it has ended."""

KILLED = "killed"
"""``Manifest.partial``, as it is read, of a run that has not ended and that no process writes any more; its file says
``RUNNING``."""


class PartOfSuite(Record):
    """Which part of a suite a run was asked for.

    Attributes:
        words: what was chosen, such as ``rule r3``.
        cases: how many cases that is. of: how many the suite has.
        failed_in: the run in which these cases failed or were unscored, where that is why they were chosen: what comes
            of them shows nothing about a model.
    """

    words: str
    cases: int
    of: int
    failed_in: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _told_by_words(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and "failed_in" not in data and isinstance(data.get("words"), str):
            match = _FAILED_IN.search(data["words"])
            return {**data, "failed_in": match[1]} if match else data
        return data

    @property
    def in_words(self) -> str:
        return tr("{cases} of {of} cases: {words}", cases=self.cases, of=self.of, words=from_data(self.words))


class Manifest(Record):
    """What a run was made from. Equal manifests (``created`` aside) mean equal questions.

    Attributes:
        run: the run's id. Its folder has this name, and ``-2``, ``-3`` and so on behind it where what was made from the
            same was executed again.
        name: the name that people gave the run, if they did.
        prompt, prompt_fingerprint: which prompt, in which wording.
        spec_digest, suite_digest: hashes of the spec and of the suite that were used.
        models: labels, as the user gave them.
        mode_rules: rules that the judge mode adds to those of the spec: their text by id.
        named: what those labels stand for that are names, of models, author and judges: the model with its parameters.
        author, judges: labels; None or empty where the role was not needed or not filled.
        settings: the resolved settings.
        origins: where each setting came from.
        reported: per model label, the ids that the providers returned.
        versions: of promptpex and Python.
        templates: fingerprint of each stage template.
        created: ISO 8601, UTC: the start of the latest execution that sent a request.
        partial: why the run is not complete, where it is not (``running`` until it has ended, ``killed`` where its
            process is gone, ``interrupted``, ``deadline``, ``budget``).
        notices: warnings of the providers, such as a parameter that a model refused and was asked without.
        asked, stored: how many answers of models under test and judges came from providers, and from the store, in
            this execution. The store's may come from anyone who could write to it.
        shown: digests of the texts of the graded outputs that judges were shown.
        looks: in a run that drops what is worse, the ids of the cases that each part of the suite adds.
        subset: the part of the suite that was asked for; None: the whole suite.
    """

    run: str
    name: str | None = None
    prompt: str
    prompt_fingerprint: str
    spec_digest: str
    suite_digest: str
    models: tuple[str, ...]
    named: dict[str, str] = Field(default_factory=dict)
    author: str | None = None
    judges: tuple[str, ...] = ()
    mode_rules: dict[str, str] = Field(default_factory=dict)
    settings: dict[str, Any] = Field(default_factory=dict)
    origins: dict[str, str] = Field(default_factory=dict)
    reported: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    versions: dict[str, str] = Field(default_factory=dict)
    templates: dict[str, str] = Field(default_factory=dict)
    created: str = ""
    partial: str | None = None
    notices: tuple[str, ...] = ()
    asked: int = 0
    stored: int = 0
    shown: tuple[str, ...] = ()
    looks: tuple[tuple[str, ...], ...] = ()
    subset: PartOfSuite | None = None

    @property
    def has_ended(self) -> bool:
        """Whether it came to its end, complete or not; without that it has outputs alone."""
        return self.partial not in (RUNNING, KILLED)

    @property
    def failed_in(self) -> str | None:
        """The run in which the cases of this one failed, where they were chosen by that (``PartOfSuite``)."""
        return None if self.subset is None else self.subset.failed_in

    @property
    def stopped_by_older_rule(self) -> bool:
        return bool(self.looks) and not self.settings.get("drop_worse")

    @property
    def shows_grades(self) -> bool:
        return bool(self.settings.get("judge_examples"))

    def may_have_shown(self, item: Example, needs: Literal["output", "input"]) -> bool:
        """Whether the judges may have been shown what people say of an output by a rule: its inputs are among those
        that models may be shown, or the output alone decides the rule and they were shown its text.
        """
        if not self.shows_grades:
            return False
        return item.is_shown or (needs == "output" and text_digest(item.output, KEY_LENGTH) in self.shown)

    @field_validator("settings")
    @classmethod
    def _readable(cls, settings: dict[str, Any]) -> dict[str, Any]:
        """A manifest may come from anywhere: what reports compute with is of its kind, or the manifest is refused."""
        for name, (kinds, readable_by) in _COMPUTED_WITH.items():
            value = settings.get(name)
            if value is not None and (not isinstance(value, kinds) or isinstance(value, bool)):
                raise ValueError(f"{name} is {value!r:.60}, not {readable_by}")
        weights = settings.get("weights") or {}
        if not all(isinstance(times, int) for times in weights.values()):
            raise ValueError("weights hold something other than whole numbers")
        return settings


class Run(Record):
    """Everything a report needs: the manifest, what was asked, what was answered, and how it was judged and
    scored."""

    manifest: Manifest
    prompt: Prompt
    spec: Spec
    suite: Suite
    metrics: tuple[Metric, ...] = ()
    outputs: tuple[Output, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    scores: tuple[Score, ...] = ()

    @cached_property
    def item_ids(self) -> Mapping[OutputKey, str]:
        """By the key of each usable output its ``output_key``, which grades and examples know it by; not of cases that
        the suite has lost."""
        inputs = {case.id: case.inputs for case in self.suite.cases}
        return {
            output.key: output_key(inputs[output.case], output.text)
            for output in self.outputs
            if output.error is None and output.text is not None and output.case in inputs
        }
