#!/usr/bin/env python3
"""Brings the catalogues of texts up to date with the code and the templates; makes the catalogue of a new language.

    python scripts/texts.py         # every catalogue: new texts come in without a translation, unused ones go
    python scripts/texts.py fr      # the same, and a catalogue for French where there is none
    python scripts/texts.py --check # says what is missing, and changes nothing; exit code 1 where something is

``tests/repository/test_catalogues.py`` holds the catalogues to what this finds. How to translate: CONTRIBUTING.md.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from promptpex.core.translation import DOMAIN, LOCALE, languages  # noqa: E402
from promptpex.core.translation_catalogue import STORED  # noqa: E402

if TYPE_CHECKING:
    from babel.messages.catalog import Catalog, Message

PACKAGE = ROOT / "promptpex"
CALLS = {"tr": 1, "tr_n": 2, "Key": 1, "stored": 1, "stored_n": 2}
"""What makes a text, and how many keys it takes."""
HOME = PACKAGE / "core" / "translation.py"
HEAD = """{comment}
msgid ""
msgstr ""
"Language: {name}\\n"
"Plural-Forms: {plural}\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=utf-8\\n"
"Content-Transfer-Encoding: 8bit\\n"

"""
COMMENT = "# {name}: the texts of promptpex. CONTRIBUTING.md says how to translate."
PLACES = re.compile(r"\{(\w*)[^}]*\}")


@dataclass(frozen=True, slots=True)
class Text:
    """A text that code or a template uses.

    Attributes:
        keys: the English sentence; of a text that counts, the one for one and the one for several.
        context: ``stored`` for texts that files of data keep.
        file: where it is used.
    """

    keys: tuple[str, ...]
    context: str | None
    file: str


@dataclass(frozen=True, slots=True)
class NotLiteral:
    """A call whose key is not a literal, so that nothing can find it."""

    file: str
    line: int


def used(calls: Iterable[str] = CALLS) -> tuple[list[Text], list[NotLiteral]]:
    """The texts of the package in the order of its files, and the calls that hide theirs.

    Args:
        calls: files in which none of them is are not parsed.
    """
    texts: list[Text] = []
    hidden: list[NotLiteral] = []
    call = re.compile(rf"\b(?:{'|'.join(calls)})\s*\(")
    for suffix, reader in (("py", in_python), ("jinja", in_template)):
        for file in sorted(PACKAGE.rglob(f"*.{suffix}")):
            source = file.read_text(encoding="utf-8")
            if file != HOME and call.search(source):
                _sorted_in(reader(source, _name(file)), texts, hidden)
    return texts, hidden


def _name(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def _sorted_in(found: Iterator[Text | NotLiteral], texts: list[Text], hidden: list[NotLiteral]) -> None:
    for one in found:
        if isinstance(one, Text):
            texts.append(one)
        else:
            hidden.append(one)


def in_python(source: str, file: str) -> Iterator[Text | NotLiteral]:
    """The texts of a module."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id not in CALLS:
            continue
        count = CALLS[node.func.id]
        keys = [part.value for part in node.args[:count] if isinstance(part, ast.Constant)]
        if len(keys) != count or not all(isinstance(key, str) for key in keys):
            yield NotLiteral(file, node.lineno)
        elif node.func.id.startswith("stored"):
            yield from (Text((str(key),), STORED, file) for key in keys)
        else:
            yield Text(tuple(map(str, keys)), None, file)


def in_template(source: str, file: str) -> Iterator[Text | NotLiteral]:
    """The texts of a Jinja template."""
    import jinja2
    from jinja2 import nodes

    for call in jinja2.Environment().parse(source).find_all(nodes.Call):
        if not isinstance(call.node, nodes.Name) or call.node.name not in ("tr", "tr_n"):
            continue
        count = CALLS[call.node.name]
        keys = [part.value for part in call.args[:count] if isinstance(part, nodes.Const)]
        if len(keys) == count and all(isinstance(key, str) for key in keys):
            yield Text(tuple(map(str, keys)), None, file)
        else:
            yield NotLiteral(file, call.lineno)


def catalogue_file(name: str) -> Path:
    """Where the catalogue of a language is."""
    return LOCALE / name / "LC_MESSAGES" / f"{DOMAIN}.po"


def read(name: str) -> Catalog:
    """The catalogue of a language; an empty one where there is none."""
    from babel.messages.catalog import Catalog
    from babel.messages.pofile import read_po

    file = catalogue_file(name)
    if not file.exists():
        return Catalog(locale=name, domain=DOMAIN, header_comment=COMMENT.format(name=name))
    with file.open("rb") as opened:
        return read_po(opened, locale=name, domain=DOMAIN, abort_invalid=True)


def renewed(old: Catalog, texts: list[Text]) -> Catalog:
    """The catalogue with exactly these texts, and the translations that it had for them."""
    from babel.messages.catalog import Catalog

    new = Catalog(locale=old.locale, domain=DOMAIN, header_comment=old.header_comment, fuzzy=False, charset="utf-8")
    for text in texts:
        kept = old.get(text.keys[0], text.context)
        key: str | tuple[str, ...] = text.keys if len(text.keys) > 1 else text.keys[0]
        same = kept is not None and (kept.id == key)
        comments = kept.user_comments if kept is not None else ()
        new.add(
            key,
            kept.string if same and kept else None,
            [(text.file, 0)],
            context=text.context,
            user_comments=comments,
        )
    return new


def missing(catalogue: Catalog) -> list[Message]:
    """The texts that have no translation, or one that is marked as unsure (fuzzy)."""
    return [one for one in catalogue if one.id and (one.fuzzy or not all(forms(one)))]


def forms(message: Message) -> tuple[str, ...]:
    """The translations of a text: one, or one for each form of the plural that the language has."""
    strings = message.string if isinstance(message.string, (tuple, list)) else (message.string,)
    return tuple(string or "" for string in strings)


def places(text: str) -> frozenset[str]:
    """The names of the values that a text shows."""
    return frozenset(PLACES.findall(text))


def written(catalogue: Catalog) -> str:
    """The catalogue as a file: sorted by text, without dates and places, so that changes are small."""
    from babel.messages.pofile import write_po

    body = io.BytesIO()
    write_po(body, catalogue, width=0, sort_output=True, omit_header=True, no_location=True)
    head = HEAD.format(comment=catalogue.header_comment, name=catalogue.locale, plural=catalogue.plural_forms)
    return head + body.getvalue().decode("utf-8").rstrip("\n") + "\n"


def main() -> int:
    """Brings catalogues up to date, or checks them; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("language", nargs="*", help="make a catalogue for this language, such as fr")
    parser.add_argument("--check", action="store_true", help="change nothing")
    given = parser.parse_args()
    texts, hidden = used()
    for one in hidden:
        print(f"{one.file}:{one.line}: the key is not a literal")
    lacking = 0
    for name in dict.fromkeys([*languages()[1:], *given.language]):
        catalogue = renewed(read(name), texts)
        if not given.check:
            catalogue_file(name).parent.mkdir(parents=True, exist_ok=True)
            catalogue_file(name).write_text(written(catalogue), encoding="utf-8")
        without = missing(catalogue)
        lacking += len(without)
        print(f"{name}: {len(catalogue)} texts, {len(without)} without a translation")
    return 1 if hidden or (given.check and lacking) else 0


if __name__ == "__main__":
    raise SystemExit(main())
