"""Prompt files read into a ``Prompt``, with the warnings that people should see, and prompts as the text of a file."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from jinja2 import TemplateSyntaxError

from promptpex.codecs.files.ordinary_files import read_text
from promptpex.codecs.text.wording import MOST_HINTS, did_you_mean
from promptpex.core.errors import PromptFileError
from promptpex.core.ids import canonical, text_digest
from promptpex.core.records import INPUT_VARIABLE, Message, Problem, Prompt
from promptpex.documents import yaml_writer
from promptpex.promptfile.find_prompts import NAME
from promptpex.promptfile.formats import WHAT, ParsedPrompt, parse_text, stem
from promptpex.promptfile.front_matter import KNOWN, declaration, in_our_words
from promptpex.promptfile.render import named_variables


def read(path: Path | str) -> Prompt:
    """The prompt in a file, of any format; what it declares is in ``meta``, its warnings are dropped."""
    return read_with_warnings(path)[0]


def read_with_warnings(path: Path | str) -> tuple[Prompt, list[str]]:
    """As ``read``, with a sentence for each thing that is odd but can be used."""
    prompt, problems = examine(path)
    return prompt, [problem.sentence() for problem in problems]


def examine(
    path: Path | str, *, what: str = WHAT, keys: Collection[str] = KNOWN, text: str | None = None
) -> tuple[Prompt, list[Problem]]:
    """As ``read``, with the warnings as problems that know their lines.

    Args:
        keys: of the front matter that mean something there; those of ``KNOWN`` are never warned about.
        text: that the file is to have; None: that which it has.
    """
    text = read_text(path, error=PromptFileError, what=what) if text is None else text
    return _build(parse_text(_lines(text), path), path, what, keys)


def parse(text: str, path: Path | str = "prompt.md") -> Prompt:
    """The prompt that a file of this name would hold with this text; nothing is read from disk."""
    return _build(parse_text(_lines(text), path), path)[0]


def default_name(path: Path | str) -> str:
    """The name of a prompt that gives itself none: the file's stem; that of its folder where the file is ``prompt.*``,
    as many prompts are that have a folder each."""
    folder = Path(path).absolute().parent.name
    return folder if stem(path) == NAME and folder else stem(path)


_FILE = re.compile(r"\$\{file:([^{}]{1,300})\}\Z")
"""Prompty's word for what another file holds."""


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _build(
    parsed: ParsedPrompt, path: Path | str, what: str = WHAT, keys: Collection[str] = KNOWN
) -> tuple[Prompt, list[Problem]]:
    if not parsed.messages:
        noun = what.removesuffix(" file")
        raise PromptFileError(f"the {noun} is empty: there is no text below the front matter", path=path)
    messages = tuple(each.message for each in parsed.messages)
    named = _variables(parsed, path)
    meta = {key: value for key, value in parsed.front.items() if key in KNOWN}
    unknown = {key: value for key, value in parsed.front.items() if key not in KNOWN}
    translated = in_our_words(_normalised(meta, parsed, path), named or (INPUT_VARIABLE,))
    meta = translated.meta
    name = meta.get("name")
    prompt = Prompt(
        name=name.strip() if isinstance(name, str) and name.strip() else default_name(path),
        messages=messages,
        variables=named or (INPUT_VARIABLE,),
        implicit_input=not named,
        fingerprint=text_digest(canonical([[turn.role, turn.content] for turn in messages])),
        meta=meta,
        unknown=unknown,
        path=str(path),
    )
    odd = [Problem.warning(path, parsed.lines.get(key), sentence) for key, sentence in translated.odd]
    return prompt, [*_warnings(prompt, parsed, path, keys), *odd]


def _variables(parsed: ParsedPrompt, path: Path | str) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for each in parsed.messages:
        try:
            names.update(dict.fromkeys(named_variables([each.message.content])))
        except TemplateSyntaxError as failure:
            line = each.line + max(failure.lineno, 1) - 1
            problem = (
                f"the template is broken: {(failure.message or '').rstrip('.')}; text with {{{{ or {{% goes between "
            )
            raise PromptFileError(problem + "{% raw %} and {% endraw %}", path=path, line=line) from None
    return tuple(names)


def _normalised(meta: dict[str, object], parsed: ParsedPrompt, path: Path | str) -> dict[str, object]:
    """Inputs as a mapping of names (Prompty v1 has one, v2 a list), samples as one list."""
    result = dict(meta)
    for key in ("inputs", "sample"):
        value = result.get(key)
        file = _FILE.match(value.strip()) if isinstance(value, str) else None
        if file is not None:
            del result[key]
            result.setdefault("samples", [{"file": file.group(1)}])
    if "inputs" in result:
        result["inputs"] = _inputs(result["inputs"], parsed.lines.get("inputs"), path)
    sample = result.pop("sample", None)
    if sample is not None and "samples" not in result:
        result["samples"] = [sample] if isinstance(sample, Mapping) else sample
    return result


def _inputs(declared: object, line: int | None, path: Path | str) -> dict[str, object]:
    if declared is None:
        return {}
    if isinstance(declared, list):
        pairs: dict[str, object] = {}
        for item in declared:
            name = item if isinstance(item, str) else item.get("name") if isinstance(item, Mapping) else None
            if not isinstance(name, str):
                raise PromptFileError("each of the 'inputs' needs a 'name'", path=path, line=line)
            about = item if isinstance(item, Mapping) else {}
            pairs[name] = {key: value for key, value in about.items() if key != "name"}
        return pairs
    if isinstance(declared, Mapping):
        return {name: declaration(about) for name, about in declared.items()}
    raise PromptFileError("'inputs' must name the variables, as a mapping or a list", path=path, line=line)


def _template_language(template: object) -> str | None:
    """What Prompty's ``template`` names: a word, ``format``, or (v2) the ``kind`` of ``format``; v1 wrote ``type``."""
    for key in ("format", "kind", "type"):
        if isinstance(template, Mapping) and key in template:
            template = template[key]
    return template.lower() if isinstance(template, str) else None


def _warnings(prompt: Prompt, parsed: ParsedPrompt, path: Path | str, keys: Collection[str]) -> list[Problem]:
    warnings = [Problem.warning(path, None, text) for text in parsed.warnings]

    def warn(message: str, key: str, suggestion: str = "") -> None:
        line = parsed.lines.get(key)
        warnings.append(Problem.warning(path, line, message, suggestion))

    for key in islice((key for key in prompt.unknown if key not in keys), MOST_HINTS):
        hint = did_you_mean(key, keys) or "it is kept, but not used"
        warn(f"the front matter key {key!r} is not known", key, hint)
    language = _template_language(prompt.meta.get("template"))
    if language not in (None, "jinja2", "jinja"):
        warn(
            f"the template is declared as {language!r}, but read as Jinja",
            "template",
            "{{name}} means the same in both",
        )
    declared = prompt.meta.get("inputs") or {}
    for name in declared:
        if name not in (*prompt.variables, *prompt.checks_only):
            warn(f"the input {name!r} is declared but not used", "inputs", f"use it as {{{{{name}}}}} or remove it")
    for name in prompt.variables:
        if declared and name not in declared and not prompt.implicit_input:
            warn(f"the variable {name!r} is used but not declared among the inputs", "inputs", "declare it")
    return warnings


def file_of(
    name: str, messages: Sequence[Message], front: Mapping[str, Any] | None = None, *, stem: str = "prompt"
) -> tuple[str, str]:
    """A file name and a text that read back as these messages: Markdown, or JSON where that would not do.

    Args:
        front: further front matter. stem: what the file is called, without its ending.
    """
    front = front or {}
    turns = "\n\n".join(f"{message.role}:\n{message.content}" for message in messages)
    rest = yaml_writer.document(front) if front else ""
    text = f"---\nname: {json.dumps(name)}\n{rest}---\n{turns}\n"
    if _reads_back(text, messages):
        return f"{stem}.md", text
    data = {"name": name, **front, "messages": [message.to_dict() for message in messages]}
    return f"{stem}.json", json.dumps(data, ensure_ascii=False, indent=1) + "\n"


def _reads_back(text: str, messages: Sequence[Message]) -> bool:
    try:
        return parse(text, "prompt.md").messages == tuple(messages)
    except PromptFileError:
        return False
