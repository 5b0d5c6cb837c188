"""``docs/files.md`` is what ``scripts/files_page.py`` makes of the schemas; it has every key, and its examples work."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import file_schemas  # noqa: E402
import files_page  # noqa: E402

from promptpex.config import load  # noqa: E402
from promptpex.core.errors import InputError  # noqa: E402
from promptpex.documents import yaml_reader  # noqa: E402
from promptpex.workflow.validation.validate import validate  # noqa: E402
from tests.documents.least_files import keys  # noqa: E402
from tests.documents.shipped import schema_errors  # noqa: E402

DOCS = ROOT / "docs" / "files.md"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OF_A_TABLE = {"MeasuredShare", "JudgeCalibration", "Rating", "messages", "prices"}
"""Parts that promptpex writes, or that an example shows."""

IN_WORDS = {".messages", "inputs.name", "scenarios.name", "models.under_test"}
"""Keys that a sentence or an example has."""


def text() -> str:
    return DOCS.read_text(encoding="utf-8")


def examples() -> dict[str, str]:
    """The whole files on the page, by their sections."""
    sections = re.split(r"^## The ", text(), flags=re.MULTILINE)[1:]
    first = {section.split("\n")[0]: FENCE.search(section) for section in sections}
    return {name: fence[2] for name, fence in first.items() if fence}


def test_the_page_is_what_the_schemas_say() -> None:
    assert text() == files_page.page(), "run `python scripts/files_page.py > docs/files.md`"


@pytest.mark.parametrize("name", file_schemas.NAMES)
def test_every_key_is_on_the_page(name: str) -> None:
    page = text()
    missing = [
        f"{owner}.{key}"
        for owner, key, about in keys(name)
        if owner not in OF_A_TABLE
        and "x-alias-of" not in about
        and not re.search(f"`{re.escape(key)}(?:`|: | = )", page)
    ]
    assert set(missing) <= IN_WORDS


def test_the_examples_are_read_and_nothing_is_wrong_with_them(tmp_path: Path) -> None:
    files = examples()
    assert set(files) == {"prompt", "spec", "cases", "settings"}
    (tmp_path / "promptpex.toml").write_text(files["settings"], encoding="utf-8")
    (tmp_path / "mail.md").write_text(files["prompt"], encoding="utf-8")
    for name in ("spec", "cases"):
        file = tmp_path / f"mail.{name}.yaml"
        file.write_text(files[name], encoding="utf-8")
        assert schema_errors(name, yaml_reader.read(file, error=InputError, what="file").data) == []
    assert [str(problem) for problem in validate([tmp_path / "mail.md"]) if problem.severity != "info"] == []
    assert load({}, start=tmp_path, env={}).settings.repeats == 2
