"""What prompt files of other tools say of the model, and of the form of the answer, as a rule with a check ``is-json``.

``outputs`` of Prompty and PromptPex (version 1 a mapping of names, version 2 a list, or a JSON schema as it stands),
``response_format`` of OpenAI's parameters, and GitHub's ``responseFormat`` with ``jsonSchema``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from promptpex.core.errors import InputError
from promptpex.core.ids import canonical
from promptpex.core.records import Check, Rule
from promptpex.core.translation import stored
from promptpex.documents import yaml_reader
from promptpex.interchange.notes import Log
from promptpex.interchange.reading.chats import Unfit
from promptpex.interchange.reading.exchanges import Ids
from promptpex.interchange.reading.foreign_files import At, named
from promptpex.llm.redaction import holds_key

_VENDORS = {"azure_openai": "azure", "azure": "azure", "openai": "openai", "github": "github", "anthropic": "anthropic",
            "serverless": "azure_ai", "foundry": "azure_ai", "ollama": "ollama"}  # fmt: skip
_NAMES = ("azure_deployment", "name", "model", "id", "deployment")
"""Where Prompty's versions have it."""
OURS = {ours: theirs for theirs, ours in reversed(_VENDORS.items())}
"""What Prompty calls our providers."""
_PLAIN = re.compile(r"[^\s?#%&=,\\]+")
NAMING_KEYS = frozenset((*_NAMES, "type", "provider", "api", "kind", "apiType"))
"""What of a model is the name, or says nothing of its own."""


def about_model(value: object) -> Mapping[str, object]:
    """What is said of a model: its connection and configuration, and the texts beside them."""
    if isinstance(value, str):
        return {"id": value}
    model = value if isinstance(value, dict) else {}
    parts = (model.get("connection"), model.get("configuration"))
    merged: dict[str, object] = {}
    for part in parts:
        merged |= part if isinstance(part, dict) else {}
    return merged | {key: value for key, value in model.items() if isinstance(value, str)}


def bare_name(value: object) -> str:
    """The name without its provider; empty where there is none."""
    about = about_model(value)
    return next((name.strip() for key in _NAMES if isinstance(name := about.get(key), str)), "")


def is_plain(name: str) -> bool:
    """Whether a name from a foreign file is a name alone: parameters would name servers, and variables with keys."""
    return _PLAIN.fullmatch(name) is not None and "://" not in name and not holds_key(name)


def names_of(value: object, *, is_github: bool = False) -> tuple[str, ...]:
    """The names that a model may have here, the likeliest first; none where the file names no model.

    Args:
        is_github: whether the file is one of GitHub's, whose names (``openai/gpt-4o-mini``) are of GitHub Models.
    """
    bare = bare_name(value)
    if not bare:
        return ()
    if is_github:
        return (github_name(bare), *([bare] if "/" in bare else []))
    about = about_model(value)
    vendor = next((str(about[key]) for key in ("type", "provider") if about.get(key)), "")
    return (f"{_VENDORS[vendor]}/{bare}" if vendor in _VENDORS else bare,)


def github_name(name: str) -> str:
    return f"github/{name.strip().rpartition('/')[2]}"


KEYS = ("outputs", "outputSchema", "response_format", "responseFormat", "jsonSchema")
"""Front matter that is read here."""
_TYPES = {
    "string": "string", "text": "string", "str": "string", "number": "number", "float": "number", "integer": "integer",
    "int": "integer", "boolean": "boolean", "bool": "boolean", "array": "array", "list": "array", "object": "object",
    "dict": "object", "null": "null",
}  # fmt: skip
"""Words for a type, and JSON schema's."""
_NO_SCHEMA_WORDS = frozenset(("name", "kind", "type", "required", "items", "properties", "sample", "example", "strict"))
_JSON = ("json_object", "json_schema")
_UNTOLD = stored("a rule checks the output against it; it is not sent to the model")


def format_rules(data: Mapping[str, object], top: At, log: Log) -> list[Rule]:
    """A rule for each form that the file demands of the output by other means than its text; what is none is noted."""
    rules: dict[str, Rule] = {}
    ids = Ids()
    for rule, key in (*_github(data, top), *_openai(data), *_outputs(data, top, log)):
        demanded = canonical(rule.checks[0].to_dict())
        if demanded not in rules:
            rules[demanded] = rule.replace(id=ids.free(rule.id, rule.id))
        log.changed(key, _UNTOLD, top.path, top[key.partition(".")[0]].line)
    return list(rules.values())


def _github(data: Mapping[str, object], top: At) -> Iterator[tuple[Rule, str]]:
    response_format, schema = data.get("responseFormat"), data.get("jsonSchema")
    if response_format not in _JSON:
        return
    if isinstance(schema, str):
        schema = yaml_reader.load(schema, path=top.path, error=InputError, what="schema").data
    inner = schema.get("schema", schema) if isinstance(schema, dict) else None
    yield _format_rule(inner if response_format == "json_schema" else None), "responseFormat"


def _openai(data: Mapping[str, object]) -> Iterator[tuple[Rule, str]]:
    model = data.get("model")
    tables = [("model.parameters.", model.get("parameters")), ("model.options.", model.get("options"))] if isinstance(
        model, dict) else []  # fmt: skip
    for where, table in [("", data), *tables]:
        response_format = table.get("response_format") if isinstance(table, dict) else None
        about = response_format if isinstance(response_format, dict) else {"type": response_format}
        if about.get("type") not in _JSON:
            continue
        schema = about.get("json_schema", about.get("schema"))
        inner = schema.get("schema", schema) if isinstance(schema, dict) else None
        yield _format_rule(inner if about["type"] == "json_schema" else None), f"{where}response_format"


def _format_rule(schema: object) -> Rule:
    check = Check(kind="is-json", value=schema) if isinstance(schema, dict) and schema else Check(kind="is-json")
    return Rule(id="response-format", rule="The output is JSON of the wanted form.", checks=(check,), origin="added")


def _outputs(data: Mapping[str, object], top: At, log: Log) -> Iterator[tuple[Rule, str]]:
    key = next((key for key in ("outputs", "outputSchema") if data.get(key)), None)
    if key is None:
        return
    try:
        schema = schema_of(data[key])
    except Unfit as failure:
        log.left_out(key, failure.why, top.path, top[key].line)
        return
    names = ", ".join(str(name)[:40] for name in list(schema.get("properties", {}))[:12])
    sentence = f"The output is a JSON object with {names}." if names else "The output is JSON of the declared form."
    check = Check(kind="is-json", value=schema)
    yield Rule(id="outputs", rule=" ".join(sentence.split()), checks=(check,), origin="added"), key


def schema_of(value: object) -> dict[str, Any]:
    """The JSON schema of an answer with these declared outputs.

    Raises:
        Unfit: they say nothing of its form, or that it is one text.
    """
    if isinstance(value, dict) and ("$ref" in value or "anyOf" in value or "oneOf" in value):
        return dict(value)
    if isinstance(value, dict) and isinstance(value.get("properties"), dict | list):
        schema = _typed(value) if _is_ours(value) else dict(value)
        return {"type": "object", **schema}
    if isinstance(value, dict) and value.get("type") in ("array", "object") and "items" in value:
        return dict(value)
    if isinstance(value, dict) and value.keys() <= {"type", "description"} and value.get("type") in [*_TYPES]:
        raise Unfit(stored("it declares no named outputs"))
    if isinstance(value, dict | list) and value:
        return {"type": "object", **_properties(value)}
    raise Unfit(stored("it must be a mapping of names, or a list, not {kind}", kind=named(value)))


def _is_ours(value: Mapping[str, object]) -> bool:
    properties = value.get("properties")
    declared = properties if isinstance(properties, list) else list(properties.values()) if isinstance(
        properties, dict) else []  # fmt: skip
    return isinstance(properties, list) or any(isinstance(one, str) or "kind" in _about(one) for one in declared)


def _properties(declared: object) -> dict[str, Any]:
    """The properties with which of them are required: all without a default that do not say otherwise."""
    properties, required = {}, []
    for name, about in _named(declared):
        properties[name] = _typed(about)
        if about.get("required", "default" not in about) is not False:
            required.append(name)
    return {"properties": properties, **({"required": required} if required else {})}


def _named(declared: object) -> Iterator[tuple[str, Mapping[str, object]]]:
    if isinstance(declared, dict):
        for name, about in declared.items():
            yield str(name), {"type": about} if isinstance(about, str) else _about(about)
        return
    for item in declared if isinstance(declared, list) else ():
        name = item if isinstance(item, str) else _about(item).get("name")
        if not isinstance(name, str):
            raise Unfit(stored("each of the outputs needs a name"))
        yield name, _about(item)


def _typed(about: Mapping[str, object]) -> dict[str, Any]:
    """A declaration as a schema; a type that nobody knows says nothing."""
    kind = about.get("type", about.get("kind"))
    schema: dict[str, Any] = {key: value for key, value in about.items() if key not in _NO_SCHEMA_WORDS}
    if isinstance(kind, str) and kind.lower() in _TYPES:
        schema["type"] = _TYPES[kind.lower()]
    elif isinstance(kind, list):
        schema["type"] = kind
    items, inner = about.get("items"), about.get("properties")
    if isinstance(items, dict | str):
        schema["items"] = _typed({"type": items} if isinstance(items, str) else items)
    if isinstance(inner, dict | list):
        schema |= _properties(inner)
    if isinstance(about.get("required"), list):
        schema["required"] = about["required"]
    return schema


def _about(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}
