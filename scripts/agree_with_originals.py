#!/usr/bin/env python3
"""Compares templates and JSON schemas of checks with nunjucks and Ajv themselves: do they agree, and what do they cost?

    npm install --prefix FOLDER nunjucks@3 ajv@8 ajv-formats@3
    python scripts/agree_with_originals.py FOLDER/node_modules CASES

CASES is a file of checks with outputs, a JSON object a line (``assertion``, ``output``, ``vars``). Every template and
every schema in it is tried by both; the originals run in V8, in this process. The times are CPU of this process, the
least of five measurements, and the time of V8's worker process is told apart: nothing that a stranger wrote may run
outside of it. The findings stand in ``docs/written-by-hand.md``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from promptpex.assertions.javascript import js_values, v8, value_templates  # noqa: E402
from promptpex.assertions.kinds import json_schema  # noqa: E402
from promptpex.assertions.model import Unscorable  # noqa: E402
from promptpex.codecs.text.template_marks import has_template  # noqa: E402

PACKAGES = ("ajv", "ajv-formats", "fast-deep-equal", "json-schema-traverse", "fast-uri", "require-from-string")
ORIGINALS = """
var window = this, self = this, cache = {}, modules = {};
function setTimeout(run) { run(); }
function found(name, from) {
  let path = name;
  if (name.startsWith(".")) {
    const parts = from.split("/").slice(0, -1);
    for (const part of name.split("/")) { if (part === "..") parts.pop(); else if (part !== ".") parts.push(part); }
    path = parts.join("/");
  } else if (name + "/package.json" in sources) {
    path = name + "/" + (JSON.parse(sources[name + "/package.json"]).main || "index.js").replace(/^\\.\\//, "");
  }
  return [path, path + ".js", path + ".json", path + "/index.js"].find(each => each in sources);
}
function required(name, from) {
  const path = found(name, from);
  if (path === undefined) throw new Error("no module " + name);
  if (path in modules) return modules[path].exports;
  const module = modules[path] = {exports: {}};
  if (path.endsWith(".json")) return module.exports = JSON.parse(sources[path]);
  new Function("module", "exports", "require", sources[path])(module, module.exports, each => required(each, path));
  return module.exports;
}
function loaded() {
  const ajv = required("ajv", ""), formats = required("ajv-formats", "");
  globalThis.Ajv = ajv.default || ajv; globalThis.addFormats = formats.default || formats;
  globalThis.environment = new window.nunjucks.Environment(null, {autoescape: false});
}
function once(source, make) {
  if (!(source in cache)) { try { cache[source] = [make()]; } catch (error) { cache[source] = [null]; } }
  return cache[source][0];
}
function template(source, variables) {
  return once(source, () => new window.nunjucks.Template(source, environment, null, true)).render(variables);
}
function schema(source, value) {
  return once(source, () => {
    const ajv = new Ajv({strictSchema: true}); addFormats(ajv); return ajv.compile(JSON.parse(source));
  })(value);
}
function all(packed) {
  const [name, jobs] = JSON.parse(packed);
  return JSON.stringify(jobs.map(job => { try { return [globalThis[name](...job)]; } catch { return null; } }));
}
"""

Job = tuple[Any, Any]


def originals(folder: Path) -> Any:
    """V8 with nunjucks and Ajv in it."""
    from py_mini_racer import MiniRacer

    sources = {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for package in PACKAGES
        for path in (folder / package).rglob("*.js*")
        if path.suffix in (".js", ".json") and "test" not in path.relative_to(folder).parts
    }
    engine = MiniRacer()
    engine.eval(f"var sources = {json.dumps(sources)};{ORIGINALS}")
    engine.eval((folder / "nunjucks/browser/nunjucks.min.js").read_text(encoding="utf-8"))
    engine.eval("loaded()")
    return engine


def checks_of(given: Any) -> Iterator[dict[str, Any]]:
    """The checks of a row, those of sets too."""
    for check in given if isinstance(given, list) else [given]:
        if isinstance(check, dict):
            yield check
            yield from checks_of(check.get("assert", []))


def jobs_of(cases: Path) -> tuple[list[Job], list[Job]]:
    """The templates with their variables, and the schemas with the values that they are held against."""
    templates: list[Job] = []
    schemas: list[Job] = []
    for line in cases.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        for check in checks_of(row["assertion"]):
            value, kind = check.get("value"), str(check.get("type")).removeprefix("not-")
            texts = [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)]
            variables = value_templates.prepared(row["vars"] or {})
            templates += [(text, variables) for text in texts if has_template(text)]
            if kind in ("is-json", "contains-json") and isinstance(value, dict):
                schemas += [(json.dumps(value), read) for read in _as_json(row["output"])]
    return templates, schemas


def _as_json(output: Any) -> Iterator[Any]:
    try:
        yield js_values.strict_json(output) if isinstance(output, str) else output
    except js_values.NotJson:
        return


def template(source: str, variables: Any) -> list[Any] | None:
    """Our text in a list; None where the template cannot be rendered."""
    try:
        return [value_templates.render(source, variables)]
    except Unscorable:
        return None


def schema(source: str, value: Any) -> list[Any] | None:
    """Whether the value fits, in a list; None where the schema cannot be used."""
    try:
        return [json_schema.compiled(json.loads(source)).problem(value) is None]
    except Unscorable:
        return None


def least_cpu(work: Callable[[], object], count: int) -> float:
    """Microseconds of CPU for one of so many jobs: the least of five measurements."""
    times = []
    for _ in range(5):
        began = time.process_time()
        for _ in range(10):
            work()
        times.append((time.process_time() - began) / 10)
    return min(times) * 1e6 / count


def compare(engine: Any, name: str, ours: Callable[[Any, Any], list[Any] | None], jobs: Sequence[Job]) -> None:
    """Prints how far both agree, where they do not, and what each takes, one job a call and all in one call."""
    theirs: list[list[Any] | None] = json.loads(engine.call("all", json.dumps([name, jobs])))
    odd = [(job, one, other) for job, one, other in zip(jobs, (ours(*job) for job in jobs), theirs, strict=True)
           if one != other]  # fmt: skip
    print(f"{name}s: {len(jobs)}, of which {len({source for source, _ in jobs})} different; {len(odd)} disagree")
    for job, one, other in odd:
        print(f"  {str(job)[:100]}: here {one}, the original {other}")
    each = [json.dumps([name, [job]]) for job in jobs]
    print(f"  CPU here: {least_cpu(lambda: [ours(*job) for job in jobs], len(jobs)):.1f} µs each")
    alone = least_cpu(lambda: [engine.call("all", one) for one in each], len(jobs))
    together = least_cpu(lambda: json.loads(engine.call("all", json.dumps([name, jobs]))), len(jobs))
    print(f"  CPU of the original: {alone:.1f} µs each, one a call; {together:.1f} µs, all in one call")


def round_trip() -> None:
    """Prints what a question to V8's worker process costs."""
    count = 2000
    v8.REGEXES.test("a", "b")
    cpu, clock = time.process_time(), time.perf_counter()
    for number in range(count):
        v8.REGEXES.test("a", f"b{number}")
    cpu, clock = time.process_time() - cpu, time.perf_counter() - clock
    print(f"a question to the worker process: {cpu / count * 1e6:.0f} µs of CPU here, {clock / count * 1e6:.0f} µs")


def main() -> int:
    """Prints the comparison."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("node_modules", type=Path)
    parser.add_argument("cases", type=Path)
    given = parser.parse_args()
    began = time.process_time()
    engine = originals(given.node_modules)
    print(f"both originals are loaded in {time.process_time() - began:.2f} s of CPU")
    templates, schemas = jobs_of(given.cases)
    compare(engine, "template", template, templates)
    compare(engine, "schema", schema, schemas)
    round_trip()
    return 0


if __name__ == "__main__":
    sys.exit(main())
