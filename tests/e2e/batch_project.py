"""A project with several small prompts, for tests of commands on all of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.e2e.command import Done, in_process

SPEC = """\
intent: Name a colour.
rules:
  - id: r1
    rule: The answer is in capitals.
    inverse: The answer has small letters.
    checks: [{kind: regex, value: '^[A-Z]+$'}]
  - id: r2
    rule: The answer is a word.
    checks: [{kind: word-count, value: 1}]
"""


def write_prompt(folder: Path, name: str, *, cases: int, spec: str = SPEC) -> Path:
    """Writes ``NAME.md`` with its spec and so many cases, each about a thing of its own."""
    folder.mkdir(exist_ok=True)
    prompt = folder / f"{name}.md"
    prompt.write_text(f"{name}: name the colour of the {{{{thing}}}} in capitals.\n", encoding="utf-8")
    (folder / f"{name}.spec.yaml").write_text(spec, encoding="utf-8")
    listed = [f"  - {{id: t{n}, rule: r{n % 2 + 1}, inputs: {{thing: {name} {n}}}}}\n" for n in range(cases)]
    (folder / f"{name}.cases.yaml").write_text(f"prompt: {name}.md\ncases:\n{''.join(listed)}", encoding="utf-8")
    if "prompt:" not in spec:
        (folder / f"{name}.spec.yaml").write_text(f"prompt: {name}.md\n{spec}", encoding="utf-8")
    return prompt


def write_project(folder: Path, **cases: int) -> Path:
    """A project whose folder ``prompts`` has prompts with so many cases; the folder of the project."""
    (folder / "promptpex.toml").write_text('judge = ["none"]\n', encoding="utf-8")
    for name, count in cases.items():
        write_prompt(folder / "prompts", name, cases=count)
    return folder


def run(project: Path, *more: str, models: str = "good=fake/RED,bad=fake/red") -> Done:
    """``promptpex run`` in the project; on ``prompts/`` unless other prompts are named first."""
    named = [] if more and not more[0].startswith("-") else ["prompts"]
    return in_process("run", *named, *more, "--models", models, cwd=project)


def run_json(project: Path, *more: str, **rest: Any) -> dict[str, Any]:
    """What ``run --json`` prints."""
    done = run(project, *more, "--json", **rest)
    assert done.out, done.err
    report = json.loads(done.out)
    assert isinstance(report, dict)
    return report


def manifests(project: Path) -> dict[str, dict[str, Any]]:
    """The manifests of all runs, by their prompts."""
    read = (json.loads(path.read_text(encoding="utf-8")) for path in project.glob("results/*/*/manifest.json"))
    return {manifest["prompt"]: manifest for manifest in read}
