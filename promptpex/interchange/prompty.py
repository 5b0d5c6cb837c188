"""``prompty``: Microsoft's ``.prompty`` files, versions 1 and 2, both ways, with their model, parameters and samples.

promptpex runs such a file in place; an import divides it into prompt, case and settings. After the specifications of
prompty.ai: version 1 has ``model.configuration`` and ``model.parameters``, version 2 ``model.id`` and
``model.options``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from promptpex.codecs.text_file import read_text
from promptpex.core.errors import ConfigError, InputError
from promptpex.core.records import Case, Message, Prompt, Spec, Suite
from promptpex.core.records.prompt import Role
from promptpex.core.texts import stored
from promptpex.documents import yaml_reader, yaml_writer
from promptpex.interchange.format import Exported, Format, Imported, ImportedPrompt, Mapped, Option, Source
from promptpex.interchange.model_names import OURS, SAID, about_model, bare_name, names_of
from promptpex.interchange.notes import Log
from promptpex.interchange.output_schemas import KEYS, format_rules
from promptpex.interchange.places import At, mapping
from promptpex.llm.foreign_parameters import settings_of
from promptpex.llm.named_models import free_name
from promptpex.llm.names import parse_model
from promptpex.llm.redaction import names_key

_ROLE = re.compile(r"#?[ \t]*(system|user|assistant|developer)[ \t]*:[ \t]*\Z", re.IGNORECASE | re.ASCII)
ROLES: Mapping[str, Role] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_READ = frozenset(("name", "description", "model", "inputs", "inputSchema", "sample", "template", "version", "$schema",
                   *KEYS))  # fmt: skip


def read(path: Path) -> Imported:
    """The prompt of a file, its sample as a case, its model as a setting.

    Raises:
        InputError: the front matter cannot be read, or there is no text below it; with the line.
    """
    text = read_text(path, error=InputError, what="prompty file").replace("\r\n", "\n")
    front, body, first = divided(text, path)
    log = Log()
    doc = yaml_reader.load(front or "{}", path=path, error=InputError, what="front matter", first_line=2)
    top = At(path, doc=doc)
    data = mapping(doc.data, top, "the front matter")
    messages = tuple(messages_of(body))
    if not messages:
        raise InputError("there is no text below the front matter", path=path, line=first)
    for key in data:
        if key not in _READ:
            log.left_out(key, stored("there is nothing like it here"), path, top[key].line)
    name, description = data.get("name"), data.get("description")
    prompt = ImportedPrompt(
        name if isinstance(name, str) and name.strip() else path.stem,
        messages,
        description if isinstance(description, str) else "",
    )
    log.came("messages", len(messages))
    case = _sample(data, top, log)
    rules = format_rules(data, top, log)
    return Imported(
        prompt=prompt,
        spec=Spec(intent=" ".join(prompt.description.split()), rules=tuple(rules)) if rules else None,
        suite=Suite(cases=(case,)) if case is not None else None,
        settings=settings_of_model(data.get("model"), top["model"], log),
        over=dict(log.over),
        notes=log.notes,
    )


def divided(text: str, path: Path) -> tuple[str, str, int]:
    """The front matter, the text below it, and the line on which that begins."""
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return "", text, 1
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    if end is None:
        raise InputError("the front matter that begins here never ends; close it with ---", path=path, line=1)
    return "\n".join(lines[1:end]), "\n".join(lines[end + 1 :]), end + 2


def messages_of(body: str) -> Iterator[Message]:
    """The turns; what stands before the first role is the system's."""
    role: Role = "system"
    lines: list[str] = []
    for line in [*body.split("\n"), "system:"]:
        match = _ROLE.match(line)
        if match is None:
            lines.append(line)
            continue
        text = "\n".join(lines).strip()
        if text:
            yield Message(role=role, content=text)
        role, lines = ROLES[match.group(1).lower()], []


def _sample(data: Mapping[str, object], top: At, log: Log) -> Case | None:
    """The sample as a case: its own key, or the samples and defaults of the inputs."""
    values = dict(_mapping(data.get("sample")))
    if isinstance(data.get("sample"), str):
        log.left_out("sample", stored("a sample in a file of its own is not read"), top.path, top["sample"].line)
    for name, about in _inputs(data):
        given = about.get("sample", about.get("default", about.get("example")))
        if given is not None:
            values.setdefault(name, given)
    if not values:
        return None
    log.came("sample")
    return Case(id="sample", inputs=values, origin="added")


def _inputs(data: Mapping[str, object]) -> Iterator[tuple[str, Mapping[str, object]]]:
    """The inputs with what is said of each, in the shapes of both versions."""
    declared = data.get("inputs", data.get("inputSchema"))
    if isinstance(declared, dict) and isinstance(declared.get("properties"), list | dict):
        declared = declared["properties"]
    if isinstance(declared, dict):
        for name, about in declared.items():
            yield name, about if isinstance(about, dict) else {} if about is None else {"sample": about}
    for item in declared if isinstance(declared, list) else ():
        if isinstance(item, dict) and isinstance(item.get("name"), str):
            yield item["name"], item


def settings_of_model(value: object, at: At, log: Log) -> dict[str, object]:
    """The model under test with its parameters."""
    if value is None:
        return {}
    model = {"id": value} if isinstance(value, str) else mapping(value, at, "model")
    bare, name = bare_name(model), next(iter(names_of(model)), "")
    for key, value in about_model(model).items():
        if key not in SAID:
            why = stored("it is said elsewhere here")
            if isinstance(value, str) and "://" in value:
                why = stored("addresses of a prompt file are not taken over; name the server with --api-base")
            elif names_key(key):
                why = stored("keys are not copied; put it into the environment")
            log.left_out(f"model.{key}", why, at.path, at.line)
    try:
        parse_model(name)
    except ConfigError:
        if bare:
            log.left_out("model", stored("its name is none of a model here"), at.path, at.line)
        return {}
    log.came("model")
    table, unused = settings_of({**_mapping(model.get("parameters")), **_mapping(model.get("options"))})
    log.came("parameters", len(table))
    for key in unused:
        log.left_out(f"model parameter {key}", stored("models take no such parameter here"), at.path, at.line)
    if not table:
        return {"models": {"under_test": [name]}}
    alias = free_name(bare)
    return {"models": {"under_test": [alias], alias: {"model": name, **table}}}


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def write(source: Source, *, model: str | None) -> Exported:
    """The prompt with its first case as the sample."""
    project = source.project()
    prompt, cases = project.prompt, project.suite.usable()
    chosen = model or (project.models[0] if project.models else None)
    front: dict[str, Any] = {"name": prompt.name}
    if prompt.description:
        front["description"] = prompt.description
    if chosen is not None:
        front["model"] = _model(chosen)
    front["inputs"] = {name: {"type": _type(cases[0].inputs.get(name) if cases else "")} for name in prompt.variables}
    if cases:
        front["sample"] = {name: cases[0].inputs[name] for name in prompt.variables if name in cases[0].inputs}
    front["template"] = "jinja2"
    rules, others = len(project.spec.rules), len(project.suite.cases) - 1
    left_out = [stored("rules that are left out, since a prompty file holds a prompt alone: {count}", count=rules)]
    if others > 0:
        left_out.append(stored("cases that are left out, since a prompty file has one sample: {count}", count=others))
    return Exported(f"---\n{yaml_writer.document(front)}---\n{_body(prompt)}", tuple(left_out))


def _model(label: str) -> dict[str, Any]:
    """The model in the words of version 1."""
    try:
        parsed = parse_model(label)
    except ConfigError:
        return {"api": "chat", "configuration": {"name": label}}
    vendor, slash, bare = parsed.name.partition("/")
    configuration = {"type": OURS[vendor], "name": bare} if slash and vendor in OURS else {"name": parsed.name}
    names = {"temperature", "max_tokens", "top_p", "seed"}
    params = parsed.params.model_dump(include=names, exclude_none=True)
    return {"api": "chat", "configuration": configuration, **({"parameters": params} if params else {})}


def _type(value: object) -> str:
    kinds = ((bool, "boolean"), (int | float, "number"), (str, "string"), (list, "array"), (dict, "object"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "string")


def _body(prompt: Prompt) -> str:
    turns = [(message.role, message.content) for message in prompt.messages]
    turns += [("user", f"{{{{{prompt.variables[0]}}}}}")] if prompt.implicit_input else []
    return "\n\n".join(f"{role}:\n{_kept(content)}" for role, content in turns) + "\n"


def _kept(content: str) -> str:
    """The text, lines that would begin a turn written by the template."""
    lines = content.split("\n")
    return "\n".join(f"{{{{ {json.dumps(line)} }}}}" if _ROLE.match(line) else line for line in lines)


FORMAT = Format(
    name="prompty",
    summary="Microsoft's .prompty, versions 1 and 2: prompt, sample, model and parameters",
    extensions=(".prompty",),
    reads="project",
    writes="project",
    read=read,
    write=write,
    write_options=(Option("model", "its model [the first of the run].", metavar="NAME"),),
    recognise=lambda path: path.suffix.lower() == ".prompty",
    maps=(
        Mapped("the text below the front matter", "the prompt", "both", "images"),
        Mapped("`name`, `description`", "the same"),
        Mapped("`sample`, samples and defaults of `inputs`", "a case", "in"),
        Mapped("`sample`", "the inputs of the first case", "out", "the other cases, and all rules"),
        Mapped("`model`, `parameters`, `options`", "`[models]` of the settings", "both",
               "endpoints, keys, parameters without a name here"),
        Mapped("`outputs`, `outputSchema`, `response_format`", "a rule `is-json` with the schema", "in",
               "the model is not told of it"),
        Mapped("`tools`, `authors`, `tags` and others", "nothing", "in", "they are named"),
    ),
)  # fmt: skip
