"""Which package may import which: the table of ARCHITECTURE.md, held to the code.

A package here is a module or folder directly under ``promptpex/``. Every import counts, wherever it stands: at the
top, inside a function, or under ``TYPE_CHECKING``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Set
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "promptpex"
ENTRY = "promptpex"
"""What ``import promptpex`` means inside the package: a climb to the public names."""

LEVELS: dict[int, tuple[str, ...]] = {
    0: ("core", "engines"),
    1: ("codecs", "stats"),
    2: ("documents", "llm", "tables"),
    3: ("assertions", "grading", "interchange", "judging", "promptfile", "report", "store"),
    4: ("alignment", "cases", "config", "specs", "synthesis"),
    5: ("workflow",),
    6: ("api", "web"),
    7: ("cli", "pytest_plugin", "__init__"),
    8: ("__main__",),
}
LEVEL = {package: level for level, packages in LEVELS.items() for package in packages}

FILES = {"core", "codecs", "documents"}
STAGES = {"specs", "cases", "judging", "synthesis", "alignment"}
ASKING = FILES | {"engines", "llm"}
EVERYTHING = set(LEVEL) - {"cli", "pytest_plugin", "__init__", "__main__"}

MAY_IMPORT: dict[str, set[str]] = {
    "core": set(),
    "engines": {"core"},
    "codecs": {"core"},
    "stats": {"core"},
    "documents": {"core", "codecs"},
    "tables": {"core", "codecs", "stats"},
    "llm": {"core", "codecs", "engines"},
    "assertions": FILES,
    "grading": FILES | {"stats"},
    "promptfile": FILES,
    "config": {"core", "codecs", "judging", "llm"},
    "store": {"core", "codecs", "llm"},
    "report": {"core", "codecs", "stats", "tables"},
    "interchange": FILES | {"llm"},
    "judging": ASKING,
    "specs": ASKING | {"assertions", "judging", "promptfile"},
    "cases": ASKING | {"assertions", "interchange", "promptfile"},
    "synthesis": ASKING | {"assertions", "grading", "judging", "promptfile", "stats"},
    "alignment": FILES | {"grading", "stats"},
    "workflow": ASKING
    | STAGES
    | {"assertions", "config", "grading", "interchange", "promptfile", "report", "stats", "store", "tables"},
    "api": {"codecs", "config", "core", "llm", "promptfile", "report", "synthesis", "workflow"},
    "web": FILES | {"alignment", "grading", "report", "stats", "tables"},
    "cli": EVERYTHING,
    "pytest_plugin": FILES | {"config", "promptfile", "report", "workflow"},
    "__init__": EVERYTHING,
    "__main__": {"cli"},
}

STAGES_SEE = {"client", "model_in_role", "schemas"}
"""The modules of ``llm`` that a stage may use: ways to ask, none of the providers, wrappers or stores."""

HOMES: dict[str, tuple[str, ...]] = {
    "aiohttp": ("llm",),
    "babel": ("core",),
    "highspy": ("synthesis",),
    "litellm": ("llm",),
    "numpy": ("stats", "tables", "synthesis"),
    "ollama": ("llm",),
    "openpyxl": ("codecs",),
    "psycopg": ("store",),
    "pandas": ("api", "tables", "report"),
    "pyarrow": ("codecs",),
    "py_mini_racer": ("assertions",),
    "pydantic_monty": ("assertions",),
    "ray": ("engines",),
    "rich": ("cli", "report"),
    "starlette": ("web",),
    "uvicorn": ("web",),
    "xllamacpp": ("llm",),
}
"""Libraries that are slow or large, each with the packages that may use it; none of them at the top of a module."""


@dataclass(frozen=True, slots=True)
class Import:
    """One imported module, with the place of its import."""

    path: Path
    line: int
    module: str
    late: bool

    @property
    def package(self) -> str:
        return package_of(self.path)

    @property
    def target(self) -> str | None:
        """The package that is imported; ``promptpex`` for the root; None for a foreign module."""
        parts = self.module.split(".")
        if parts[0] != ENTRY:
            return None
        return parts[1] if len(parts) > 1 else ENTRY

    def __str__(self) -> str:
        return f"{self.path.relative_to(PACKAGE.parent).as_posix()}:{self.line} imports {self.module}"


def package_of(path: Path) -> str:
    """The package that a file of the package is in."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def packages_on_disk() -> set[str]:
    """Every module and every folder of the package that holds something."""
    modules = {path.stem for path in PACKAGE.glob("*.py")}
    folders = {
        path.name
        for path in PACKAGE.iterdir()
        if path.is_dir() and not path.name.startswith(("_", ".")) and any(path.rglob("*.py"))
    }
    return modules | folders


def imports_of(path: Path) -> Iterator[Import]:
    """Every import of a file; ``from promptpex import x`` counts as an import of the package ``x`` if there is one."""
    yield from _imports_in(ast.parse(path.read_text(encoding="utf-8")), path, late=False)


def _imports_in(node: ast.AST, path: Path, *, late: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (Import(path, child.lineno, alias.name, late) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            yield from (Import(path, child.lineno, module, late) for module in _modules(child))
        elif isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):  # no expression holds an import
            yield from _imports_in(child, path, late=late or _is_late(child))


def _modules(node: ast.ImportFrom) -> list[str]:
    assert node.level == 0, f"relative import of {node.module}"
    assert node.module is not None
    if node.module != ENTRY:
        return [node.module]
    return [f"{ENTRY}.{alias.name}" if alias.name in LEVEL else ENTRY for alias in node.names]


def _is_late(node: ast.AST) -> bool:
    """Whether what stands inside runs only when it is called, or only for the type checker."""
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.unparse(node.test)
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


SOURCES = sorted(path for path in PACKAGE.rglob("*.py") if "_prompts" not in path.parts)


@cache
def imports() -> tuple[Import, ...]:
    """Every import of the package's files."""
    return tuple(imported for path in SOURCES for imported in imports_of(path))


@cache
def inner() -> tuple[Import, ...]:
    """Those that go from one package of ours to another."""
    return tuple(one for one in imports() if one.target is not None and one.target != one.package)


def test_every_package_is_in_the_table() -> None:
    assert set(MAY_IMPORT) == set(LEVEL)
    unknown = packages_on_disk() - set(LEVEL)
    assert not unknown, f"packages without a level: {sorted(unknown)}; give them a place in LEVELS and MAY_IMPORT"


def test_no_package_imports_what_its_row_does_not_allow() -> None:
    wrong = [str(imported) for imported in inner() if imported.target not in (MAY_IMPORT[imported.package] | {ENTRY})]
    assert not wrong, "\n".join(wrong)


def test_nothing_inside_imports_the_package_root() -> None:
    wrong = [str(imported) for imported in imports() if imported.target == ENTRY]
    assert not wrong, "\n".join(wrong)


def test_the_table_allows_no_import_of_a_higher_level() -> None:
    upward = [(package, to) for package, allowed in MAY_IMPORT.items() for to in allowed if LEVEL[to] > LEVEL[package]]
    assert not upward


def test_the_table_has_no_cycle() -> None:
    order = list(TopologicalSorter(MAY_IMPORT).static_order())
    assert set(order) == set(LEVEL)


def modules_used(source: str, known: Set[str]) -> set[str]:
    """The modules of ours that a file imports when it runs, at its top or inside a function; ``from package import x``
    is the module ``x`` if there is one. What only the type checker imports is left out."""
    used, todo = set[str](), list[ast.AST](ast.parse(source).body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            todo += node.orelse
        elif isinstance(node, ast.Import):
            used.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            used |= inner if inner <= known else {str(node.module), *inner}
        elif not isinstance(node, ast.expr):
            todo += ast.iter_child_nodes(node)
    return {name for name in used if name in known}


def test_no_file_is_in_a_circle() -> None:
    modules = {path.relative_to(ROOT).with_suffix(""): path for path in SOURCES}
    named = {".".join(place.parts).removesuffix(".__init__"): path for place, path in modules.items()}
    used = {name: modules_used(path.read_text(encoding="utf-8"), named.keys()) for name, path in named.items()}
    TopologicalSorter(used).prepare()  # raises CycleError, which names the files of a circle


def test_a_circle_of_files_would_be_seen() -> None:
    known = {"promptpex.a", "promptpex.b", "promptpex.b.c", "promptpex.d", "promptpex.e"}
    source = (
        "from promptpex import a\ndef f():\n    from promptpex.b import c\n    import promptpex.e\n"
        "if TYPE_CHECKING:\n    import promptpex.d\n"
    )
    assert modules_used(source, known) == {"promptpex.a", "promptpex.b.c", "promptpex.e"}
    assert modules_used("from promptpex.b import Thing, c", known) == {"promptpex.b", "promptpex.b.c"}
    with pytest.raises(CycleError, match="x"):
        TopologicalSorter({"x": {"y"}, "y": {"x"}}).prepare()


def test_stages_see_no_more_of_the_models_than_how_to_ask() -> None:
    wrong = [
        str(imported)
        for imported in inner()
        if imported.package in STAGES and imported.target == "llm" and imported.module.split(".")[2] not in STAGES_SEE
    ]
    assert not wrong, "\n".join(wrong)


def test_the_table_names_modules_of_the_models_that_exist() -> None:
    assert not [name for name in STAGES_SEE if not (PACKAGE / "llm" / f"{name}.py").exists()]


@pytest.mark.parametrize("package", ["tables", "report", "web", "engines", "stats"])
def test_packages_that_cannot_spend_money(package: str) -> None:
    reached, todo = set[str](), [package]
    while todo:
        for allowed in MAY_IMPORT[todo.pop()] - reached:
            reached.add(allowed)
            todo.append(allowed)
    spending = reached & {"llm", "workflow"}
    assert not spending, f"{package} reaches {sorted(spending)}"


def test_heavy_libraries_stay_at_home_and_come_late() -> None:
    heavy = [(imported, imported.module.split(".")[0]) for imported in imports()]
    away = [str(imported) for imported, name in heavy if name in HOMES and imported.package not in HOMES[name]]
    early = [str(imported) for imported, name in heavy if name in HOMES and not imported.late]
    assert not away, "\n".join(away)
    assert not early, "\n".join(early)


def test_the_table_speaks_of_libraries_in_use() -> None:
    used = {imported.module.split(".")[0] for imported in imports()}
    planned = {name for name, homes in HOMES.items() if not packages_on_disk() & set(homes)}
    idle = set(HOMES) - used - planned
    assert not idle, f"nothing imports {sorted(idle)}: correct the names in HOMES"


def test_the_architecture_page_names_every_package() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)/?` \| (\d)", page, flags=re.MULTILINE))
    missing = packages_on_disk() - set(rows)
    assert not missing, f"ARCHITECTURE.md has no row for {sorted(missing)}"
    wrong = {package: level for package, level in rows.items() if int(level) != LEVEL.get(package)}
    assert not wrong, f"ARCHITECTURE.md gives another level than the table: {wrong}"


def test_an_upward_import_would_be_seen(tmp_path: Path) -> None:
    source = "def f():\n    from promptpex.cli.main import cli\nfrom promptpex import run, stats\nimport pandas\n"
    path = tmp_path / "x.py"
    path.write_text(source, encoding="utf-8")
    imported = [(one.module, one.target, one.late) for one in imports_of(path)]
    assert imported == [
        ("promptpex.cli.main", "cli", True),
        ("promptpex", "promptpex", False),
        ("promptpex.stats", "stats", False),
        ("pandas", None, False),
    ]
