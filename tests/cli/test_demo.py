"""``promptpex demo``: a run on recorded answers, complete and offline, in a folder that one can go on with."""

from __future__ import annotations

import html
import json
import re
from collections import defaultdict
from pathlib import Path

import pytest

from promptpex.cli.commands.init import FILES, LABEL
from tests.e2e.command import ROOT, in_process

PICTURE = (ROOT / "docs" / "pictures" / "terminal.svg").read_text(encoding="utf-8")
TEXT = re.compile(r'<text class="[^"]*-r\d+" x="([\d.]+)" y="([\d.]+)" textLength="[\d.]+"[^>]*>(.*?)</text>')
SIGN = 12.2
"""The width of a sign in the picture."""
RUN_ID = re.compile(r"\b[0-9a-f]{10}\b")


def drawn() -> list[str]:
    """The lines of the terminal that README pictures, those that are empty left out."""
    lines: dict[float, str] = defaultdict(str)
    for x, y, text in sorted(TEXT.findall(PICTURE), key=lambda part: float(part[0])):
        lines[float(y)] = lines[float(y)].ljust(round(float(x) / SIGN)) + html.unescape(text).replace("\xa0", " ")
    return [line.rstrip() for _, line in sorted(lines.items()) if line.strip()]


def test_it_runs_and_prints_what_the_picture_shows(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()  # as in a clone, where runs of other prompts lie at the top
    done = in_process("demo", cwd=tmp_path, env={"COLUMNS": "80"})
    assert done.code == 0, done.err
    printed = [line.rstrip() for line in RUN_ID.sub("0123456789", done.out).splitlines() if line.strip()]
    assert drawn() == ["$ promptpex demo", *printed], "make it anew: python scripts/pictures.py"
    message = re.search(r"hasty` in (\d+ of 28) \((\d+%), (.*?)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert message is not None
    assert re.search(rf"hasty +worse +{message[1]} +{message[2]} \({message[3]}\)", done.out), "README says otherwise"
    folder = tmp_path / "promptpex-demo"
    assert {path.name for path in folder.iterdir()} == {*FILES, "promptpex.toml", "results", ".promptpex"}
    (report,) = folder.glob("results/*/*/report.html")
    assert "two-levels-of-care.jsonl#hasty" in report.read_text(encoding="utf-8")
    blessed = in_process("bless", cwd=folder)
    assert (blessed.code, (folder / "prompt.blessed.json").is_file()) == (0, True), blessed.err


def test_files_that_are_there_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    suite = tmp_path / "mine" / "prompt.cases.yaml"
    whole = (ROOT / "benchmarks" / "support-reply" / suite.name).read_text(encoding="utf-8")
    suite.write_text("".join(re.split(r"^(?=  - id: )", whole, flags=re.MULTILINE)[:3]), encoding="utf-8")
    before = suite.read_bytes()
    done = in_process("demo", "mine", "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    assert LABEL not in done.out
    assert [model["cases"] for model in json.loads(done.out)["models"]] == [2, 2]
    assert suite.read_bytes() == before


@pytest.mark.parametrize("name", ["a,b#c? d", "100%25 \N{NO-BREAK SPACE}it's\n"])
def test_the_folder_may_have_any_name(tmp_path: Path, name: str) -> None:
    suite = tmp_path / name / "prompt.cases.yaml"
    suite.parent.mkdir()
    whole = (ROOT / "benchmarks" / "support-reply" / suite.name).read_text(encoding="utf-8")
    suite.write_text("".join(re.split(r"^(?=  - id: )", whole, flags=re.MULTILINE)[:2]), encoding="utf-8")
    for where, given in ((tmp_path, name), (suite.parent, ".")):
        done = in_process("demo", given, "--json", cwd=where)
        assert done.code == 0, done.err
        assert [model["cases"] for model in json.loads(done.out)["models"]] == [1, 1]


def test_the_recording_answers_the_benchmark_as_it_is() -> None:
    """What its settings say of it holds: three voices, each with an answer to everything."""
    lines = (ROOT / "benchmarks" / "support-reply" / FILES[-1]).read_text(encoding="utf-8").splitlines()
    asked = [json.loads(line) for line in lines]
    assert {line["request"]["model"] for line in asked} == {"careful", "hasty", "reader"}
    assert not [line for line in asked if "completion" not in line]
    assert sum(len(line) for line in lines) < 400_000


def test_what_is_in_the_way_of_the_files_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "endless").symlink_to("endless")
    (tmp_path / "gone").symlink_to("nowhere")
    for command in ("demo", "init"):
        for name in ("endless", "gone"):
            done = in_process(command, name, cwd=tmp_path)
            assert done.code == 2
            wanted = f"promptpex: {name}: nothing can be written here (File exists); name another folder\n"
            assert done.err == wanted
