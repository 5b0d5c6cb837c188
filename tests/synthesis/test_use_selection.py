"""``promptpex select`` puts what it chose into the spec, or into files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from promptpex.cli.main import run_cli
from promptpex.codecs import jsonl
from promptpex.core.records import Candidate, Check, Criterion, Example, Rule, Spec, Synthesis
from promptpex.promptfile import read
from promptpex.specs.file import read_spec, write_spec
from promptpex.synthesis.folder import SynthesisFolder, write_candidates
from promptpex.synthesis.results.matrix import Matrix, MatrixCell, MatrixFile

OUTPUTS = {"Go to Hue.": "good", "Hue it is.": "good", "Go to Hanoi!": "bad", "Take a train to Hue!": "bad"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of which ``names_city`` and ``is_calm`` are chosen, and both needed."""
    monkeypatch.chdir(tmp_path)
    prompt = tmp_path / "trip.md"
    prompt.write_text("Name the city {{city}}. Stay calm.", encoding="utf-8")
    folder = SynthesisFolder.of(prompt)
    synthesis = Synthesis(
        prompt="trip.md",
        criteria=(
            Criterion(id="c1", text="The reply names the city.", source="Name the city", version="a1"),
            Criterion(id="c2", text="The reply stays calm.", source="Stay calm", rule="r1"),
        ),
        candidates=(
            Candidate(id="names_city", criteria=("c1",), check=Check(kind="icontains", value="{{city}}")),
            Candidate(id="is_calm", criteria=("c2",), check=Check(kind="not-regex", value="rain.*!")),
            Candidate(id="says_go", criteria=("c1",), check=Check(kind="contains", value="Go")),
        ),
    )
    write_candidates(folder.candidates, synthesis)
    version = read(prompt).fingerprint
    examples = [
        Example.model_validate(
            {"id": f"{n:032x}", "inputs": {"city": "Hue"}, "output": text, "label": label, "version": version}
        )
        for n, (text, label) in enumerate(OUTPUTS.items())
    ]
    folder.write_examples(examples)
    matrix = Matrix(synthesis.candidates, examples)
    cells = [
        MatrixCell(column, row, "pass" if sign == "p" else "fail")
        for column, signs in enumerate(("ppfp", "pppf", "pfpf"))
        for row, sign in enumerate(signs)
    ]
    MatrixFile(folder.matrix).add("".join(jsonl.dump_record(matrix.record(cell)) for cell in cells))
    return folder.path


def select(*arguments: str) -> int:
    return run_cli(["select", "trip.synthesis", "--method", "cov", "--coverage", "1", "--ffr", "0", *arguments])


def test_the_choice_becomes_rules_and_checks_of_the_spec(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = folder.parent / "trip.spec.yaml"
    write_spec(spec, Spec(prompt="trip.md", rules=(Rule(id="r1", rule="The reply stays calm.", origin="added"),)))

    assert select("--into-spec") == 0

    rules = read_spec(spec).rules
    assert [(rule.id, rule.origin, [check.metric for check in rule.checks]) for rule in rules] == [
        ("r1", "added", ["is_calm"]),
        ("c1", "synthesized", ["names_city"]),
    ]
    assert "wrote" in capsys.readouterr().err
    before = spec.read_text(encoding="utf-8")
    assert select("--into-spec") == 0
    assert spec.read_text(encoding="utf-8") == before


def test_a_prompt_without_a_spec_gets_one(folder: Path) -> None:
    assert select("--into-spec") == 0

    spec = read_spec(folder.parent / "trip.spec.yaml")
    assert spec.prompt_fingerprint == read(folder.parent / "trip.md").fingerprint
    assert [rule.rule for rule in spec.rules] == ["The reply names the city.", "The reply stays calm."]


@pytest.mark.long
def test_a_module_is_written_with_tests_that_pass(folder: Path) -> None:
    assert select("--out", "trip_checks.py") == 0

    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "test_trip_checks.py"]
    done = subprocess.run(command, cwd=folder.parent, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1].split(" in ")[0]) == (0, "8 passed"), done.stdout


def test_what_somebody_else_wrote_is_not_overwritten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = folder.parent / "own.yaml"
    own.write_text("assert: []\n", encoding="utf-8")

    assert select("--out", "own.yaml") == 2
    assert "own.yaml: exists already, and promptpex did not write it; name another file" in capsys.readouterr().err
    assert own.read_text(encoding="utf-8") == "assert: []\n"
    assert select("--out", "new.yaml") == 0
    assert select("--out", "new.yaml") == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--out", "checks.txt"], "checks.txt: the file's name ends neither in .yaml nor in .py; give it one of these"),
        (["--out", "my-checks.py"], "'my-checks' cannot be imported; take letters, digits and underscores"),
        (["--out", "class.py"], "'class' cannot be imported"),
    ],
)
def test_a_name_that_cannot_be_used_is_one_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert select(*arguments) == 2
    assert sentence in capsys.readouterr().err


def test_a_folder_that_names_a_prompt_elsewhere_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    candidates = folder / "candidates.yaml"
    candidates.write_text(candidates.read_text(encoding="utf-8").replace("trip.md", "../trip.md"), encoding="utf-8")

    assert select("--into-spec") == 2
    assert "'../trip.md', which is not the name of a prompt beside this folder" in capsys.readouterr().err
