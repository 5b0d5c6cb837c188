"""The figures of ``scripts/measure.py`` stay within their limits, and the counts see what they are there to see."""

from __future__ import annotations

import ast
import gc
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import measure  # noqa: E402
from measuring import figures, settings, usage  # noqa: E402
from measuring.fields import unread_fields  # noqa: E402
from measuring.tree import Module, modules  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def _trees_are_forgotten() -> Iterator[None]:
    """The syntax trees are 1.6 million objects, at which the garbage collector would look until the tests end."""
    gc.disable()
    yield
    for cached in (modules, figures._bound, usage._entries, settings._settings_read):
        cached.cache_clear()
    gc.enable()


def module(text: str, path: str = "promptpex/shop/till.py") -> Module:
    name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return Module(name, path, len(text.splitlines()), ast.parse(text))


@pytest.mark.long
def test_every_figure_is_within_its_limit() -> None:
    measured = measure.measured()
    over = ["\n".join((figure.line(), *figure.places)) for figure in measured if figure.is_over]
    assert not over, "\n".join(over)
    assert sum(figure.limit is not None for figure in measured) > 10


def test_what_is_listed_as_an_exception_still_exists() -> None:
    parts = modules()
    idle = {".".join(entry.key) for entry in usage.Usage(parts, usage.templates(ROOT)).unused()}
    used = {name for name in measure.FOR_OTHERS if not {name, name.rpartition(".")[0]} & idle}
    assert not used, "used by now: take it off the list"
    assert set(measure.FIELDS_FOR_OTHERS) <= set(unread_fields(parts, usage.templates(ROOT)))
    assert set(measure.SMALL_FILES) <= set(figures.small_files(parts))
    assert set(measure.PRIVATE_PARTS) <= {place.split(" ", 1)[1] for place in figures.private_parts(parts)}


def test_a_definition_counts_as_used_only_through_code_that_is_used() -> None:
    till = module(
        "from promptpex.shop import price\n__all__ = ['exported']\nLIMIT = 3\nUNREAD = 4\n\n"
        "def exported(): return helper()\ndef helper(): return 1\ndef again(): return again()\n"
        "class Till:\n    def open(self): return LIMIT\n    def shut(self): return 2\n"
        "def start(): return Till().open() + price.of()\nstart()\n"
    )
    price = module("def of(): return 1\ndef off(): return 2\n", "promptpex/shop/price.py")
    root = module("", "promptpex/shop/__init__.py")
    unused = [entry.key[1] for entry in usage.Usage([root, till, price]).unused()]
    assert unused == ["UNREAD", "exported", "helper", "again", "Till.shut", "off"]
    kept = usage.Usage([root, till, price], "{{ till.shut }}", frozenset({"promptpex.shop.till.exported"}))
    assert [entry.key[1] for entry in kept.unused()] == ["UNREAD", "again", "off"]


def test_an_option_counts_as_read_only_where_its_own_command_reads_it() -> None:
    from promptpex.cli.commands import extract, run

    parts = usage.Usage(modules())
    against = [option for option in run.command.params if option.name == "against"]
    for callback, idle in ((run.command.callback, []), (extract.command.callback, against)):
        assert settings.idle_options(click.Command("x", params=against, callback=callback), parts) == idle


def test_a_field_counts_as_read_through_an_attribute_a_pattern_a_text_or_a_page() -> None:
    till = module(
        "@dataclass(frozen=True)\nclass Till:\n    seen: int\n    matched: int\n    column: int\n    shown: int\n"
        "    idle: int = 0\n    LIMIT = 3\nclass Plain:\n    other: int\n"
        "def of(till): till.idle = 3; return till.seen, 'column'\n"
        "match Till(1):\n    case Till(matched=1): pass\n"
    )
    assert unread_fields([till], "{{ till.shown }}") == ["promptpex/shop/till.py Till.idle"]


def test_names_types_and_sizes_are_counted_where_they_stand() -> None:
    text = (
        "from typing import Any\nclass Row: ...\ndef f(told: Any) -> None:\n    for found in told: pass\n"
        "    told = found.said\n    yaml._private(found)\n    self._own = 1\n    self._own\n"
        "def _said(): sys.modules['ray._private.worker']\n"
    )
    parts = [module(text), module("class Row: ...\n", "promptpex/price.py")]
    assert figures.any_per_thousand(parts) == pytest.approx(1000 / 10)
    assert [place.split(" ")[1] for place in figures.narration(parts)] == ["told", "found", "told", "_said"]
    words = module("def _not_mended(kin): ...\nclass OddTwins: ...\nSTANDING_S = kindred = outstanding = 1\n")
    names = {place.split(" ")[1] for place in figures.private_words([words])}
    assert names == {"_not_mended", "kin", "OddTwins", "STANDING_S"}
    assert figures.private_words([module("", "promptpex/word_salad.py")]) == ["promptpex/word_salad.py"]
    assert figures.duplicate_classes(parts) == {"Row": ["promptpex/shop/till.py", "promptpex/price.py"]}
    assert figures.private_parts(parts) == [
        "promptpex/shop/till.py:6 yaml._private", "promptpex/shop/till.py:9 ray._private.worker"
    ]  # fmt: skip
    assert figures.small_files(parts) == ["promptpex/shop/till.py", "promptpex/price.py"]
    assert figures.longest_function(parts) == (6, "promptpex/shop/till.py:3 f")


def test_words_of_our_own_are_looked_for_in_pages_and_in_keys_of_yaml(tmp_path: Path) -> None:
    page, data = tmp_path / "page.md", tmp_path / "data.yaml"
    page.write_text("# Kin\nIt was mended, a standing rule.\nThe residue_x of kindred.\n", "utf-8")
    data.write_text("cases:\n  - footing: kin\n    rests_on: x\n    text: standing\n", "utf-8")
    places = figures.private_words_in_files([page, data])
    assert places == ["page.md:1 kin", "page.md:3 residue", "data.yaml:2 footing", "data.yaml:3 rests_on"]


def test_the_files_of_each_folder_are_counted_without_its_init() -> None:
    paths = ("promptpex/a/__init__.py", "promptpex/a/one.py", "promptpex/a/two.py", "promptpex/b/one.py")
    parts = [module("", path) for path in paths]
    assert figures.folder_sizes(parts) == {"promptpex/a": 2, "promptpex/b": 1}


def test_levels_are_counted_along_the_longest_way() -> None:
    upper = module("from promptpex.shop import till\nfrom promptpex import price\n", "promptpex/web/page.py")
    lower = module("from promptpex.price import x\n")
    imports = figures.package_imports([upper, lower, module("x = 1\n", "promptpex/price.py")])
    assert imports == {("web", "shop"), ("web", "price"), ("shop", "price")}
    assert figures.levels(imports) == 3
    with pytest.raises(ValueError, match="imports itself"):
        figures.levels({("a", "b"), ("b", "a")})
