#!/usr/bin/env python3
"""Keeps what people see of a walk through the whole product, so that two commits can be compared.

    python scripts/golden.py make COMMIT FOLDER   # walks that commit's tree, with the packages installed here
    python scripts/golden.py compare A B          # prints what differs; exit code 1 if anything does

The tutorial on its recording, then benchmarks on a server of loopback that answers by a hash of what it is asked. Kept
is every file that comes out, and in ``log/`` each command's stdout, stderr and exit code; times, sizes, paths and the
ids of grades are masked.
"""

from __future__ import annotations

import difflib
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from typing import Any

from follow_page import follow

ROOT = Path(__file__).resolve().parent.parent
PORT = 8947
"""Always the same, since a model's server has a part in the ids of requests. Two makes take turns."""
API = f"--api-base http://127.0.0.1:{PORT}/v1"
RUN = f"run prompt.md --models openai/large,openai/small --judge openai/judge {API}"
READ = """
runs
report --full --report-language vi
compare latest latest --json --out same.html
check latest
"""
FORMATS = """
gate --max-non-compliance 40% --format text
gate --max-non-compliance 40% --format json
gate --max-non-compliance 40% --format markdown
gate --max-non-compliance 40% --format github
gate --max-non-compliance 40% --format junit
export junit latest --out out/a.xml
export markdown latest --out out/a.md
export pytest latest --out out/test_a.py
export python-checks latest --out out/checks.py
export inspect-ai latest --out out/task.py
export promptfoo latest --out out/promptfooconfig.yaml
export prompty latest --out out/a.prompty
export github-prompt latest --out out/a.prompt.yml
export openai-completions latest --out out/asked.jsonl
export csv prompt.cases.yaml --out out/a.csv
export jsonl prompt.cases.yaml --out out/a.jsonl
export excel prompt.cases.yaml --out out/a.xlsx
export parquet prompt.cases.yaml --out out/a.parquet
export promptpex-json prompt.cases.yaml --out out/tests.json
import out/promptfooconfig.yaml --out in/promptfoo --json
import out/a.prompty --out in/prompty --json
import out/a.prompt.yml --out in/github --json
import out/asked.jsonl --out in/asked --json
import out/a.csv --out in/csv.yaml
import out/a.jsonl --out in/jsonl.yaml
import out/a.xlsx --out in/excel.yaml
import out/a.parquet --out in/parquet.yaml
import out/tests.json --out in/tests.yaml
"""
WALKS = {
    "extract-names": f"""
estimate prompt.md --json --models openai/large --judge openai/judge {API}
{RUN} --repeats 2 --name all
{RUN} --repeats 2
{RUN} --only-failed
{RUN} --first 3
judge all --judge openai/other {API}
{RUN} --judge-mode prompt --judge-all --name whole
compare all whole
bless all
gate all --baseline blessed --max-regression 3%
check all --format json
check all --format csv
validate prompt.md --json
cache verify
{READ}{FORMATS}""",
    "phan-loai-y-kien": f"""
{RUN} --language vi --name all
grade all --terminal --as ada <g b g b g g b g g b
align all --csv a.csv
report --json
""",
    "post-entities": f"""
{RUN} --first 8
synthesize prompt.md --author none --judge openai/judge {API}
select prompt.synthesis --method sub --allow-over-limit
select prompt.synthesis --method cov --allow-over-limit --curve
select prompt.synthesis --method aligned --allow-over-limit --into-spec
report prompt.synthesis
align prompt.md --json
validate prompt.md
""",
    "trail-notice": f"synthesize prompt.md --versions versions --labels labels.csv --author openai/author {API}",
}
KEPT_OUT = re.compile(r"\.promptpex/|__pycache__")
MASKS = {
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?|\b20\d\d-\d\d-\d\d\b": "TIME",
    r'((?:latency\w*|elapsed\w*|seconds|bytes|size)"?[:=] ?"?)[\d.]+': r"\1N",
    r"\b\d+([.,]\d+)? ?(ms|s|giây|kB|MB)\b": "N",
    r'time="[\d.]+"|\b[1-9]\d*\.\d{6,}\b|(?<=<td dir="auto">)[1-9]\d*\.\d+(?=</td>)': "N",
    r'(–</td>)(<td dir="auto">[\dN.,]+</td>){2}': r"\1N",
    r"\d\d:\d\d ngày \d\d/\d\d/\d{4}|\b\d\d-\d\d \d\d:\d\d\b": "TIME",
    r"(?m)^\w+  \S+  \d+/\d+(, .*)?\n": "",
    r'("(?:id|replaces)": ?)"[0-9a-f]{32}"': r'\1"GRADE"',
}


def reply(body: dict[str, Any]) -> str:
    """An answer that depends on the request alone: by its schema, or a list of words of its last message."""
    dice = random.Random(json.dumps([body["model"], body["messages"]]))
    if "response_format" in body:
        schema = body["response_format"]["json_schema"]["schema"]
        return json.dumps(value(schema, schema.get("$defs", {}), dice))
    words = dice.choices(body["messages"][-1]["content"].split() or ["nothing"], k=dice.randint(0, 4))
    return dice.choice([" ".join(words), json.dumps(words), "\n".join(f"- {word}: It is one." for word in words)])


def value(schema: dict[str, Any], named: dict[str, Any], dice: random.Random) -> Any:
    """A value that the schema allows."""
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        schema = dice.choice(choices)
    schema = named[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    if choices := schema.get("enum"):
        return dice.choice([*choices, choices[0]])
    match schema.get("type"):
        case "object":
            return {key: value(part, named, dice) for key, part in schema.get("properties", {}).items()}
        case "array":
            return [value(schema["items"], named, dice) for _ in range(schema.get("minItems", dice.randint(0, 2)))]
        case "integer" | "number":
            return dice.randint(schema.get("minimum", 0), schema.get("maximum", 100))
        case "boolean":
            return dice.random() < 0.5
        case kind:
            return schema.get("const", None if kind == "null" else "words")


class Handler(BaseHTTPRequestHandler):
    """OpenAI's chat API, which refuses ``small`` what it has no words for, and is slow to answer it."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = reply(body)
        time.sleep(1.5 if body["model"] == "small" else 0)  # which of the two is fastest is no chance
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        usage = {"prompt_tokens": len(str(body["messages"])) // 4, "completion_tokens": len(text) // 4 + 1}
        refused = body["model"] == "small" and text in ("", "[]")
        error = {"error": {"message": "no", "code": "content_filter"}}
        data = json.dumps(error if refused else {"model": body["model"], "choices": [choice], "usage": usage}).encode()
        self.send_response(400 if refused else 200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *values: object) -> None:
        """Nothing."""


def served() -> ThreadingHTTPServer:
    """The server, once nobody else has its port."""
    while True:
        try:
            server = ThreadingHTTPServer(("127.0.0.1", PORT), Handler)
        except OSError:
            time.sleep(1)
        else:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            return server


def make(commit: str, kept: Path) -> None:
    """Walks the commit's tree and keeps what came out in the folder, which is made anew."""
    clean = {name: text for name, text in os.environ.items() if not name.startswith(("PROMPTPEX", "OPENAI"))}

    def run(arguments: list[str], here: Path, typed: str = "") -> str:
        command = [sys.executable, "-m", "promptpex", *arguments]
        done = subprocess.run(command, cwd=here, env=env, input=typed, capture_output=True, text=True, check=False)
        said = f"$ {shlex.join(arguments)}\n{done.stdout}--- stderr\n{done.stderr}--- exit {done.returncode}\n"
        count = len(list(log.iterdir()))
        (log / f"{count:03}-{here.name}-{arguments[0]}.txt").write_text(said, encoding="utf-8")
        return done.stdout

    def walk(commands: str, here: Path) -> None:
        for line, _, typed in (command.partition("<") for command in commands.split("\n") if command):
            run(shlex.split(line), here, typed.replace(" ", "\n"))

    with tempfile.TemporaryDirectory(prefix="golden") as scratch:
        tree, folder = Path(scratch, "tree"), Path(scratch, "walk")
        env = {**clean, "PYTHONPATH": str(tree), "PYTHONSAFEPATH": "1", "COLUMNS": "100", "OPENAI_API_KEY": "none"}
        log = folder / "log"
        log.mkdir(parents=True)
        tree.mkdir()
        archive = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True).stdout
        subprocess.run(["tar", "x", "-C", str(tree)], input=archive, check=True)
        (folder / "docs").symlink_to(tree / "docs")
        page = (tree / "docs" / "tutorial.md").read_text(encoding="utf-8")
        follow(page.replace("\n```text\n", "\n```\n"), folder, run)
        (folder / "docs").unlink()
        walk(READ, folder / "shop")
        server = served()
        for name, commands in WALKS.items():
            shutil.copytree(tree / "benchmarks" / name, folder / name)
            walk(commands, folder / name)
        server.shutdown()
        keep(folder, kept, scratch)


def keep(walked: Path, kept: Path, scratch: str) -> None:
    """Copies the files as texts, with what varies masked; tables that are no texts become CSV."""
    import pandas

    shutil.rmtree(kept, ignore_errors=True)
    readers: dict[str, Callable[[Path], Any]] = {".xlsx": pandas.read_excel, ".parquet": pandas.read_parquet}
    for path in sorted(walked.rglob("*")):
        name = str(path.relative_to(walked))
        if path.is_dir() or KEPT_OUT.search(name):
            continue
        reader = readers.get(path.suffix)
        text = (reader(path).to_csv() if reader else path.read_text(encoding="utf-8")).replace(scratch, "FOLDER")
        for pattern, mask in MASKS.items():
            text = re.sub(pattern, mask, text)
        target = kept / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def compare(old: Path, new: Path) -> int:
    """Prints what differs, shortened; 1 if anything does."""
    different = 0
    names = sorted({str(path.relative_to(top)) for top in (old, new) for path in top.rglob("*") if path.is_file()})
    for name in names:
        before, after = ((top / name).read_text().split("\n") if (top / name).exists() else [] for top in (old, new))
        different += before != after
        for line in islice(difflib.unified_diff(before, after, f"{old}/{name}", f"{new}/{name}", n=0, lineterm=""), 40):
            print(line[:400])
    print(f"{different} of {len(names)} files differ")
    return min(1, different)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["make", commit, folder]:
            make(commit, Path(folder))
        case ["compare", old, new]:
            raise SystemExit(compare(Path(old), Path(new)))
        case _:
            raise SystemExit(__doc__)
