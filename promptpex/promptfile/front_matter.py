"""Front matter: its keys, each with meaning, example and shape as JSON schema (draft-07), and the words of other tools.

PromptPex 0.0.18 has ``scenarios`` with ``instructions`` and ``parameters``, ``instructions`` under names of its own,
``testSamples``, and inputs whose declaration is a value; ``testData`` is GitHub's. The readers of the values are where
they are used.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from promptpex.codecs.text.wording import did_you_mean, named

Key = Mapping[str, Any]

TYPES = {
    "text": "text", "string": "text", "str": "text", "context": "text", "document": "text",
    "number": "number", "float": "number", "integer": "integer", "int": "integer",
    "boolean": "boolean", "bool": "boolean", "enum": "enum",
    "json": "json", "object": "json", "array": "json", "list": "json", "dict": "json",
}  # fmt: skip
"""The words for the type of an input, and the type that each is."""

_TEXT = {"type": ["string", "null"]}
_TEXTS = {"type": "array", "items": {"type": "string"}}
_NUMBER = {"type": ["number", "null"]}
_LENGTH = {"type": ["integer", "null"]}

INPUT: Mapping[str, Key] = {
    "description": {
        **_TEXT,
        "description": "What the variable holds, for the model that writes cases.",
        "examples": ["The word to tag."],
    },
    "type": {
        **_TEXT,
        "description": "text, number, integer, boolean, enum or json; also the words of JSON schema and Prompty.",
        "examples": ["text", "integer", "context"],
    },
    "values": {
        "type": ["array", "null"],
        "description": "The values that it may have; enum and options are read as well.",
        "examples": [["short", "long"]],
    },
    "schema": {
        "type": ["object", "null"],
        "description": "The JSON schema of a json value.",
        "examples": [{"type": "object", "required": ["id"]}],
    },
    "minimum": {**_NUMBER, "description": "The least a number may be; min is read as well.", "examples": [1]},
    "maximum": {**_NUMBER, "description": "The most a number may be; max is read as well.", "examples": [99]},
    "min_length": {
        **_LENGTH,
        "description": "The fewest characters of a text; minLength is read as well.",
        "examples": [1],
    },
    "max_length": {
        **_LENGTH,
        "description": "The most characters of a text; maxLength is read as well.",
        "examples": [500],
    },
    "default": {"description": "The value where a case gives none.", "examples": ["short"]},
    "checks_only": {
        "type": ["boolean", "null"],
        "description": "Whether it is for checks and conditions alone: models under test are not sent it, and a case "
        "may lack it.",
        "examples": [True],
    },
    "context": {
        "type": ["boolean", "null"],
        "description": "Whether it holds the documents that a question is answered from.",
        "examples": [True],
    },
}
"""What front matter may say of a variable; other keys are another tool's, and not used."""

SCENARIO: Mapping[str, Key] = {
    "constraints": {
        "type": ["string", "array", "null"],
        "items": {"type": "string"},
        "description": "A sentence or sentences about the inputs, on top of those of the spec.",
        "examples": ["The customer is angry.", ["The customer is angry.", "The message is short."]],
    },
    "fixed": {
        "type": ["object", "null"],
        "description": "Variables that have this value in every case of the scenario.",
        "examples": [{"tier": "gold"}],
    },
    "instructions": {
        "type": ["string", "null"],
        "description": "The same as constraints, in PromptPex's words.",
        "examples": ["The customer is angry."],
    },
    "parameters": {
        "type": ["object", "null"],
        "description": "The same as fixed, in PromptPex's words.",
        "examples": [{"tier": "gold"}],
    },
}

_INPUT = {"type": "object", "properties": INPUT}
_NAMED_INPUT = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "description": "The variable.", "examples": ["word"]},
        **INPUT,
    },
}
_SCENARIO = {"type": "object", "properties": SCENARIO, "additionalProperties": False}
_NAMED_SCENARIO = {
    **_SCENARIO,
    "required": ["name"],
    "properties": {
        "name": {"type": ["string", "integer"], "description": "What tables call it.", "examples": ["angry"]},
        **SCENARIO,
    },
}

USED: Mapping[str, Key] = {
    "name": {
        **_TEXT,
        "description": "What reports and the folder of the runs call the prompt. Left out: its file's name, or its "
        "folder's for prompt.md.",
        "examples": ["ticket-triage"],
    },
    "description": {
        **_TEXT,
        "description": "What the prompt is for, for reports and for the model that writes the spec.",
        "examples": ["Tag a word of a sentence with its part of speech."],
    },
    "inputs": {
        "type": ["object", "array", "null"],
        "additionalProperties": {"anyOf": [_INPUT, {"not": {"type": "object"}}]},
        "items": {"anyOf": [{"type": "string"}, _NAMED_INPUT]},
        "description": "The variables of the prompt, each with what it may hold. Left out: those that the text names.",
        "examples": [
            {"word": {"type": "text", "description": "The word to tag."}, "style": {"values": ["short", "long"]}},
            [{"name": "word", "type": "string"}],
        ],
    },
    "samples": {
        "type": ["array", "string", "object", "null"],
        "items": {"type": ["string", "number", "object"]},
        "description": "Real inputs that the author of cases is shown: texts, mappings of variables, or CSV, JSONL, "
        "JSON and YAML files in the prompt's folder.",
        "examples": [["Where is my parcel?", {"file": "real.csv"}], "real.csv"],
    },
    "sample": {
        "type": ["object", "string", "number", "array", "null"],
        "description": "One such input, as Prompty has it.",
        "examples": [{"word": "fox", "sentence": "The fox jumps."}],
    },
    "scenarios": {
        "type": ["object", "array", "null"],
        "additionalProperties": {
            "anyOf": [{"type": ["string", "null"]}, _TEXTS, _SCENARIO],
        },
        "items": _NAMED_SCENARIO,
        "description": "Situations in each of which every rule is tested: by name a sentence, sentences, or a mapping.",
        "examples": [
            {"returns": "The customer wants to send something back.", "angry": {"fixed": {"tier": "gold"}}},
            [{"name": "angry", "constraints": ["The customer is angry."]}],
        ],
    },
    "instructions": {
        "type": ["object", "null"],
        "additionalProperties": {"type": "string"},
        "description": "Your own instructions to stages, by the name of the stage.",
        "examples": [{"rules": "Leave out rules about tone."}],
    },
    "language": {
        **_TEXT,
        "pattern": r"^\s*[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*\s*$",
        "description": "The language that generated inputs have to be in, a BCP 47 tag.",
        "examples": ["vi", "pt-BR"],
    },
    "effort": {
        "enum": ["min", "low", "medium", "high", None],
        "description": "How much is extracted, generated, repeated and verified, where nothing else says it.",
        "examples": ["low"],
    },
    "context": {
        "type": ["string", "boolean", "null"],
        "description": "The variable that holds the documents which a question is answered from; false: none does.",
        "examples": ["documents", False],
    },
    "template": {
        "type": ["string", "object", "null"],
        "description": "The language of the template in Prompty's words. It is read as Jinja whatever it says.",
        "examples": ["jinja2"],
    },
    "model": {
        "type": ["object", "string", "null"],
        "description": "In Prompty: its parameters or options are sent with each request to models under test, where "
        "settings and the name of a model leave them open. Its plain name is the model under test where "
        "nothing else names one.",
        "examples": [{"parameters": {"temperature": 0.3}}],
    },
    "modelParameters": {
        "type": ["object", "null"],
        "description": "The same in GitHub's prompt files.",
        "examples": [{"temperature": 0.3}],
    },
    "testSamples": {
        "type": ["array", "null"],
        "items": {"type": ["string", "object"]},
        "description": "In PromptPex: samples, as mappings of variables or names of files.",
        "examples": [[{"word": "fox"}, "real.csv"]],
    },
    "testData": {
        "type": ["array", "null"],
        "items": {"type": "object"},
        "description": "In GitHub's prompt files: samples, and the first cases of a new suite.",
        "examples": [[{"word": "fox", "expected": "NN"}]],
    },
    "evaluators": {
        "type": ["array", "null"],
        "items": {"type": "object"},
        "description": "In GitHub's prompt files: rules of a new spec.",
        "examples": [[{"name": "upper", "string": {"startsWith": "N"}}]],
    },
    "responseFormat": {
        "type": ["string", "null"],
        "description": "In GitHub's prompt files: json_object and json_schema become a rule of a new spec.",
        "examples": ["json_object"],
    },
    "jsonSchema": {
        "type": ["string", "object", "null"],
        "description": "In GitHub's prompt files: the schema of that rule.",
        "examples": ['{"type": "object"}'],
    },
    "outputs": {
        "type": ["object", "array", "null"],
        "description": "In Prompty and PromptPex: what the answer holds, by name or as a JSON schema. It becomes a "
        "rule of a new spec, which code decides; it is not sent to the model.",
        "examples": [{"city": {"type": "string"}, "degrees": {"type": "number"}}],
    },
    "outputSchema": {
        "type": ["object", "array", "null"],
        "description": "The same in Prompty's version 2.",
        "examples": [{"properties": [{"name": "city", "kind": "string"}]}],
    },
    "response_format": {
        "type": ["object", "string", "null"],
        "description": "The same in OpenAI's words: json_object or json_schema.",
        "examples": [{"type": "json_object"}],
    },
}
"""What promptpex reads, in the order of the page that documents it."""

KEPT = (
    "version", "authors", "author", "tags", "license", "parameters", "displayName",
    "metadata", "tools", "source", "url", "imported", "$schema",
)  # fmt: skip
"""What Prompty's and GitHub's formats have besides; it is kept, and not used."""

KNOWN = (*USED, *KEPT)
"""Keys that mean something to us or to the formats we read; all others are kept and warned about."""


STAGES = {
    "inputSpec": "inputs", "outputRules": "rules", "inverseOutputRules": "inverse", "testExpansion": "expand",
}  # fmt: skip
"""PromptPex's names of what instructions are for, and our stages."""

SCENARIO_KEYS = {"instructions": "constraints", "parameters": "fixed"}
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
    return _renamed(about, SCENARIO_KEYS, "scenarios", done, f"{where}: ") if isinstance(about, Mapping) else about


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
