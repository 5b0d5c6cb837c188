"""Outputs of production put up for grading: a random sample of each day of a log, kept in the synthesis folder."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from promptpex.assertions.rows_to_check import TIMES, CheckRow
from promptpex.codecs import jsonl
from promptpex.codecs.text.wording import named
from promptpex.core.errors import CheckError
from promptpex.core.records import Example, Prompt, output_key
from promptpex.core.time_allowance import Allowance
from promptpex.core.translation import tr, tr_n
from promptpex.grading.random_sample import SEED, number
from promptpex.promptfile import RENDERING_SECONDS, read, sent_text, sibling
from promptpex.specs.file import read_spec
from promptpex.synthesis.folder import SynthesisFolder

PER_DAY = 20
MOST_DAYS = 10_000
"""Days of one log: some 27 years."""
LONGEST_EXAMPLE = 2_000_000
"""Characters of an output, of its inputs and of the prompt with them, together; longer ones are not put up."""
_MILLISECONDS = 100_000_000_000
"""A number above it counts milliseconds from 1970, not seconds: as seconds it would be in the year 5138."""


@dataclass(frozen=True, slots=True)
class PutUp:
    """What was put up."""

    new: int
    known: int
    rows: int
    days: int
    unusable: int
    undated: int
    lacking: int = 0
    variables: tuple[str, ...] = ()

    @property
    def notice(self) -> str:
        """What graders will miss, in words; empty where no row lacks a variable."""
        if not self.lacking:
            return ""
        if len(self.variables) == 1:
            return tr_n(
                "{count} row lacks the prompt's variable {names}; people will grade such outputs without knowing it",
                "{count} rows lack the prompt's variable {names}; people will grade such outputs without knowing it",
                self.lacking,
                names=self.variables[0],
            )
        return tr_n(
            "{count} row lacks variables of the prompt: {names}; people will grade such outputs without knowing them",
            "{count} rows lack variables of the prompt: {names}; people will grade such outputs without knowing them",
            self.lacking,
            names=named(self.variables),
        )

    def sentence(self) -> str:
        """In words, with what was left out."""
        parts = [
            tr(
                "{number} of {outputs} of {days} put up for grading",
                number=self.new,
                outputs=tr_n("{count} output", "{count} outputs", self.rows),
                days=tr_n("{count} day", "{count} days", self.days),
            )
        ]
        parts += [tr("{count} put up before", count=self.known)] if self.known else []
        parts += [tr("{count} without a usable output", count=self.unusable)] if self.unusable else []
        parts += [tr("{count} with a time that cannot be read", count=self.undated)] if self.undated else []
        return ", ".join(parts)


@dataclass
class ProductionSample:
    """The sample of a log, taken while its rows are read.

    Each output of a day has a random number that never changes, a digest of the day, its inputs and its text; the day's
    sample are those of the least numbers (Ohlsson 1995). So reading the same log again takes the same outputs, and a
    log that has grown since adds those that its sample has now besides.

    Args:
        prompt: whose outputs they are; its variables name the inputs.
        per_day: outputs of each day.
        today: the day of rows without a time.
    """

    prompt: Prompt
    per_day: int
    today: str
    _days: defaultdict[str, dict[str, tuple[float, Example]]] = field(default_factory=lambda: defaultdict(dict))
    _counts: Counter[str] = field(default_factory=Counter)
    _missing: set[str] = field(default_factory=set)
    _time: Allowance = field(default_factory=lambda: Allowance(RENDERING_SECONDS))

    def watch(self, rows: Iterable[CheckRow], *, only_checked: bool) -> Iterator[CheckRow]:
        """The same rows, after each has been looked at."""
        for row in rows:
            self._look_at(row)
            if row.asserts is not None or not only_checked:
                yield row

    def put_up(self, folder: SynthesisFolder, file: Path) -> PutUp:
        """Adds the sample to the folder's examples; what is there already stays as it is."""
        sampled = {
            name: example.replace(put_up=day, prompt=example.prompt or self._sent(example))
            for day, day_sample in sorted(self._days.items())
            for name, (_, example) in day_sample.items()
        }
        with folder.alone(file):
            known_count = _add(sampled, folder)
        rows, unusable, undated = (self._counts[name] for name in ("rows", "unusable", "undated"))
        missing = tuple(name for name in self.prompt.variables if name in self._missing)
        lacking = self._counts["lacking"]
        return PutUp(
            len(sampled) - known_count, known_count, rows, len(self._days), unusable, undated, lacking, missing
        )

    def _look_at(self, row: CheckRow) -> None:
        example = self._example(row)
        if example is None:
            self._counts["unusable"] += 1
            return
        day = _day(self._time_of(row), self.today)
        if day is None:
            self._counts["undated"] += 1
            return
        self._counts["rows"] += 1
        missing = [name for name in self.prompt.variables if name not in row.vars]
        self._missing.update(missing)
        self._counts["lacking"] += bool(missing)
        if day not in self._days and len(self._days) == MOST_DAYS:
            raise CheckError(f"the log has more than {MOST_DAYS:,} days; split it", line=row.line)
        self._keep(self._days[day], day, example)

    def _keep(self, kept: dict[str, tuple[float, Example]], day: str, example: Example) -> None:
        """Keeps the outputs of the least numbers."""
        if example.id in kept:
            rank, first = kept[example.id]
            kept[example.id] = rank, first.replace(times=first.times + 1)
            return
        kept[example.id] = number(example.id, SEED, f"production {day}"), example
        if len(kept) > self.per_day:
            del kept[max(kept, key=lambda name: kept[name][0])]

    def _example(self, row: CheckRow) -> Example | None:
        """The output of a row; None where it has none that can be used."""
        if row.problem is not None or row.output is None or row.length > LONGEST_EXAMPLE:
            return None
        variables = row.vars
        if all(name in variables for name in self.prompt.variables):
            variables = {name: variables[name] for name in self.prompt.variables}
        inputs = {name: value for name, value in variables.items() if not self._is_time(name)}
        sent = row.measured.get("prompt")
        try:
            jsonl.dumps(inputs)
            name = output_key(inputs, row.text)
        except (ValueError, RecursionError):
            return None
        return Example(id=name, inputs=inputs, prompt=sent if isinstance(sent, str) else "", output=row.text)

    def _sent(self, example: Example) -> str:
        if not all(name in example.inputs for name in self.prompt.variables):
            return ""
        return sent_text(self.prompt, example.inputs, self._time)

    def _time_of(self, row: CheckRow) -> object:
        if row.time is not None:
            return row.time
        return next((row.vars[name] for name in TIMES if name in row.vars and self._is_time(name)), None)

    def _is_time(self, name: str) -> bool:
        return name in TIMES and name not in self.prompt.variables


def _add(sampled: Mapping[str, Example], folder: SynthesisFolder) -> int:
    """Adds the outputs of a sample to a folder's examples, and gives how many were put up before."""
    examples = {example.id: example for example in folder.read_examples()}
    known_count = sum(name in examples and examples[name].put_up != "" for name in sampled)
    for name, example in sampled.items():
        earlier = examples.get(name)
        if earlier is None or not earlier.put_up:
            examples[name] = example if earlier is None else earlier.replace(put_up=example.put_up)
    if len(sampled) > known_count:
        folder.path.mkdir(parents=True, exist_ok=True)
        folder.write_examples(examples.values())
    return known_count


def production_sample(prompt: Path, per_day: int, now: datetime) -> tuple[ProductionSample, SynthesisFolder]:
    """The sample of a log of this prompt, and the folder that keeps it."""
    folder = SynthesisFolder.of(prompt)
    folder.read_examples()
    return ProductionSample(read(prompt), per_day, now.date().isoformat()), folder


def checks_of_prompt(prompt: Path) -> Path | None:
    """The spec beside a prompt, if it has checks."""
    spec = sibling(prompt, "spec")
    return spec if spec.exists() and any(rule.checks for rule in read_spec(spec).rules) else None


def _day(time: object, today: str) -> str | None:
    """The day of a time, as the log writes it; of numbers, which count from 1970, in UTC. None: it cannot be read."""
    if time is None or time == "":
        return today
    try:
        if isinstance(time, str):
            return _moment(time).date().isoformat()
        if isinstance(time, int | float) and not isinstance(time, bool) and math.isfinite(time):
            return _counted(float(time)).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return None
    return None


def _moment(text: str) -> datetime:
    text = text.strip()
    try:
        return _counted(float(text))
    except ValueError:
        return datetime.fromisoformat(text)


def _counted(number: float) -> datetime:
    return datetime.fromtimestamp(number / 1000 if number > _MILLISECONDS else number, UTC)
