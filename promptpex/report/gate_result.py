"""What a gate decided, with the failures that it rests on, for those who print it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from promptpex.codecs.files.ordinary_files import read_bytes
from promptpex.codecs.text.comparing import LONGEST_SEARCHED, line_of
from promptpex.core.errors import InputError
from promptpex.core.records import Manifest, PartOfSuite
from promptpex.core.translation import from_data, tr
from promptpex.report.failures import FAILING
from promptpex.report.gate import Decided
from promptpex.report.percentages import listed
from promptpex.report.regression import Regressions
from promptpex.report.summary import Summary, unread
from promptpex.report.translated_values import reason_of

MOST_FAILURES = 10
"""Rules that are named: GitHub shows ten annotations of a step."""


Outcome = Literal["fail", "cannot tell", "pass"]
"""What a gate decides, the gravest first."""


@dataclass(frozen=True, slots=True)
class GatedModel:
    """A model at the gate.

    Attributes:
        exceeded: the limits that it exceeds, in words.
        untold: what the data cannot tell of it, in words.
        figures: what it passes by, in words, where it has neither.
    """

    label: str
    exceeded: tuple[str, ...]
    untold: tuple[str, ...]
    figures: str

    @property
    def outcome(self) -> Outcome:
        """Whether it passes."""
        return "fail" if self.exceeded else "cannot tell" if self.untold else "pass"

    @property
    def words(self) -> str:
        """Why."""
        return "; ".join(self.exceeded or self.untold) or self.figures


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """A rule that models break that do not pass.

    Attributes:
        rule, text: its id and its words.
        broken, outputs: how many outputs of these models break it, and how many could be scored by it.
        model, case, reason: one of those that break it.
        line: of the prompt's file, where the words stand that the rule rests on; None where they are not found.
    """

    rule: str
    text: str
    broken: int
    outputs: int
    model: str
    case: str
    reason: str
    line: int | None


@dataclass(frozen=True, slots=True)
class GateResult:
    """What a gate decided about a run.

    Attributes:
        prompt: its name. run: its id.
        file: the prompt's file, as far as it is known.
        subset: of the suite that the run is of; None: the whole suite.
        models: the gravest outcomes first.
        notes: what qualifies the decision, sentence by sentence: a run of a part, or one that is not complete.
        rules: broken by models that do not pass, the most frequently broken first.
        baseline: how the run compares with a baseline, where it was held against one.
    """

    prompt: str
    run: str
    file: Path | None
    subset: PartOfSuite | None
    notes: tuple[str, ...]
    models: tuple[GatedModel, ...]
    rules: tuple[BrokenRule, ...]
    baseline: Regressions | None = None

    @property
    def failing(self) -> list[GatedModel]:
        """The models that do not pass."""
        return [model for model in self.models if model.outcome == "fail"]

    @property
    def outcome(self) -> Outcome:
        """The gravest outcome of its models."""
        return gravest(model.outcome for model in self.models)


def gravest(outcomes: Iterable[Outcome]) -> Outcome:
    """The gravest of these; ``pass`` of none."""
    return min(outcomes, key=get_args(Outcome).index, default="pass")


def gate_result(
    summary: Summary,
    decisions: Mapping[str, Decided],
    figures: Mapping[str, str],
    file: Path | None,
    baseline: Regressions | None = None,
) -> GateResult:
    """What was decided, with the rules that the failing models break most.

    Args:
        decisions: what the limits say of each model.
        figures: per model what it passes by, in words.
        file: the prompt's file as it is now.
        baseline: how the run compares with a baseline.
    """
    manifest = summary.run.manifest
    models = [GatedModel(label, one.exceeded, one.untold, figures[label]) for label, one in decisions.items()]
    models.sort(key=lambda model: get_args(Outcome).index(model.outcome))
    failing = [model.label for model in models if model.outcome == "fail"]
    rules = tuple(_broken_rules(summary, failing, file)) if failing else ()
    of_baseline = (tr("Against the baseline: {note}.", note=note) for note in (baseline.notes if baseline else ()))
    notes = (*unread(summary.details), *_notes(manifest), *of_baseline, *(baseline.noise_notes if baseline else ()))
    return GateResult(manifest.prompt, manifest.run, file, manifest.subset, notes, tuple(models), rules, baseline)


def unknown_models_message(models: Sequence[str]) -> str:
    """That limits are for models that a run does not have; empty where there are none."""
    return tr("Limits for models that this run does not have: {models}.", models=listed(models)) if models else ""


def without_metric(metrics: Sequence[str]) -> str:
    """That limits are on metrics that a run does not have; empty where there are none."""
    if not metrics:
        return ""
    return tr("Limits on metrics that this run does not have: {metrics}.", metrics=listed(metrics))


def with_note(result: GateResult, note: str) -> GateResult:
    """The result with one more note; as it is where the note is empty."""
    return replace(result, notes=(*result.notes, note)) if note else result


def told_apart(results: Sequence[tuple[str, GateResult]]) -> list[GateResult]:
    """The results of several prompts, where several have one name under other names: the prompt's file, or its run.

    Args:
        results: each with its prompt's file as it was named; empty where the run itself was named.
    """
    count = Counter(result.prompt for _, result in results)
    return [
        replace(result, prompt=file or f"{result.prompt}/{result.run}") if count[result.prompt] > 1 else result
        for file, result in results
    ]


def _notes(manifest: Manifest) -> Iterator[str]:
    if manifest.subset:
        yield tr("This run has only a part of the suite, {part}.", part=manifest.subset.in_words)
    if manifest.partial:
        yield tr(
            "This run is not complete ({reason}): the same `promptpex run` continues it.",
            reason=from_data(manifest.partial),
        )


def _broken_rules(summary: Summary, failing: Sequence[str], file: Path | None) -> list[BrokenRule]:
    totals: dict[str, tuple[int, int]] = {}
    for row in summary.rule_rows:
        if row["model"] in failing:
            broken, outputs = totals.get(row["rule"], (0, 0))
            of = row["usable"] if row["at_least"] else row["scored"]
            totals[row["rule"]] = (broken + row["broken"], outputs + of)
    worst = sorted((rule for rule, (broken, _) in totals.items() if broken), key=lambda rule: -totals[rule][0])
    examples = _examples(summary, failing)
    texts = {rule.id: (rule.rule, rule.source) for rule in summary.run.spec.rules}
    of_mode = {rule: (text, None) for rule, text in summary.run.manifest.mode_rules.items()}
    prompt, rules_shown = _text_of(file), []
    for rule in worst[:MOST_FAILURES]:
        words, source = {**texts, **of_mode}.get(rule, ("", None))
        line = line_of(source, prompt) if source and prompt else None
        rules_shown.append(BrokenRule(rule, words, *totals[rule], *examples[rule], line))
    return rules_shown


def _examples(summary: Summary, failing: Sequence[str]) -> dict[str, tuple[str, str, str]]:
    """For each rule an output of the failing models that breaks it: model, case and reason."""
    database = summary.made.database
    database.need("ruled", "ruled_rules")
    with database.chosen(failing) as chosen:
        rows = database.query(
            f"SELECT v.rule, m.name, c.id, v.reason, v.source, min(v.place) {FAILING} "
            f"AND m.name IN {chosen} GROUP BY v.rule"
        )
        return {
            rule: (model, case, reason_of(reason or "", source or "")) for rule, model, case, reason, source, _ in rows
        }


def _text_of(file: Path | None) -> str | None:
    if file is None:
        return None
    try:
        data = read_bytes(file, error=InputError, what="prompt file", limit=LONGEST_SEARCHED * 4)
    except InputError:
        return None
    return data.decode("utf-8", "replace")
