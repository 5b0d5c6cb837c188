"""Front matter in the words of PromptPex and of GitHub's prompt files, said in ours.

After PromptPex 0.0.18: ``scenarios`` with ``instructions`` and ``parameters``, ``instructions`` under names of its own,
``testSamples``, and inputs whose declaration is a value; ``testData`` is GitHub's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from promptpex.codecs.text.wording import did_you_mean, named
from promptpex.promptfile.front_matter_keys import TYPES

STAGES = {
    "inputSpec": "inputs", "outputRules": "rules", "inverseOutputRules": "inverse", "testExpansion": "expand",
}  # fmt: skip
"""PromptPex's names of what instructions are for, and our stages."""

SCENARIO = {"instructions": "constraints", "parameters": "fixed"}
"""PromptPex's keys of a scenario, and ours."""

ROWS = ("testSamples", "testData")
"""Lists of inputs that are samples here."""
_NOT_INPUTS = {"testSamples": frozenset[str](), "testData": frozenset(("expected",))}
"""What a row may hold besides inputs."""


@dataclass(slots=True)
class Translated:
    """Front matter in our words.

    Attributes:
        meta: it; keys that were translated are as ours would be.
        odd: what could not be taken over, as key and sentence.
    """

    meta: dict[str, Any]
    odd: list[tuple[str, str]] = field(default_factory=list)


def in_our_words(meta: Mapping[str, Any], variables: Sequence[str]) -> Translated:
    """The front matter with what has another name there under ours; what is not of its shape stays as it is, for its
    reader to refuse.

    Args:
        variables: that the text of the prompt names.
    """
    translated = Translated(dict(meta))
    if isinstance(meta.get("instructions"), Mapping):
        translated.meta["instructions"] = _renamed(meta["instructions"], STAGES, "instructions", translated)
    if "scenarios" in meta:
        translated.meta["scenarios"] = _scenarios(meta["scenarios"], translated)
    rows = [row for key in ROWS if key in meta for row in _rows(key, meta[key], variables, translated)]
    rows += _of_inputs(meta.get("inputs"), variables)
    translated.meta.pop("testSamples", None)
    if rows and isinstance(translated.meta.get("samples"), str | Mapping | list | None):
        translated.meta["samples"] = [*_as_list(translated.meta.get("samples")), *rows]
    return translated


def declaration(about: object) -> dict[str, object]:
    """What a mapping of inputs says of one: a mapping, or in short its type, or else the value it has by default."""
    if isinstance(about, Mapping):
        return dict(about)
    if about is None:
        return {}
    fields = {"default": about, "sample": about}
    if isinstance(about, str):
        return {"type": about} if about.lower() in TYPES or did_you_mean(about, TYPES) else fields
    kinds = ((bool, "boolean"), (int | float, "number"), (list, "array"))
    kind = next((name for kind, name in kinds if isinstance(about, kind)), "text")
    return {"type": kind, **fields}


def _of_inputs(inputs: Any, variables: Sequence[str]) -> list[Any]:
    """The sample that the declarations make together, by their ``sample`` or ``example``."""
    row: dict[str, Any] = {}
    for name, about in inputs.items() if isinstance(inputs, Mapping) else ():
        if name in variables and isinstance(about, Mapping):
            sample = about.get("sample", about.get("example"))
            row |= {name: sample} if sample is not None else {}
    return [row] if row else []


def _scenarios(value: Any, done: Translated) -> Any:
    if isinstance(value, Mapping):
        return {name: _scenario(about, f"the scenario {str(name)[:40]!r}", done) for name, about in value.items()}
    if isinstance(value, list):
        return [_scenario(about, f"scenario {number}", done) for number, about in enumerate(value, 1)]
    return value


def _scenario(about: Any, where: str, done: Translated) -> Any:
    return _renamed(about, SCENARIO, "scenarios", done, f"{where}: ") if isinstance(about, Mapping) else about


def _renamed(
    about: Mapping[Any, Any], names: Mapping[str, str], key: str, done: Translated, where: str = ""
) -> dict[Any, Any]:
    """The mapping under our names; where both are there ours holds."""
    ours = {name: value for name, value in about.items() if name not in names}
    for their_name, our in names.items():
        if their_name in about and our in ours:
            done.odd.append((key, f"{where}{their_name!r} is not used; {our!r} says the same"))
        elif their_name in about:
            ours[our] = about[their_name]
    return ours


def _as_list(samples: Any) -> list[Any]:
    if isinstance(samples, str):
        return [{"file": samples}]
    return [samples] if isinstance(samples, Mapping) else samples or []


def _rows(key: str, value: Any, variables: Sequence[str], done: Translated) -> list[Any]:
    """The rows as samples: a text names a file, a mapping is cut down to the prompt's variables."""
    if value is None:
        return []
    if not isinstance(value, list):
        done.odd.append((key, f"{key!r} is not used: it must be a list of inputs"))
        return []
    rows: list[Any] = []
    strange: dict[str, None] = {}
    for row in value:
        if isinstance(row, str) and key == "testSamples":
            rows.append({"file": row})
        elif isinstance(row, Mapping):
            strange.update(dict.fromkeys(_strange(row, variables, _NOT_INPUTS[key])))
            inputs = {name: of_row for name, of_row in row.items() if name in variables}
            rows += [inputs] if inputs else []
        else:
            done.odd.append((key, f"{key!r}: only mappings of variables are used"))
    if strange:
        done.odd.append((key, f"{key!r}: the prompt does not name {named(list(strange))}, and is not given it"))
    return rows


def _strange(row: Mapping[Any, Any], variables: Collection[str], besides: Collection[str]) -> list[str]:
    return [str(name)[:40] for name in row if name not in variables and name not in besides]
