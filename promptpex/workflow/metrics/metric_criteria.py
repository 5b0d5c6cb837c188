"""The criteria of metrics as judges are shown them: with an output and its case filled in, each value fenced."""

from __future__ import annotations

from dataclasses import dataclass, field

from promptpex.codecs.text.inputs_as_text import inputs_text
from promptpex.core.records import Case, Metric, Prompt, Spec
from promptpex.core.time_allowance import Allowance
from promptpex.judging.metric_judge import OUTPUT_FORMAT, shown
from promptpex.promptfile import RENDERING_SECONDS, render
from promptpex.promptfile.metric_files import OTHER_NAMES


def _rendering_time() -> Allowance:
    return Allowance(RENDERING_SECONDS)


@dataclass(frozen=True, slots=True)
class CriteriaTexts:
    """The criteria of metrics for the outputs of one prompt, in one command.

    Attributes:
        shared: what all of them show of the prompt and its spec, fenced, by the names of variables.
        time: what filling in all criteria may take together.
    """

    shared: dict[str, str]
    time: Allowance = field(default_factory=_rendering_time)

    def text(self, metric: Metric, case: Case, output: str) -> str:
        """A metric's criteria with one output and its case filled in.

        Raises:
            PromptFileError: the criteria's template fails on these values, or filling in has taken too long already.
        """
        assert metric.criteria is not None
        own = {"input": inputs_text(case.inputs), "output": output, "expected": case.expected or ""}
        values = {**self.shared, **shown(own), "output_format": OUTPUT_FORMAT[metric.scale]}
        values |= {other: values[name] for other, name in OTHER_NAMES.items()}
        return "\n\n".join(message.content for message in render(metric.criteria, values, self.time))


def criteria_texts(prompt: Prompt, spec: Spec) -> CriteriaTexts:
    """The criteria of metrics for outputs of this prompt, with all rules of the spec that are not stale."""
    constraints = [(name, line) for name, variable in spec.inputs.items() for line in variable.constraints]
    shared = {
        "prompt": prompt.text(),
        "intent": spec.intent,
        "input_spec": "\n".join(f"- {name}: {line}" for name, line in constraints),
        "rules": "\n".join(f"- {rule.rule}" for rule in spec.rules if not rule.stale),
    }
    return CriteriaTexts(shown(shared))
