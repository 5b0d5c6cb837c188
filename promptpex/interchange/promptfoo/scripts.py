"""Programs in JavaScript files as scripts of our sandbox: nothing of them is run at import."""

from __future__ import annotations

import json
import re

from promptpex.codecs.text.inputs_as_text import has_template, raw
from promptpex.core.translation import stored
from promptpex.interchange.promptfoo.files import FILE, ConfigFiles
from promptpex.interchange.reading.foreign_values import At

ENDINGS = (".js", ".cjs", ".mjs")
_PROGRAMS = (*ENDINGS, ".ts", ".py")
_MODULES = re.compile(r"(?m)\brequire\s*\(|^\s*import\b|\bimport\s*\(")
_EXPORTED = re.compile(r"(?m)^(\s*)export\s+default\s+")
_NO_MODULES = stored("{name} needs modules, which the sandbox for checks does not have")


def script_of(code: str, function: str) -> str | None:
    """The code of a module as the body of a script; None where it needs other modules."""
    if _MODULES.search(code):
        return None
    code = _EXPORTED.sub(r"\1module.exports = ", code)
    exported = f"module.exports[{json.dumps(function)}]" if function else "(module.exports.default || module.exports)"
    body = (
        "const module = {exports: {}};\nconst exports = module.exports;\n"
        f"{code.rstrip()}\nreturn {exported}(output, context);"
    )
    return raw(body)


def transform_of(files: ConfigFiles, value: object, at: At) -> str | None:
    """A transform as a JavaScript expression or lines that return; None where it is none, which is noted.

    Raises:
        InputError: its file cannot be read, or is outside of the folder.
    """
    if not isinstance(value, str) or not value.strip():
        return None
    if not value.startswith(FILE):
        return value
    name, function = named_function(value)
    path = files.path_of(name, at)
    if path.suffix.lower() not in ENDINGS:
        files.left_out(at, stored("a transform must be JavaScript; {name} is in another language", name=path.name))
        return None
    code = files.text(path)
    script = script_of(code, function)
    if script is None or has_template(code):
        why = stored("{name} contains template markup, which a transform would fill in", name=path.name)
        files.left_out(at, _NO_MODULES.format(name=path.name) if script is None else why)
        return None
    if "export" not in code:
        files.left_out(at, stored("{name} exports no function", name=path.name))
        return None
    files.came("transform", at)
    return script


def named_function(value: str) -> tuple[str, str]:
    """The name of a program's file, and the function in it that is meant, where one is named."""
    name, _, function = value.removeprefix(FILE).rpartition(":")
    return (name, function) if name.lower().endswith(_PROGRAMS) else (value.removeprefix(FILE), "")
