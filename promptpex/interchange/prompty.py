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

from promptpex.codecs.files.ordinary_files import inside, read_text
from promptpex.core.errors import ConfigError, InputError
from promptpex.core.records import Case, Message, Prompt, Spec, Suite
from promptpex.core.records.prompt import Role
from promptpex.core.translation import stored
from promptpex.documents import yaml_reader, yaml_writer
from promptpex.interchange.format import Exported, Format, Imported, ImportedPrompt, Option, Source
from promptpex.interchange.notes import Log
from promptpex.interchange.reading.foreign_files import At, mapping
from promptpex.interchange.reading.prompt_headers import (
    KEYS,
    NAMING_KEYS,
    OURS,
    about_model,
    bare_name,
    format_rules,
    is_plain,
    names_of,
)
from promptpex.llm.named_models import free_name, settings_of
from promptpex.llm.names import parse_model
from promptpex.llm.redaction import names_key

_ROLE = re.compile(
    r"[ \t]{0,9}#?[ \t]{0,9}(system|user|assistant|developer)[ \t]{0,9}(?:\[[^\]]{0,200}\])?[ \t]{0,9}:[ \t]*\Z",
    re.IGNORECASE | re.ASCII,
)
"""A line that begins a turn; it may have attributes: ``user[name="bob"]:``."""
ROLES: Mapping[str, Role] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_READ = frozenset(("name", "description", "model", "inputs", "inputSchema", "sample", "template", "version", "$schema",
                   *KEYS))  # fmt: skip
_BESIDE = ("scenarios", "instructions", "testSamples", "samples", "language", "effort", "context")
"""What a prompt file of ours may say in the same words, as PromptPex's do."""
TYPES = frozenset(
    ("text", "string", "str", "context", "document", "number", "float", "integer", "int", "boolean", "bool", "enum",
     "json", "object", "array", "list", "dict")
)  # fmt: skip
"""Words that say of an input what it holds, where any other text is its value."""
_NO_TEXT = ("thread", "image", "file", "audio")
"""Kinds of inputs that are sent as something else than a text."""
_IMAGE = re.compile(r"!\[[^\]\n]{0,300}\]\([^)\n]{1,2000}\)")
_MUSTACHE = re.compile(r"\{\{[#^/>!&{]")
_FILE = re.compile(r"\$\{file:([^{}]{1,300})\}\Z")


def read(path: Path) -> Imported:
    """The prompt of a file, its sample as a case, its model as a setting."""
    text = read_text(path, error=InputError, what="prompty file").replace("\r\n", "\n")
    front, body, first = divided(text, path)
    log = Log()
    doc = yaml_reader.load(front or "{}", path=path, error=InputError, what="front matter", first_line=2)
    top = At(path, doc=doc)
    data = mapping(doc.data, top, "the front matter")
    messages = tuple(messages_of(body))
    if not messages:
        raise InputError("there is no text below the front matter", path=path, line=first)
    _refuse_mustache(data, body, path, first)
    data = _with_files(data, top, log)
    for key in data:
        if key not in (*_READ, *_BESIDE):
            log.left_out(key, stored("promptpex has no equivalent"), path, top[key].line)
    _name_odd_lines(body, path, first, log)
    name, description = data.get("name"), data.get("description")
    prompt = ImportedPrompt(
        name if isinstance(name, str) and name.strip() else path.stem,
        messages,
        description if isinstance(description, str) else "",
        front=_front(data, top, log),
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


def _refuse_mustache(data: Mapping[str, object], body: str, path: Path, first: int) -> None:
    """Lets pass what means the same in Jinja."""
    if "mustache" not in str(data.get("template")).lower():
        return
    for number, line in enumerate(body.split("\n"), first):
        tag = _MUSTACHE.search(line)
        if tag is not None:
            raise InputError(f"Jinja has no {tag.group()}; rewrite this Mustache line in Jinja", path=path, line=number)


def _name_odd_lines(body: str, path: Path, first: int, log: Log) -> None:
    """Notes what of the text is not sent as it is meant: images, and who speaks in a turn."""
    for number, line in enumerate(body.split("\n"), first):
        role = _ROLE.match(line)
        if role is not None and "[" in line:
            log.left_out(line.strip()[:80], stored("here a turn has a role and nothing else"), path, number)
        elif _IMAGE.search(line):
            log.changed("image", stored("only text is sent to models: it stays in the text as written"), path, number)


def _with_files(data: Mapping[str, object], top: At, log: Log) -> Mapping[str, object]:
    """The front matter with what ``inputs`` and ``sample`` name as a file, ``${file:context.json}``, in their place."""
    read = dict(data)
    for key in ("inputs", "sample"):
        named, at = data.get(key), top[key]
        if not isinstance(named, str):
            continue
        match = _FILE.match(named.strip())
        name = match.group(1) if match is not None else named
        file = inside(top.path.parent, name, error=InputError, what="file", path=at.path, line=at.line)
        del read[key]
        if not file.is_file() or file.suffix.lower() not in (".json", ".yaml", ".yml"):
            log.left_out(
                key, stored("there is no JSON or YAML file with this name beside the prompt"), at.path, at.line
            )
            continue
        values = yaml_reader.read(file, error=InputError, what="sample").data
        read["sample"] = {**mapping(values, At(file), "a sample"), **_mapping(read.get("sample"))}
    return read


def _front(data: Mapping[str, object], top: At, log: Log) -> dict[str, object]:
    """What the front matter of the prompt keeps: what a prompt file of ours says in the same words."""
    front: dict[str, object] = {}
    inputs = dict(_inputs(data, shorthand=True))
    for name, about in inputs.items():
        kind = about.get("kind", about.get("type")) if isinstance(about, dict) else about
        if kind in _NO_TEXT:
            why = stored("only text is sent to models: {kind} becomes text", kind=str(kind))
            log.changed(f"inputs.{name}", why, top.path, top["inputs" if "inputs" in data else "inputSchema"].line)
    if any(about not in (None, {}) for about in inputs.values()):
        front["inputs"] = inputs
    for key in _BESIDE:
        value = data.get(key)
        if isinstance(value, list):
            value = [item for number, item in enumerate(value) if not _is_file(item, key, top[key][number], log)]
        elif key == "samples" and _is_file(value, key, top[key], log):
            value = None
        if value not in (None, [], {}):
            front[key] = value
            log.came(key, len(value) if isinstance(value, list | dict) else 1)
    return front


def _is_file(value: object, key: str, at: At, log: Log) -> bool:
    if key not in ("samples", "testSamples"):
        return False
    named = isinstance(value, dict) and set(value) == {"file"}
    if named or (isinstance(value, str) and (key == "testSamples" or len(at.keys) == 1)):
        log.left_out(
            at.name,
            stored("put the file with the samples beside the prompt, and name it in the prompt"),
            at.path,
            at.line,
        )
        return True
    return False


def _sample(data: Mapping[str, object], top: At, log: Log) -> Case | None:
    """The sample as a case: its own key, or the samples and defaults of the inputs."""
    values = dict(_mapping(data.get("sample")))
    for name, about in _inputs(data):
        sample = about.get("sample", about.get("default", about.get("example")))
        if sample is not None:
            values.setdefault(name, sample)
    if not values:
        return None
    log.came("sample")
    return Case(id="sample", inputs=values, origin="added")


def _inputs(data: Mapping[str, object], *, shorthand: bool = False) -> Iterator[tuple[str, Any]]:
    """The inputs with what is said of each, in the shapes of both versions: a mapping, or with ``shorthand`` also the
    word or value that stands for one."""
    declared = data.get("inputs", data.get("inputSchema"))
    if isinstance(declared, dict) and isinstance(declared.get("properties"), list | dict):
        declared = declared["properties"]
    if isinstance(declared, dict):
        for name, about in declared.items():
            if isinstance(about, dict) or shorthand:
                yield str(name), about
            else:
                is_type = about is None or (isinstance(about, str) and about.lower() in TYPES)
                yield str(name), {} if is_type else {"sample": about}
    for item in declared if isinstance(declared, list) else ():
        if isinstance(item, str):
            yield item, {}
        elif isinstance(item, dict) and isinstance(item.get("name"), str):
            yield item["name"], {key: value for key, value in item.items() if key != "name"}


def settings_of_model(value: object, at: At, log: Log) -> dict[str, object]:
    """The model under test with its parameters."""
    if value is None:
        return {}
    model = {"id": value} if isinstance(value, str) else mapping(value, at, "model")
    bare, name = bare_name(model), next(iter(names_of(model)), "")
    for key, value in about_model(model).items():
        if key not in NAMING_KEYS:
            why = stored("name the server with --api-base, or in the settings")
            if names_key(key) and not (isinstance(value, str) and "://" in value):
                why = stored("keys are not copied; set it in the environment")
            log.left_out(f"model.{key}", why, at.path, at.line)
    try:
        if not is_plain(name):
            raise ConfigError("it is not just a name")
        parse_model(name)
    except ConfigError:
        if bare:
            log.left_out("model", stored("it is not a model name that promptpex knows"), at.path, at.line)
        return {}
    log.came("model")
    table, unused = settings_of({**_mapping(model.get("parameters")), **_mapping(model.get("options"))})
    log.came("parameters", len(table))
    for key in unused:
        log.left_out(f"model parameter {key}", stored("promptpex has no such model parameter"), at.path, at.line)
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
    left_out: list[str] = []
    if rules:
        why = stored("rules that are left out, since a prompty file contains only a prompt: {count}", count=rules)
        left_out.append(why)
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
    lost="endpoints, keys, images, `tools`, `authors`, `tags`; out: all cases but the first, and all "
    "rules",
)  # fmt: skip
