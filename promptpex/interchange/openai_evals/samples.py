"""Samples of openai/evals as requests with their right answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.core.records import Rule, Spec
from promptpex.core.translation import stored
from promptpex.interchange.format import Imported
from promptpex.interchange.notes import Log
from promptpex.interchange.openai_evals.classes import IDEAL, sees_all
from promptpex.interchange.reading.chats import Unfit, messages_of
from promptpex.interchange.reading.exchanges import Exchange
from promptpex.interchange.reading.foreign_rows import json_rows
from promptpex.interchange.reading.foreign_values import At, mapping, named
from promptpex.interchange.reading.inferred_project import assembled

INPUT = "input"
_NAME = "id"


def read_samples(path: Path, log: Log) -> list[Exchange]:
    """The samples of a file; what cannot come over is noted.

    Raises:
        InputError: it cannot be read, or a line is not a JSON object.
    """
    exchanges = []
    for row, at in json_rows(path, "file of samples"):
        sample = mapping(row, at, "a sample")
        try:
            exchanges.append(_sample(sample, at))
        except Unfit as failure:
            log.left_out(at.name, failure.why, at.path, at.line)
    return exchanges


def _sample(sample: object, at: At) -> Exchange:
    assert isinstance(sample, dict)
    if INPUT not in sample:
        raise Unfit(stored("a sample needs an input"))
    name = sample.get(_NAME)
    others = {key: value for key, value in sample.items() if key not in (INPUT, IDEAL) and value is not None}
    return Exchange(
        at,
        messages_of(sample[INPUT]),
        inputs=others,
        name=name if isinstance(name, str) else "",
        expected=_ideals(sample.get(IDEAL)),
    )


def _ideals(value: object) -> tuple[str, ...]:
    """The right answers: a text or a list of texts; of other JSON its text."""
    if value is None:
        return ()
    answers = value if isinstance(value, list) else [value]
    if any(isinstance(answer, list) for answer in answers):
        raise Unfit(stored("ideal must be a string or a list of strings, not {kind}", kind=named(value)))
    return tuple(map(value_text, answers))


def project(
    exchanges: Sequence[Exchange], path: Path, log: Log, rules: Sequence[Rule] = (), match: str | None = None
) -> Imported:
    """The samples as a prompt with cases and these rules; all right answers are an input where a rule looks at them.

    Raises:
        InputError: there are none.
    """
    if sees_all(rules):
        exchanges = [replace(each, inputs={**each.inputs, IDEAL: list(each.expected)}) for each in exchanges]
    return assembled(exchanges, path, log, spec=Spec(rules=tuple(rules)) if rules else None, match=match)
