"""What ``promptpex --help`` and ``import promptpex`` load: nothing heavy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = frozenset(
    (
        *("aiohttp", "highspy", "jinja2", "jsonschema", "litellm", "numpy", "ollama", "openai", "pandas", "psycopg"),
        *("py_mini_racer", "pydantic", "rapidfuzz", "ray", "rich", "ruamel", "scipy", "starlette", "uvicorn", "yaml"),
        *("pyarrow", "xllamacpp"),
    )
)

RUNNER = """
import runpy, sys
sys.argv[:] = ["promptpex", *{arguments!r}]
try:
    {what}
except SystemExit as stop:
    assert not stop.code, stop.code
print("\\nLOADED", *sorted(sys.modules))
"""

AS_MODULE = "runpy.run_module('promptpex', run_name='__main__')"


def _loaded(what: str, *arguments: str) -> tuple[set[str], str]:
    code = RUNNER.format(arguments=list(arguments), what=what)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    printed, _, loaded = done.stdout.rpartition("\nLOADED ")
    return set(loaded.split()), printed


def test_help_loads_no_command_and_nothing_heavy() -> None:
    loaded, printed = _loaded(AS_MODULE, "--help")
    assert "Usage: promptpex" in printed
    assert "click" in loaded
    assert not loaded & HEAVY
    assert not [name for name in loaded if name.startswith("promptpex.cli.commands.")]


@pytest.mark.parametrize("verb", ["run", "extract", "generate", "judge", "report", "validate", "models", "init"])
def test_help_of_a_verb_loads_nothing_heavy(verb: str) -> None:
    loaded, printed = _loaded(AS_MODULE, verb, "--help")
    assert "--json" in printed
    assert not loaded & HEAVY


def test_a_run_loads_nothing_that_writes_specs_cases_or_candidates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prompt.md").write_text("Name the colour of {{thing}}.\n", encoding="utf-8")
    spec = "prompt: prompt.md\nrules: [{id: r1, rule: It is short., checks: [{kind: word-count, value: 1}]}]\n"
    (tmp_path / "prompt.spec.yaml").write_text(spec, encoding="utf-8")
    cases = "".join(f"\n  - {{id: {name}, rule: r1, inputs: {{thing: a {name}}}}}" for name in ("brick", "leaf"))
    (tmp_path / "prompt.cases.yaml").write_text(f"prompt: prompt.md\ncases:{cases}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    loaded, printed = _loaded(AS_MODULE, "run", "prompt.md", "-m", "fake/RED", "-j", "none")
    assert "0 of 2" in printed
    writing = (
        "promptpex.specs.extract",
        "promptpex.specs.propose_",
        "promptpex.cases.generate",
        "promptpex.synthesis.p",
    )
    assert not [name for name in loaded if name.startswith((*writing, "promptpex.workflow.authoring"))]


def test_a_session_on_one_machine_loads_nothing_of_a_cluster() -> None:
    loaded, _ = _loaded("import promptpex.workflow.session, promptpex.engines.ray_engine")
    assert "pydantic" in loaded
    assert not loaded & {"ray", "pyarrow", "psycopg"}
