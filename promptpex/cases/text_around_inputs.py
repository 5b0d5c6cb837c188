"""Artifacts: what an author model leaves around an input instead of giving the input alone."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from promptpex.cases.comparable_words import folded, words

_OPENERS = (
    "here are", "here is", "here's", "here re", "below are", "below is", "these are", "the following", "sure",
    "certainly", "of course", "hier sind", "hier ist", "voici", "aquí están", "aquí tienes", "a continuación",
    "aqui estão", "ecco", "hier zijn", "dưới đây là", "sau đây là", "вот", "ниже", "以下是", "以下は", "다음은",
    "فيما يلي", "यहाँ", "oto", "zde", "işte", "berikut",
)  # fmt: skip
_THINGS = (
    r"test[\s_-]*(?:cases?|inputs?|data|eingaben?|fälle|fall|gevallen)|sample inputs?|example inputs?|inputs? that|"
    r"valid inputs?|casos? de (?:prueba|teste)|cas de test|entrées de test|casi di test|trường hợp kiểm thử|"
    r"đầu vào kiểm thử|тестов\w+ (?:пример|вход|случа)\w*|测试(?:用例|输入)|測試|テスト(?:ケース|入力)|테스트"
)
_PREAMBLE = re.compile(rf"^\W*(?:please\s+provide|(?:{'|'.join(map(re.escape, _OPENERS))}))\b.*?(?:{_THINGS})", re.I)
_LABEL = re.compile(r"^\W*test[\s_-]*(?:case|input)s?\s*(?:no\.?|nr\.?|number|#)?\s*\d*\s*[:.)\-–]\s*\S", re.I)
_COLUMNS = frozenset(
    ("ruleid", "rule id", "testid", "test id", "testinput", "test input", "expectedoutput", "expected output",
     "reasoning", "scenario", "input", "inputs", "rule", "id", "expected", "output")
)  # fmt: skip


def preamble(text: str) -> str | None:
    """The line in which the author introduces tests instead of giving one, or None."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return None
    if _PREAMBLE.match(lines[0]) or _LABEL.match(lines[0]):
        return lines[0][:80]
    last = lines[-1]
    alone = len(lines) == 1 and _PREAMBLE.search(_last_sentence(last)) is not None
    return last[:80] if alone and last.endswith((":", "：")) else None


def _last_sentence(line: str) -> str:
    return re.split(r"(?<=[.!?。])\s*", line.rstrip(":： "))[-1]


def csv_artifact(text: str, variables: Sequence[str]) -> str | None:
    """What of a CSV file sticks to the text, or None: a header row, a numbered row, or the quotes of a cell."""
    plain = text.strip()
    cells = [folded(cell.strip(' "')) for cell in plain.split(",")]
    column_names = _COLUMNS | {folded(name) for name in variables}
    if len(cells) >= 3 and "\n" not in plain and all(cell in column_names for cell in cells):
        return "it is a header row"
    if re.match(r'^\d+\s*,\s*\d+\s*,\s*"', plain):
        return "it begins like a row of a CSV file"
    if plain.endswith(('",', '";')) and plain.count('"') % 2 == 1:
        return "it ends with the quote and separator of a cell"
    if re.match(r'^",\s*"', plain) or (re.match(r'^"""[^"]', plain) and plain.endswith('"""')):
        return "it begins with the quotes of a cell"
    return None


def json_artifact(text: str, variables: Sequence[str]) -> str | None:
    """The names of the variables that the text wraps itself in as JSON, or None."""
    plain = text.strip()
    if not plain.startswith(("{", "[")):
        return None
    try:
        value = json.loads(plain)
    except (ValueError, RecursionError):
        return None
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    keys = set(value) if isinstance(value, dict) else set()
    shell = keys & ({"inputs", "cases", "reasoning"} | (set(variables) - {"input"}))
    whole = keys == set(variables) or {"inputs", "reasoning"} <= keys or keys == {"cases"}
    return ", ".join(sorted(shell or keys)) if whole else None


def fenced(text: str) -> bool:
    """Whether the whole text is one code fence."""
    lines = text.strip().splitlines()
    marks = [number for number, line in enumerate(lines) if line.strip().startswith(("```", "~~~"))]
    return len(lines) > 1 and marks == [0, len(lines) - 1] and lines[-1].strip() in ("```", "~~~")


def is_placeholder(text: str, variables: Sequence[str]) -> bool:
    """Whether the text is nothing but a placeholder, such as ``{{sentence}}`` or ``[your text here]``."""
    plain = text.strip()
    inner = re.fullmatch(r"\{\{\s*(\w+)\s*\}\}|<\s*(\w+)\s*>|\[([^\[\]]{1,60})\]|\{(\w+)\}", plain)
    if inner is None:
        return False
    name = next(part for part in inner.groups() if part is not None)
    parts = words(name)
    return name in variables or (bool(parts) and parts[0] in ("your", "insert") and len(parts) > 1)
