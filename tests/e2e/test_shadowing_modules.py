"""A checkout full of modules that are named as Python's own and as those of packages: no command imports one of them,
nor does a process that it starts."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from promptpex.cli.main import COMMANDS
from tests.repository.test_action import run_step

PROGRAM = Path(sys.executable).with_name("promptpex")
KEY = "sk-OF-THE-USER"
SHADOW = "import os\nopen({mark!r}, 'a').write(__name__ + ' ' + os.environ.get('OPENAI_API_KEY', '') + '\\n')\n"

SPEC = """prompt: prompt.md
intent: names a colour
inputs: {text: [any text]}
rules:
  - {id: r1, rule: It is red., source: Name, checks: [{kind: icontains, value: red}], origin: added}
"""
CASES = """prompt: prompt.md
cases:
  - {id: c1, rule: r1, inputs: {text: sky}, origin: added}
"""
WORKING = ("--workers", "2")

CALLS = {
    "demo": ["demo"],
    "init": ["init", "new"],
    "extract": ["extract", "prompt.md", "-a", "fake/x"],
    "generate": ["generate", "prompt.md", "-a", "fake/x", "--more", "1"],
    "validate": ["validate", "."],
    "diff": ["diff", "prompt.md", "prompt.md"],
    "estimate": ["estimate", "prompt.md", "-m", "fake/red"],
    "run": ["run", "prompt.md", "-m", "fake/red", "-j", "none", *WORKING],
    "judge": ["judge", "latest", "-j", "none", *WORKING],
    "check": ["check", "rows.jsonl", "--assertions", "checks.yaml", *WORKING],
    "report": ["report", "latest"],
    "compare": ["compare", "latest", "latest"],
    "bless": ["bless", "latest"],
    "gate": ["gate", "latest", "--max-non-compliance", "10%"],
    "runs": ["runs"],
    "grade": ["grade", "latest", "--import", "none.jsonl"],
    "align": ["align", "latest"],
    "synthesize": ["synthesize", "prompt.md", "--dry-run", *WORKING],
    "select": ["select", "problem.json"],
    "import": ["import", "jsonl", "rows.jsonl", "--out", "imported"],
    "export": ["export", "pytest", "latest"],
    "models": ["models"],
    "cache": ["cache", "stats"],
}
"""A call of each command but ``view``, which serves until it is ended; some end with an error."""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkout")
    body = SHADOW.format(mark=str(folder / "imported"))
    for name in {*sys.stdlib_module_names, *packages_distributions(), "sitecustomize", "usercustomize"} - {"promptpex"}:
        if name.isidentifier():
            (folder / f"{name}.py").write_text(body, encoding="utf-8")
    for name in ("pip", "uv", "ray", "litellm"):
        (folder / f"{name}.py").unlink(missing_ok=True)
        (folder / name).mkdir()
        for file in ("__init__.py", "__main__.py"):
            (folder / name / file).write_text(body, encoding="utf-8")
    rows = "".join(f'{{"id": "{number}", "output": "red"}}\n' for number in range(40))
    texts = {"prompt.md": "Name {{text}}.\n", "prompt.spec.yaml": SPEC, "prompt.cases.yaml": CASES, "rows.jsonl": rows}
    texts |= {"checks.yaml": "- {kind: regex, value: red}\n", "promptpex.toml": "[models.mine]\nmodel = 'fake/red'\n"}
    texts["problem.json"] = '{"candidates": [{"id": "a", "results": [1, 0]}], "labels": [1, 0]}'
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def imported(folder: Path) -> str:
    """The modules of the checkout that were imported, with the key that they saw; they are then forgotten."""
    mark = folder / "imported"
    text = mark.read_text(encoding="utf-8") if mark.exists() else ""
    mark.unlink(missing_ok=True)
    return text


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "OPENAI_API_KEY": KEY, "CI": "", "PATH": f"{PROGRAM.parent}{os.pathsep}{kept['PATH']}"}


def call(folder: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    command = [str(PROGRAM), *arguments]
    return subprocess.run(
        command,
        cwd=folder,
        env=environment() | more,
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
        check=False,
    )


@pytest.mark.long
@pytest.mark.skipif(not PROGRAM.exists(), reason="the command is not installed beside this Python")
def test_no_command_imports_a_module_of_the_checkout(checkout: Path) -> None:
    assert set(CALLS) == set(COMMANDS) - {"view"}
    ended = {}
    for name, arguments in CALLS.items():
        done = call(checkout, *arguments)
        assert not (modules := imported(checkout)), f"{name}: {modules}"
        ended[name] = done.returncode
        assert "Traceback" not in done.stderr, done.stderr
    worked = {"demo", "run", "judge", "check", "report", "estimate", "validate", "export", "runs", "init", "models"}
    assert {name: ended[name] for name in worked} == dict.fromkeys(worked, 0)


@pytest.mark.long
@pytest.mark.skipif(not PROGRAM.exists(), reason="the command is not installed beside this Python")
def test_workers_of_a_ray_import_no_module_of_the_checkout(ray: str, checkout: Path) -> None:
    at = ("--engine", "ray", "--address", ray)
    done = call(checkout, "check", "rows.jsonl", "--assertions", "checks.yaml", *at, *WORKING)
    assert (done.returncode, imported(checkout)) == (0, ""), done.stderr


@pytest.mark.parametrize("setting", ["workers = 2", 'engine = "ray"'])
def test_settings_of_a_checkout_start_no_process(tmp_path: Path, setting: str) -> None:
    (tmp_path / "promptpex.toml").write_text(f"{setting}\n", encoding="utf-8")
    done = (
        call(tmp_path, "runs") if PROGRAM.exists() else pytest.skip("the command is not installed beside this Python")
    )
    assert done.returncode == 2
    assert f"{setting.split()[0]}: processes would be started; if you want that, say so with a flag" in done.stderr
    assert call(tmp_path, "runs", "--trust-settings").returncode == 0


def test_the_action_installs_nothing_of_the_checkout_and_with_no_key(checkout: Path, tmp_path: Path) -> None:
    done = run_step("Install promptpex", checkout, OPENAI_API_KEY=KEY, RUNNER_TEMP=str(tmp_path), PACKAGE="--help")
    assert not (modules := imported(checkout)), modules
    assert done.stdout.lstrip().startswith("Usage:"), done.stdout + done.stderr
