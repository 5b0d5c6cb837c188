"""Examples: what candidates are tried on, usable outputs of the final version of the prompt (SPADE, section 4.1).

An example is known by its inputs and its text. So outputs that repeat each other are one example, and a label holds in
every run that gives the same text to the same inputs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from promptpex.core.errors import RunError
from promptpex.core.records import Example, OutputKey, Prompt, Run
from promptpex.core.time_allowance import Allowance
from promptpex.core.translation import stored_n
from promptpex.promptfile import RENDERING_SECONDS, sent_text


@dataclass(frozen=True, slots=True)
class RunExamples:
    """The examples that a run gives.

    Attributes:
        examples: each text once per inputs, in the order of the outputs.
        of_output: the id of the example that each usable output is, by the output's key.
        unusable: outputs with an error, which are not examples.
    """

    examples: tuple[Example, ...] = ()
    of_output: Mapping[OutputKey, str] = field(default_factory=dict)
    unusable: int = 0

    def sentence(self) -> str:
        """How many there are, and what outputs of the run are not among them."""
        parts = [stored_n("{count} example", "{count} examples", len(self.examples))]
        repeated = len(self.of_output) - len(self.examples)
        if repeated:
            again = stored_n(
                "{count} output with the same text as another one for the same inputs",
                "{count} outputs with the same text as another one for the same inputs",
                repeated,
            )
            parts.append(again)
        if self.unusable:
            parts.append(
                stored_n("{count} output that cannot be used", "{count} outputs that cannot be used", self.unusable)
            )
        return "; ".join(parts)


def require_final(run: Run, prompt: Prompt) -> None:
    """Refuses a run of another version of the prompt.

    Raises:
        RunError: with what to do.
    """
    if run.prompt.fingerprint != prompt.fingerprint:
        message = (
            f"the run {run.manifest.run} was made with an earlier text of {run.prompt.name}; examples are outputs of "
            "the current version: run the prompt again, or name a run of this version with --run"
        )
        raise RunError(message, path=prompt.path)


def examples_of(run: Run) -> RunExamples:
    """The examples of a run: its outputs without an error, those with the same inputs and text once."""
    inputs = {case.id: case.inputs for case in run.suite.cases}
    usable = [output for output in run.outputs if output.key in run.item_ids]
    times = Counter(run.item_ids.values())
    time = Allowance(RENDERING_SECONDS)
    examples: dict[str, Example] = {}
    for output in usable:
        name = run.item_ids[output.key]
        if name not in examples:
            examples[name] = Example(
                id=name,
                inputs=inputs[output.case],
                prompt=sent_text(run.prompt, inputs[output.case], time),
                output=output.text or "",
                case=output.case,
                model=output.model,
                repeat=output.repeat,
                times=times[name],
                version=run.prompt.fingerprint,
            )
    return RunExamples(tuple(examples.values()), run.item_ids, len(run.outputs) - len(usable))


def merged(kept: Iterable[Example], new: Iterable[Example]) -> tuple[Example, ...]:
    """All examples, each once: what was there stays in its place, and is described as the new one of its id is.

    The label of an earlier table is kept.
    """
    examples = {example.id: example for example in kept}
    for example in new:
        before = examples.get(example.id)
        if before is not None and before.from_table and not example.from_table:
            example = example.replace(label=before.label, label_from=before.label_from, from_table=True)
        examples[example.id] = example
    return tuple(examples.values())


def of_version(examples: Iterable[Example], version: str) -> tuple[Example, ...]:
    """The examples that a choice is made on: those of this version of the prompt, and imported ones."""
    return tuple(example for example in examples if example.version in ("", version))
