"""YAML 1.2 (and so JSON) inside of values, read into plain JSON data; total and bounded."""

from __future__ import annotations

from promptpex.assertions.javascript import js_values
from promptpex.assertions.model import Unscorable
from promptpex.core.errors import CheckError


def read(source: str, what: str) -> object:
    """The data that a text holds as JSON or YAML.

    Raises:
        Unscorable: code ``bad-value``: it is neither, nests too deep or grows too large.
    """
    try:
        return js_values.strict_json(source)
    except js_values.NotJson:
        pass
    from promptpex.documents import yaml_reader

    try:
        return yaml_reader.load(source, error=CheckError, what=what).data
    except CheckError as error:
        raise Unscorable("bad-value", error.message) from error
