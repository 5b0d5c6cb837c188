"""action.yml, the hook of pre-commit and the workflows of docs/ci.md: whole, and their steps do what they say."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from promptpex.cli.main import run_cli
from tests.pytest_plugin.project import write_project

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = YAML(typ="safe").load(ROOT / "action.yml")
STEPS = ACTION["runs"]["steps"]
(HOOK,) = YAML(typ="safe").load(ROOT / ".pre-commit-hooks.yaml")

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")


def workflows() -> Iterator[dict[str, Any]]:
    """The workflows of docs/ci.md."""
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    for block in re.findall(r"^```yaml\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL):
        if "\njobs:" in block:
            yield YAML(typ="safe").load(block)


def step(name: str) -> dict[str, Any]:
    (wanted,) = (step for step in STEPS if step["name"] == name)
    return dict(wanted)


def run_step(name: str, folder: Path, promptpex: str | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    """The shell of a step, as a runner calls it, with the default of each input that ``env`` does not give, and the
    real command unless another ``promptpex`` is given."""
    commands = folder / "bin"
    commands.mkdir(exist_ok=True)
    for command, start in {"promptpex": "-m promptpex", "python": ""}.items():
        script = f'#!/bin/sh\nexec "{sys.executable}" {start} "$@"\n'
        (commands / command).write_text(promptpex if start and promptpex else script, encoding="utf-8")
        (commands / command).chmod(0o755)
    variables = {
        variable: str(ACTION["inputs"][re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", value)[1]].get("default", ""))  # type: ignore[index]
        for variable, value in step(name)["env"].items()
    }
    runner = {"GITHUB_ACTION_PATH": str(ROOT), "GITHUB_OUTPUT": str(folder / "out"), "CI": "true"}
    runner |= {"GITHUB_STEP_SUMMARY": str(folder / "summary.md"), "GITHUB_WORKSPACE": str(folder)}
    path = f"{commands}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step(name)["run"]],
        cwd=folder,
        env={**os.environ, **variables, **runner, **env, "PATH": path, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def obeyed(log: str) -> list[str]:
    """The commands that GitHub's runner takes from a log: none between ``stop-commands`` and its mark."""
    commands, mark = [], None
    for line in map(str.lstrip, log.splitlines()):
        if mark is None and line.startswith("::stop-commands::"):
            mark = line.removeprefix("::stop-commands::")
        elif line == f"::{mark}::":
            mark = None
        elif mark is None and line.startswith("::"):
            commands.append(line)
    assert mark is None
    return commands


def test_each_input_is_declared_and_read_and_no_script_holds_an_expression() -> None:
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(ACTION["inputs"])
    assert ACTION["runs"]["using"] == "composite"
    scripts = [step for step in STEPS if "run" in step]
    assert len(scripts) == 3
    assert all(step["shell"] == "bash" and "${{" not in step["run"] for step in scripts)
    assert all(re.fullmatch(r"[\w-]+/[\w/-]+@v\d+", step["uses"]) for step in STEPS if "uses" in step)
    assert all("description" in one for one in ACTION["inputs"].values())


def test_the_page_names_each_input() -> None:
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    rows = "\n".join(line for line in page.splitlines() if line.startswith("| `"))
    assert not [name for name in ACTION["inputs"] if f"`{name}`" not in rows]
    used = next(step for step in next(workflows())["jobs"]["gate"]["steps"] if "promptpex" in step.get("uses", ""))
    assert set(used["with"]) <= set(ACTION["inputs"])


@pytest.mark.long
def test_every_prompt_is_run_and_gated_and_models_give_the_runner_no_command(tmp_path: Path) -> None:
    prompts = write_project(tmp_path)
    for kind in ("md", "spec.yaml", "cases.yaml"):
        text = (prompts / f"colour.{kind}").read_text(encoding="utf-8").replace("colour.md", "sh,ade.md")
        (prompts / f"sh,ade.{kind}").write_text(text, encoding="utf-8")
    named = {"PROMPTS": "prompts/\n\n prompts/colour.md\n", "JUDGE": "none"}
    done = run_step("Run and gate", tmp_path, **named, MODELS="fake/::error::owned", RUN_OPTIONS="--seed '7'")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "::error::owned" in done.stdout
    files = [command.partition(",")[0] for command in obeyed(done.stdout)]
    assert files == ["::error file=prompts/colour.md"] * 2 + ["::error file=prompts/sh%2Cade.md"] * 2
    assert (tmp_path / "out").read_text(encoding="utf-8") == "outcome=fail\npassed=false\n"
    assert (tmp_path / "summary.md").read_text(encoding="utf-8").startswith("## ❌ gate failed: 2 of 2 prompts")
    assert len(list(tmp_path.glob("results/*/*/report.html"))) == 2
    assert len(list(tmp_path.glob("results/batches/*/index.html"))) == 1
    assert (tmp_path / ".promptpex" / "store.db").exists()


def test_a_prompt_that_cannot_be_run_is_named(tmp_path: Path) -> None:
    done = run_step("Run and gate", tmp_path, PROMPTS="prompts/co,lour.md", MODELS="fake/RED", JUDGE="none")
    assert done.returncode == 2
    (missing,) = obeyed(done.stdout)
    assert missing == "::error file=prompts/co%2Clour.md::promptpex run ended with exit code 2; see the log"
    assert (tmp_path / "out").read_text(encoding="utf-8") == "passed=false\n"


def test_inputs_that_cannot_be_read_are_refused_in_one_line(tmp_path: Path) -> None:
    done = run_step("Run and gate", tmp_path, PROMPTS="  \n")
    assert (done.returncode, len(obeyed(done.stdout))) == (2, 1)
    done = run_step("Run and gate", tmp_path, PROMPTS="prompt.md", RUN_OPTIONS="--models 'x")
    assert (done.returncode, obeyed(done.stdout)[0][:23]) == (2, "::error::promptpex: run")


def test_the_hook_looks_at_the_files_of_prompts_and_passes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prompts = write_project(tmp_path)
    for name in ("prompt.md", "README.md", "tone.metric.md"):
        (prompts / name).write_text("Be kind to {{thing}}.", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    files = [path.relative_to(tmp_path).as_posix() for path in sorted(tmp_path.rglob("*.*"))]
    chosen = [file for file in files if re.search(HOOK["files"], file)]
    names = {"colour.spec.yaml", "colour.cases.yaml", "prompt.md", "tone.metric.md"}
    assert {Path(file).name for file in chosen} == names
    command, *arguments = HOOK["entry"].split()
    assert command == "promptpex"
    (prompts / "tone.metric.md").unlink()
    assert run_cli([*arguments, *(file for file in chosen if not file.endswith("metric.md"))]) == 0
    (prompts / "colour.spec.yaml").write_text("rules: [{id: r1}]", encoding="utf-8")
    assert run_cli([*arguments, "prompts/colour.spec.yaml"]) == 2
    assert "colour.spec.yaml:1: error" in capsys.readouterr().out


def test_no_link_of_a_checkout_is_uploaded(tmp_path: Path) -> None:
    secret, run = tmp_path / "secret", tmp_path / "project" / "results" / "colour" / "1"
    run.mkdir(parents=True)
    secret.write_text("of the user", encoding="utf-8")
    (run / "report.html").write_text("a report", encoding="utf-8")
    (run / "environ").symlink_to(secret)
    (tmp_path / "project" / "results" / "far").symlink_to(tmp_path)
    (tmp_path / "project" / "out").symlink_to(tmp_path)
    name, project = "Take links out of the reports", tmp_path / "project"
    assert run_step(name, project).returncode == 0
    assert sorted(path.name for path in (project / "results").rglob("*")) == ["1", "colour", "report.html"]
    assert secret.exists()
    led_out = run_step(name, project, RESULTS="out/results")
    assert (led_out.returncode, obeyed(led_out.stdout)[0][:20]) == (2, "::error::promptpex: ")
