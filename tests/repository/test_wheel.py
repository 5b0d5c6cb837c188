"""The wheel holds what it needs and runs on its own: in an empty environment, without extras, from another folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from importlib import metadata
from importlib.metadata import Distribution, PathDistribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
BENCHMARK = ROOT / "benchmarks" / "speech-tag"
TIMEOUT_S = 600

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(2 * TIMEOUT_S),
    pytest.mark.skipif(os.name != "posix", reason="the environment is made of symbolic links"),
]

# Drives the installed package on a copied benchmark that has no spec: reads the packaged templates, needs no model.
EXTRACT = """
import json, promptpex
from promptpex.core import stage_templates as templates

replies = {"State its intent": {"intent": "Tag a word."}, "what a valid": {"constraints": ["It is a word."]},
           "must hold BETWEEN": {"constraints": []},
           "Write down the rules": {"rules": [{"rule": "The output is one tag.", "source": "a single token"}]},
           "Write its inverse": {"inverse": "The output has several words."}}

def reply(request):
    text = request.messages[-1].content
    return json.dumps(next((value for key, value in replies.items() if key in text), {}))

spec = promptpex.extract(promptpex.read_prompt("prompt.md"), client=promptpex.FakeClient(reply), author="fake/author",
                         checks=False)
print(json.dumps({"folder": str(templates.folder()), "intent": spec.intent, "rules": [r.rule for r in spec.rules],
                  "package": promptpex.__file__}))
"""


def _run(*command: str | Path, cwd: Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**kept, "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=TIMEOUT_S,
        check=False,
    )
    assert not check or done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
    return done


def _uv() -> str | None:
    return shutil.which("uv")


def _build(folder: Path) -> Path:
    uv = _uv()
    if uv:
        _run(uv, "build", "--quiet", "--wheel", "--out-dir", folder, ROOT, cwd=folder)
    else:
        _run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, ROOT, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    return wheel


def _install(wheel: Path, folder: Path) -> Path:
    """An environment that holds the wheel and what it declares to need, and nothing else; the folder of its commands.

    What it needs is linked from the environment of the tests, so that nothing is downloaded.
    """
    _run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
    commands = folder / ("Scripts" if sys.platform == "win32" else "bin")
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(_run(commands / "python", "-c", code, cwd=folder).stdout.strip())
    zipfile.ZipFile(wheel).extractall(site)
    ours = PathDistribution(next(site.glob("promptpex-*.dist-info")))
    for source in _needed(ours):
        if not (site / source.name).exists():
            (site / source.name).symlink_to(source)
    for entry in ours.entry_points.select(group="console_scripts"):
        command, line = commands / entry.name, f"from {entry.module} import {entry.attr}\n{entry.attr}()\n"
        command.write_text(f"#!{commands / 'python'}\n{line}", encoding="utf-8")
        command.chmod(0o755)
    return commands


def _needed(wanted: Distribution) -> set[Path]:
    """The files and folders that a distribution's requirements have installed, and theirs, without any extra."""
    todo, seen, paths = [("", wanted)], set[tuple[str, str]](), set[Path]()
    while todo:
        extra, distribution = todo.pop()
        for requirement in map(Requirement, distribution.requires or ()):
            if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
                continue
            for wish in ("", *requirement.extras):
                if (requirement.name, wish) not in seen:
                    seen.add((requirement.name, wish))
                    todo.append((wish, metadata.distribution(requirement.name)))
        if distribution is not wanted:
            tops = {file.parts[0] for file in distribution.files or () if file.parts[0] not in ("..", "__pycache__")}
            paths |= {Path(str(distribution.locate_file(top))) for top in tops}
    return paths


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _build(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def commands(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _install(wheel, tmp_path_factory.mktemp("installed") / "env")


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A folder outside the repository, with a copy of a benchmark."""
    return Path(shutil.copytree(BENCHMARK, tmp_path / "copy"))


def test_the_wheel_holds_what_the_package_needs(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    templates = {path.relative_to(ROOT / "prompts").as_posix() for path in (ROOT / "prompts").rglob("*.jinja")}
    data = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "promptpex").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert templates
    assert {f"promptpex/_prompts/{name}" for name in templates} <= names
    assert "promptpex/py.typed" in names
    assert "promptpex/locale/vi/LC_MESSAGES/promptpex.po" in names
    assert data <= names


def test_the_wheel_holds_nothing_else(wheel: Path) -> None:
    tops = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"promptpex"}
    assert not [name for name in zipfile.ZipFile(wheel).namelist() if "__pycache__" in name or name.endswith(".gguf")]


def test_the_demo_runs_after_an_installation(commands: Path, tmp_path: Path) -> None:
    done = _run(commands / "promptpex", "demo", "here", cwd=tmp_path)
    assert "careful is clearly the best" in done.stdout
    assert list(tmp_path.glob("here/results/*/*/report.html"))


def test_it_extracts_with_the_packaged_templates(commands: Path, elsewhere: Path) -> None:
    printed = json.loads(_run(commands / "python", "-c", EXTRACT, cwd=elsewhere).stdout)
    inside = Path(commands).parent.resolve()
    assert Path(printed["package"]).resolve().is_relative_to(inside)
    assert Path(printed["folder"]).resolve() == Path(printed["package"]).resolve().parent / "_prompts"
    assert printed["intent"] == "Tag a word."
    assert printed["rules"] == ["The output is one tag."]


def test_a_model_that_needs_an_extra_is_refused_in_one_sentence(commands: Path, elsewhere: Path) -> None:
    run = _run(
        *(commands / "promptpex", "run", "prompt.md", "--models", "embedded/smollm2-135m", "-q", "--max-requests", "1"),
        cwd=elsewhere,
        check=False,
    )
    assert run.returncode == 3
    assert "embedded" in run.stdout + run.stderr
    assert "Traceback" not in run.stderr


def test_the_local_page_without_its_extra_is_refused_in_one_sentence(commands: Path, elsewhere: Path) -> None:
    view = _run(commands / "promptpex", "view", cwd=elsewhere, check=False)
    assert view.returncode == 2
    sentence = "promptpex: the local page needs starlette and uvicorn: pip install 'promptpex[web]'\n"
    assert view.stderr == sentence
