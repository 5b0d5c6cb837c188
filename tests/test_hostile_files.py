"""Small files that would cost much: each is read by a whole command in a process with 10 s of CPU and 500 MB.

Files in text are here where something multiplies in them; what only grows with its length is bounded by the length.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.synthesis.repository import Repository

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="only there memory has a limit")]

SECONDS, MEGABYTES, LARGEST = 10, 500, 2_000_000
_LIMITED = f"""
import resource, subprocess, sys
resource.setrlimit(resource.RLIMIT_CPU, ({SECONDS}, {SECONDS}))
resource.setrlimit(resource.RLIMIT_DATA, ({4 * MEGABYTES * 1_000_000}, {4 * MEGABYTES * 1_000_000}))
done = subprocess.run([sys.executable, "-P", "-m", "promptpex", *sys.argv[1:]])
print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1000)
"""
"""A process of its own, since a child's memory is counted from that of the process it was made from."""


def _run(folder: Path, *arguments: str) -> tuple[int, str]:
    """What a command ends with, and what it says; it has kept to the limits and shows no traceback."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PROMPTPEX_")}
    done = subprocess.run(
        [sys.executable, "-I", "-c", _LIMITED, *arguments],
        cwd=folder,
        env=kept | {"PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        check=True,
    )
    code, megabytes = map(int, done.stdout.split()[-2:])
    assert code >= 0, f"ended by signal {-code}: {done.stderr[-500:]}"
    assert megabytes < MEGABYTES, f"{megabytes} MB: {done.stderr[-500:]}"
    assert "internal error" not in done.stderr
    assert "Traceback" not in done.stderr
    return code, done.stderr


@dataclass(frozen=True)
class Hostile:
    """A file, the commands that read it, and what they say; ``code`` is what they end with."""

    write: Callable[[Path], object]
    says: str
    commands: tuple[str, ...]
    code: int = 2


# Workbooks

_MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_FIRST_ROW = '<row><c t="inlineStr"><is><t>q</t></is></c></row>'


def _workbook(sheet: str, before: str = "", strings: str = "", **parts: str) -> Callable[[Path], object]:
    """Writes a workbook of one sheet; ``before`` stands before its root."""
    main = f'<?xml version="1.0"?>{before}<worksheet {_MAIN}>{sheet}</worksheet>'
    kinds = {"workbook.xml": "sheet.main", "s.dat": "worksheet", "sharedStrings.xml": "sharedStrings"}
    overrides = "".join(
        f'<Override PartName="/xl/{name}" ContentType="{_TYPE}.{kind}+xml"/>' for name, kind in kinds.items()
    )
    relation = '<Relationship Id="r{}" Type="{}/{}" Target="{}"/>'
    relations = f'<Relationships xmlns="{_PACKAGE}/relationships">{{}}</Relationships>'
    book = f'<workbook {_MAIN} xmlns:r="{_OFFICE}"><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>'
    content = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">{overrides}</Types>',
        "_rels/.rels": relations.format(relation.format(1, _OFFICE, "officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": book,
        "xl/_rels/workbook.xml.rels": relations.format(relation.format(1, _OFFICE, "worksheet", "s.dat")),
        "xl/s.dat": main,
        "xl/sharedStrings.xml": f"<sst {_MAIN}>{strings}</sst>",
        **parts,
    }

    def write(folder: Path) -> None:
        with zipfile.ZipFile(folder / "a.xlsx", "w", zipfile.ZIP_DEFLATED) as file:
            for name, text in content.items():
                file.writestr(name, text)

    return write


def _rows(rows: str, times: int = 1) -> str:
    return f"<sheetData>{rows * times}</sheetData>"


_TOO_MUCH = "holds far more than its size explains"
_EXCEL = ("import excel a.xlsx --columns q=inputs.q",)
_LAUGHS = "".join(f'<!ENTITY {to} "{f"&{name};" * 10}">' for name, to in zip("abcdefghi", "bcdefghij", strict=True))
_FORMULA = '<row r="1048570"><c r="A1048570"><f>1+1</f></c></row>'
_STYLES = f"<styleSheet {_MAIN}><fonts>{'<font/>' * 500_000}</fonts></styleSheet>"

WORKBOOKS = {
    "a formula in a sheet that says it is endless": Hostile(
        _workbook(f'<dimension ref="A1:XFD1048576"/>{_rows(_FIRST_ROW + _FORMULA)}'), "", _EXCEL, 0
    ),
    "formulas far to the right": Hostile(
        _workbook(_rows('<row><c r="XFD1"><f>1</f></c></row>', 3000)),
        _TOO_MUCH,
        _EXCEL,
    ),
    "styles without end": Hostile(
        _workbook("<sheetData/>", **{"xl/styles.xml": _STYLES}), "than its size explains", _EXCEL
    ),
    "a text that every row repeats": Hostile(
        _workbook(
            _rows('<row><c t="s"><v>0</v></c></row>', 1000),
            strings=f"<si><t>{'a' * 9_000_000}</t></si>",
        ),
        _TOO_MUCH,
        _EXCEL,
    ),
    "definitions in a part of any name": Hostile(
        _workbook(
            _rows(f"{_FIRST_ROW}<row><c><v>&j;</v></c></row>"),
            before=f'<!DOCTYPE l [<!ENTITY a "aaaaaaaaaa">{_LAUGHS}]>',
        ),
        "",
        _EXCEL,
    ),
}


# Logs of Inspect

_TURNS = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
_SAMPLE = {"id": "a", "messages": _TURNS, "output": {"completion": "a"}}


def _log(sample: str, count: int) -> Callable[[Path], object]:
    def write(folder: Path) -> None:
        with zipfile.ZipFile(folder / "a.eval", "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("header.json", json.dumps({"eval": {"model": "m", "task": "t"}}))
            for number in range(count):
                file.writestr(f"samples/{number}.json", sample)

    return write


def _sample(more: str) -> str:
    return f'{json.dumps(_SAMPLE)[:-1]}, "metadata": {more}}}'


_INSPECT = ("import inspect-ai-log a.eval --out out",)
LOGS = {
    "long parts": Hostile(_log(_sample(f'"{"z" * 90_000_000}"'), 6), "more than its size explains", _INSPECT),
    "many parts": Hostile(_log(_sample(f'"{"z" * 5_000_000}"'), 60), "more than its size explains", _INSPECT),
    "values without end": Hostile(_log(_sample(f"[{'[],' * 3_000_000}[]]"), 1), "than its size explains", _INSPECT),
}


# Parquet


def _parquet(columns: Callable[[Any], dict[str, Any]], **options: Any) -> Callable[[Path], object]:
    def write(folder: Path) -> None:
        pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed (the extra parquet)")
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pa.table(columns(pa)), folder / "a.parquet", compression="zstd", **options)
        (folder / "a.yaml").write_text("- {kind: contains, value: x}", encoding="utf-8")

    return write


def _repeated(pa: Any, text: str, times: int) -> Any:
    """A text many times, as a dictionary has it."""
    return pa.DictionaryArray.from_arrays(pa.array([0] * times, type=pa.int32()), pa.array([text]))


def _in_a_list(pa: Any, values: Any) -> dict[str, Any]:
    return {"output": ["a"], "x": pa.ListArray.from_arrays(pa.array([0, len(values)], type=pa.int32()), values)}


_TABLE = ("import parquet a.parquet --columns output=inputs.q", "check a.parquet --assertions a.yaml -q")
_BEGINNINGS = {"use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY"}
TABLES = {
    "a long text that rows share": Hostile(
        _parquet(lambda pa: {"output": _repeated(pa, "x" * 50_000_000, 256)}), _TOO_MUCH, _TABLE
    ),
    "texts that share their beginnings": Hostile(
        _parquet(lambda pa: {"output": pa.array(["x" * 900_000] * 200)}, **_BEGINNINGS), _TOO_MUCH, _TABLE
    ),
    "a list of nothing": Hostile(
        _parquet(lambda pa: _in_a_list(pa, pa.nulls(60_000_000, pa.int8()))), _TOO_MUCH, _TABLE
    ),
    "rows of nothing": Hostile(_parquet(lambda pa: {"output": pa.nulls(30_000_000, pa.string())}), _TOO_MUCH, _TABLE),
    "columns of nothing": Hostile(
        _parquet(lambda pa: {name: pa.nulls(200_000) for name in ("output", *(f"c{n}" for n in range(200)))}),
        _TOO_MUCH,
        _TABLE,
    ),
}


# YAML


def _yaml(spec: str, cases: str = "cases: []\n") -> Callable[[Path], object]:
    def write(folder: Path) -> None:
        (folder / "p.md").write_text("user:\n{{x}}", encoding="utf-8")
        (folder / "p.spec.yaml").write_text(spec, encoding="utf-8")
        (folder / "p.cases.yaml").write_text(cases, encoding="utf-8")

    return write


_VALIDATE = ("validate p.md",)
_KEYS = "".join(f"k{number}{{}}1\n" for number in range(90_000))
"""Unknown keys, for each of which a like one is looked for."""


def _with_keys(name: str, text: str) -> Callable[[Path], object]:
    def write(folder: Path) -> None:
        _yaml("rules: []\n")(folder)
        (folder / name).write_text(text, encoding="utf-8")

    return write


def _packed(folder: Path) -> None:
    with gzip.open(folder / "rows.jsonl.gz", "wb") as file:
        file.write(b'{"output": "x", "more": [' + b"[]," * 30_000_000 + b"[]]}\n")
    (folder / "a.yaml").write_text("- {type: equals, value: x}\n", encoding="utf-8")


_FIRST = f'cases:\n- {{id: a, inputs: {{x: &a "{"x" * 1_000_000}"}}}}\n'
DOCUMENTS = {
    "unknown settings": Hostile(
        _with_keys("promptpex.toml", _KEYS.replace("{}", " = ")), "no such setting", ("estimate p.md",)
    ),
    "a setting of many parts": Hostile(
        _with_keys("promptpex.toml", "a" + ".a" * 490_000 + " = 1\n"), "more than 1,000 parts", ("estimate p.md",)
    ),
    "unknown keys of a prompt": Hostile(
        _with_keys("p.md", f"---\n{_KEYS.replace('{}', ': ')}---\nSay {{{{x}}}}."), "", _VALIDATE
    ),
    "unknown keys of a spec": Hostile(
        _with_keys("p.spec.yaml", f"rules: []\n{_KEYS.replace('{}', ': ')}"), "", _VALIDATE
    ),
    "a packed line of empty lists": Hostile(
        _packed, "unpacks to more than", ("check rows.jsonl.gz --assertions a.yaml",)
    ),
    "brackets that are not closed": Hostile(_yaml("rules: [" + "a, " * 650_000), "", _VALIDATE),
    "braces that are not closed": Hostile(_yaml("rules: [{" + "a: b, " * 330_000), "", _VALIDATE),
    "tags that only a slow reader knows": Hostile(_yaml("rules: !x\n" + "- a\n" * 490_000), "", _VALIDATE),
    "a text that aliases repeat": Hostile(
        _yaml("rules: []\n", _FIRST + "".join(f"- {{id: a{n}, inputs: {{x: *a}}}}\n" for n in range(30_000))),
        "",
        _VALIDATE,
    ),
}


# Templates

_SPEC = "rules:\n- id: r\n  rule: It says x.\n  checks:\n  - {kind: contains, value: x}\n"


def _prompt(body: str) -> Callable[[Path], object]:
    def write(folder: Path) -> None:
        (folder / "p.md").write_text(f"user:\n{body}", encoding="utf-8")
        (folder / "p.spec.yaml").write_text(_SPEC, encoding="utf-8")
        (folder / "p.cases.yaml").write_text("cases:\n- {id: a, rule: r, inputs: {x: b}}\n", encoding="utf-8")

    return write


def _value(template: str) -> Callable[[Path], object]:
    def write(folder: Path) -> None:
        (folder / "rows.jsonl").write_text('{"output": "x"}\n', encoding="utf-8")
        assertions = [{"type": "equals", "value": template}]
        (folder / "a.yaml").write_text(json.dumps(assertions, ensure_ascii=False), encoding="utf-8")

    return write


_SIGN = "\U0001f600"
"""A text with one such sign takes four bytes for each of its characters."""
_RUN = ("run p.md --models fake/echo --judge none", "validate p.md")
_MANY = "".join(f"{{% set b{number} = a + '{number}' %}}" for number in range(60))
TEMPLATES = {
    "a block that doubles": Hostile(
        _prompt(f"{{% set a = '{_SIGN}' %}}{'{% set a %}{{a}}{{a}}{% endset %}' * 60}{{{{a}}}}{{{{x}}}}"), "", _RUN, 3
    ),
    "many long texts": Hostile(
        _prompt(f"{{% set a = '{_SIGN}' %}}{'{% set a = a + a %}' * 22}{_MANY}{{{{x}}}}"), "", _RUN, 3
    ),
    "a block of a value that doubles": Hostile(
        _value(f"{{% set a = '{_SIGN}' %}}{'{% set a %}{{a}}{{a}}{% endset %}' * 60}{{{{a}}}}"),
        "",
        ("check rows.jsonl --assertions a.yaml",),
        0,
    ),
    "a macro that doubles": Hostile(
        _value(
            f"{{% set a = '{_SIGN}' %}}{{% macro d(t) %}}{{{{t}}}}{{{{t}}}}{{% endmacro %}}"
            f"{'{% set a = d(a) %}' * 60}{{{{a}}}}"
        ),
        "",
        ("check rows.jsonl --assertions a.yaml",),
        0,
    ),
}


# Repositories


def _history(texts: Callable[[int], str], count: int) -> Callable[[Path], object]:
    def write(folder: Path) -> None:
        repository = Repository(folder)
        for number in range(count):
            repository.commit(f"v{number}", p_md=f"user:\n{texts(number)} {{{{x}}}}\n")

    return write


def _numbered(version: int) -> str:
    return " ".join(f"Answer v{version}x{number} with {number * 7} words." for number in range(20_000))


def _without_end(name: str) -> Callable[[Path], object]:
    def write(folder: Path) -> None:
        repository = Repository(folder)
        repository.commit("v1", p_md="user:\nSay {{x}}.\n")
        if name == "orderFile":
            repository.git("config", "diff.orderFile", "/dev/zero")
        else:
            (folder / ".git/objects/info/alternates").symlink_to("/dev/zero")

    return write


_SYNTHESIZE = ("synthesize p.md --dry-run --author fake/echo",)
_TAGS = "{{x}} " * 9000 + "b " * 200_000
REPOSITORIES = {
    "sentences that all differ": Hostile(_history(_numbered, 3), "the history changes too much", _SYNTHESIZE, 0),
    "lines that are alike": Hostile(
        _history(lambda version: f"- v{version}\n" * 90_000, 6), "the history changes too much", _SYNTHESIZE, 0
    ),
    "templates that take long to read": Hostile(
        _history(lambda version: f"v{version} {_TAGS}", 12), "there are too many template tags", _SYNTHESIZE, 0
    ),
    "an order without end": Hostile(_without_end("orderFile"), "", _SYNTHESIZE, 0),
    "objects without end": Hostile(_without_end("alternates"), "git needs more than 400 MB of memory", _SYNTHESIZE),
}


ALL: Mapping[str, Hostile] = WORKBOOKS | LOGS | TABLES | DOCUMENTS | TEMPLATES | REPOSITORIES


@pytest.mark.parametrize("what", list(ALL))
def test_no_small_file_costs_much(what: str, tmp_path: Path) -> None:
    hostile = ALL[what]
    hostile.write(tmp_path)
    assert sum(path.stat().st_size for path in tmp_path.iterdir() if path.is_file()) < LARGEST
    for number, command in enumerate(hostile.commands):
        code, messages = _run(tmp_path, *command.split())
        if number == 0:
            assert code == hostile.code, messages
            assert hostile.says in messages
