#!/usr/bin/env python3
"""Measures the package: sizes, types, names, what nothing uses, and how packages import each other.

    python scripts/measure.py            # a line for each figure; exit code 1 where one is over its limit
    python scripts/measure.py --places   # with the places that were counted

``tests/repository/test_measure.py`` holds the limits. A limit is only ever lowered.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from measuring import figures, settings, usage  # noqa: E402
from measuring.fields import unread_fields  # noqa: E402
from measuring.tree import Module, modules  # noqa: E402

FOR_OTHERS = {
    "promptpex.judging.modes.register": "judge modes of other programs",
    "promptpex.judging.modes.unregister": "judge modes of other programs",
    "promptpex.workflow.stages.register": "stages of other programs",
    "promptpex.workflow.stages.unregister": "stages of other programs",
    "promptpex.core.response_store.ResponseStore.entries": "stores: programs that go through all replies",
    "promptpex.store.postgres.PostgresStore.entries": "stores: programs that go through all replies",
    "promptpex.store.sqlite.store.SqliteStore.entries": "stores: programs that go through all replies",
}
"""Definitions that the package itself does not call, with whom they are for; what only they use needs no line."""

FIELDS_FOR_OTHERS = {
    "promptpex/interchange/format.py Format.reads": "a test holds it to what the format has a function for",
}
"""Fields of dataclasses that the package itself does not read, with who does."""

SMALL_FILES = {
    "promptpex/core/shares.py": "shares as people write them: settings, flags and programs take them",
    "promptpex/core/ids.py": "how everything is hashed",
    "promptpex/core/temporary_environment.py": "worker processes and litellm are started with it",
    "promptpex/report/colours.py": "the one place of colours: reports and progress share it",
    "promptpex/stats/holm.py": "a method with a source of its own, shared by three tests",
}
"""Files of less than 30 lines, with the reason that they stand alone."""

PRIVATE_PARTS = {
    "getattr(reply, '_hidden_params', None)": "where litellm documents that the cost of a reply is",
    "ray._private.worker": "Ray prints what nodes lost into stdout, whatever it is told",
}
"""Private parts of other libraries that are used all the same, with the reason."""


MOST_FILES = 31
"""More than a reader takes in at a glance; a folder of so many is divided."""

MOST_IMPORTS = 140
"""Pairs of top-level packages of which one imports the other."""


@dataclass(frozen=True)
class Figure:
    """A figure with its limit (None: it is only shown), and what was counted."""

    name: str
    value: float
    limit: float | None = None
    places: tuple[str, ...] = ()

    @property
    def is_over(self) -> bool:
        return self.limit is not None and self.value > self.limit

    def line(self) -> str:
        """One row of the table."""
        limit = "" if self.limit is None else f"{self.limit:g}"
        value = f"{self.value:.1f}".removesuffix(".0")
        return f"{self.name:<52}{value:>8}{limit:>8}  {'over its limit' if self.is_over else ''}".rstrip()


def figures_of(parts: list[Module], tests: list[Module]) -> Iterator[Figure]:
    """Every figure, of the package's modules and of those of its tests in which a name may be that is looked for."""
    yield from _sizes(parts)
    yield from _names(parts, tests)
    yield from _uses(parts)
    yield from _packages(parts)


def _sizes(parts: list[Module]) -> Iterator[Figure]:
    yield Figure("lines of the package", sum(one.lines for one in parts), 99_700)
    yield Figure("modules", len(parts), 532)
    yield Figure("classes", figures.classes(parts), 811)
    yield Figure("lines of tests", lines_of_tests(), 74_000)
    lines, place = figures.longest_function(parts)
    yield Figure("lines of the longest function", lines, 50, (place,))
    lines, place = figures.longest_file(parts)
    yield Figure("lines of the longest file", lines, 500, (place,))
    small = [path for path in figures.small_files(parts) if path not in SMALL_FILES]
    yield Figure("files under 30 lines without a reason", len(small), 0, tuple(small))
    places = tuple(f"{name}: {times}" for name, times in figures.any_by_package(parts).items() if times)
    yield Figure("Any per thousand lines", figures.any_per_thousand(parts), 12.4, places)


def lines_of_tests() -> int:
    return sum(path.read_bytes().count(b"\n") for path in (ROOT / "tests").rglob("*.py"))


def _names(parts: list[Module], tests: list[Module]) -> Iterator[Figure]:
    places = figures.narration(parts)
    yield Figure("names such as found, said or told", len(places), 0, tuple(places))
    places = figures.narration(tests)
    yield Figure("the same in tests", len(places), 0, tuple(places))
    places = figures.private_words(parts)
    yield Figure("words of our own for names", len(places), 0, tuple(places))
    places = figures.private_words_in_files(_pages_and_data())
    yield Figure("the same in pages and keys of YAML", len(places), 0, tuple(places))
    shared = tuple(f"{name}: {', '.join(paths)}" for name, paths in figures.duplicate_classes(parts).items())
    yield Figure("class names used more than once", len(shared), 1, shared)


def _pages_and_data() -> list[Path]:
    """The pages of the project, and the YAML files that it ships."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return sorted(page for page in pages if page.name != "CHANGELOG.md") + sorted(
        file for folder in ("promptpex", "benchmarks", "docs") for file in (ROOT / folder).rglob("*.yaml")
    )


def _uses(parts: list[Module]) -> Iterator[Figure]:
    whole = usage.Usage(parts, usage.templates(ROOT), frozenset(FOR_OTHERS))
    counted = whole.unused()
    places = tuple(f"{entry.path}:{entry.line} {entry.key[1]}" for entry in counted)
    yield Figure("definitions that nothing uses", len(places), 0, places)
    others = tuple(f"{name}: {reason}" for name, reason in FOR_OTHERS.items())
    yield Figure("definitions for other programs", len(others), len(FOR_OTHERS), others)
    fields = [place for place in unread_fields(parts, usage.templates(ROOT)) if place not in FIELDS_FOR_OTHERS]
    yield Figure("fields of dataclasses that nothing reads", len(fields), 0, tuple(fields))
    for name, idle in (("options", settings.unread_options(whole)), ("settings", settings.unread_settings(parts))):
        yield Figure(f"{name} that nothing reads", len(idle), 0, tuple(idle))
    private = [place for place in figures.private_parts(parts) if place.split(" ", 1)[1] not in PRIVATE_PARTS]
    yield Figure("private parts of other libraries", len(private), 0, tuple(private))


def _packages(parts: list[Module]) -> Iterator[Figure]:
    names = sorted({figures.top(one.name) for one in parts})
    yield Figure("top-level packages and modules", len(names), 26, tuple(names))
    sizes = figures.folder_sizes(parts)
    places = tuple(f"{folder}: {count}" for folder, count in sizes.items())
    yield Figure("files directly in one folder", max(sizes.values()), MOST_FILES, places)
    imports = figures.package_imports(parts)
    yield Figure("imports between them", len(imports), MOST_IMPORTS, tuple(f"{a} -> {b}" for a, b in sorted(imports)))
    yield Figure("levels", figures.levels(imports), 8)


def measured() -> list[Figure]:
    """The figures of the tree that this script is in."""
    return list(figures_of(modules(), modules(ROOT / "tests", figures.NARRATION)))


def main() -> int:
    """Prints the table; 1 where a figure is over its limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--places", action="store_true", help="print what was counted below each figure")
    with_places = parser.parse_args().places
    gc.disable()  # the syntax trees are a million objects, of which none is given up
    rows = measured()
    print(f"{'':<52}{'now':>8}{'limit':>8}")
    for row in rows:
        print(row.line())
        if row.places and (with_places or row.is_over):
            print(*(f"    {place}" for place in row.places), sep="\n")
    return int(any(row.is_over for row in rows))


if __name__ == "__main__":
    sys.exit(main())
