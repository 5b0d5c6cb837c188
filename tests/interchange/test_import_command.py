"""``promptpex import``: what is written can be reported, judged and run again without any model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptpex import promptfile
from promptpex.cases.file import read_suite
from promptpex.cli.main import run_cli
from promptpex.core.records import Message, Prompt
from promptpex.paper.published import project_files
from promptpex.report import runs
from tests.paper.published import recordings


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    recordings.write(tmp_path / "clone")
    return tmp_path / "clone"


def _json(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_tables_json_has_the_promised_keys_and_no_other(folder: Path) -> None:
    assert run_cli(["import", "promptpex-published", str(folder), "--out", "out"]) == 0
    tables = json.loads(Path("out/tables.json").read_text(encoding="utf-8"))
    assert list(tables) == ["table2", "table3", "validity", "groundedness", "averages"]
    cell = {"non_compliant", "n", "percent"}
    assert {part: set(c) for part, c in tables["table2"]["colours"]["gemma2:9b"].items()} == {
        "promptpex": cell,
        "baseline": cell,
    }
    assert {part: set(c) for part, c in tables["table3"]["colours"]["gemma2:9b"].items()} == {
        "rules": cell,
        "inverse": cell,
    }
    assert tables["validity"]["colours"] == {"tests": 4, "valid": 3}
    assert tables["groundedness"]["colours"] == {"rules": 2, "grounded": 1}


def test_json_holds_tables_our_figures_and_problems(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["import", "promptpex-published", str(folder), "--json", "-q"]) == 0
    result = _json(capsys)
    ours = result["ours"]["colours"]
    second = ours["models"]["gemma2:9b"]
    assert (second["share"], second["at_least"], second["decision"]) == (0.5, False, "undecided")
    assert second["baseline"]["share"] == 0.0
    (pair,) = ours["pairs"]
    assert (pair["first"], pair["second"]) == ("gemma2:9b", "gpt-4o-mini")
    assert (pair["p"], pair["adjusted"]) == (pytest.approx(0.5), pytest.approx(0.5))
    assert (ours["tied"], ours["candidates"]) == ([], ["gpt-4o-mini", "gemma2:9b"])
    assert "preamble" in result["problems"][0]["message"]


def test_the_printed_tables_name_models_and_intervals(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "150")
    assert run_cli(["import", "promptpex-published", str(folder)]) == 0
    printed = capsys.readouterr()
    assert "50 / 0%" in printed.out
    assert "50% (7–93)" in printed.out
    assert "undecided" in printed.out
    text = " ".join(printed.out.split())
    assert "tied with the best: none; not shown to be worse: gpt-4o-mini, gemma2:9b." in text
    assert "exact sign flips" in text
    assert "certain" not in text
    assert "lower bound" not in text, "no verdict is lost here"
    assert "preamble" in printed.err


def test_a_lost_verdict_is_printed_as_a_lower_bound_with_what_it_keeps_open(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "150")
    rows = recordings.result_rows()
    rows[0][7] = ""
    path = folder / "evals" / "v7" / "colours" / "test_results.csv"
    recordings.table(path, [recordings.RESULT_COLUMNS, *rows])
    assert run_cli(["import", "promptpex-published", str(folder), "-q"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "gpt-4o-mini 0/3 ≥0% (0–81) 1" in text
    assert "≥: a lost verdict may have gone either way" in text


def test_the_run_folder_is_reported_and_judged_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_cli(["import", "promptpex-published", str(folder), "--out", "out", "-q"])
    capsys.readouterr()
    assert run_cli(["report", "out/colours", "--json"]) == 0
    models = {row["model"]: row for row in _json(capsys)["models"]}
    assert models["gemma2:9b"]["non_compliant"] == 2
    assert models["gemma2:9b"]["outputs"] == 6
    assert run_cli(["judge", "out/colours", "--judge", "none", "--json", "-q"]) == 0
    assert {row["unscored"] for row in _json(capsys)["models"]} == {6}


def test_the_recordings_answer_a_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_cli(["import", "promptpex-published", str(folder), "--out", "out", "-q"])
    spec = Path("out/colours/prompt.spec.yaml")
    text = spec.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if "id: r2" in line)
    lines.insert(at + 1, "    checks:\n      - {kind: regex, value: '^[A-Z]+$'}\n")
    spec.write_text("".join(lines), encoding="utf-8")
    capsys.readouterr()
    models = ",".join(f"replay/out/colours/{project_files.file_name(model)}" for model in recordings.MODELS)
    assert run_cli(["run", "out/colours/prompt.md", "--judge", "none", "--models", models, "--json", "-q"]) == 0
    rows = _json(capsys)["models"]
    assert [(row["outputs"], row["errors"], row["non_compliant"]) for row in rows] == [(6, 0, 0), (6, 0, 2)]


def test_the_published_recordings_answer_a_run(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shared / "published" / "evals" / "v7" / "speech-tag"
    if not folder.is_dir():
        pytest.skip("the published recordings are not beside the repository")
    monkeypatch.chdir(tmp_path)
    assert run_cli(["import", "promptpex-published", str(folder), "--out", "out", "-q"]) == 0
    capsys.readouterr()
    replays = [*sorted(Path("out/speech-tag").glob("*b.jsonl")), Path("out/speech-tag/gpt-4o-mini.jsonl")]
    models = ",".join(f"replay/{path}" for path in replays)
    assert run_cli(["run", "out/speech-tag/prompt.md", "--judge", "none", "--models", models, "--json", "-q"]) == 0
    rows = {Path(row["model"]).stem: row for row in _json(capsys)["models"]}
    assert {model: row["non_compliant"] for model, row in rows.items()} == {
        "gemma2-9b": 4,
        "llama3.2-1b": 84,
        "qwen2.5-3b": 5,
        "gpt-4o-mini": 0,
    }
    assert {(row["outputs"], row["errors"], row["unscored"]) for row in rows.values()} == {(84, 0, 0)}


def test_writing_twice_gives_the_same_files(folder: Path) -> None:
    files = []
    for _ in range(2):
        assert run_cli(["import", "promptpex-published", str(folder), "--out", "out", "-q"]) == 0
        files.append({str(path): path.read_bytes() for path in sorted(Path("out").rglob("*")) if path.is_file()})
    assert files[0] == files[1]


def test_without_the_prompt_no_recording_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    recordings.write(tmp_path, prompt=False)
    assert run_cli(["import", "promptpex-published", ".", "--out", "out", "-q"]) == 0
    assert not list(Path("out/colours").glob("gpt*.jsonl"))
    assert not Path("out/colours/prompt.md").exists()
    assert len(runs.read(Path("out/colours")).outputs) == 12


def test_a_folder_that_cannot_be_written_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("taken").write_text("a file", encoding="utf-8")
    assert run_cli(["import", "promptpex-published", str(folder), "--out", "taken", "-q"]) == 2
    assert "taken" in capsys.readouterr().err


def test_damage_is_one_sentence_with_file_and_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "evals/v7/colours/test_results.csv"
    path.write_text(path.read_text(encoding="utf-8")[:200] + '"', encoding="utf-8")
    assert run_cli(["import", "promptpex-published", str(folder)]) == 2
    errors = capsys.readouterr().err
    assert errors.startswith(f"promptpex: {path}:")
    assert len(errors.strip().splitlines()) == 1


@pytest.mark.parametrize(
    "content",
    ["user: not a role", "user:\nis a role line", "```\nuser:\n```", "{{ thing }} and {% raw %}{{x}}{% endraw %}"],
)
def test_a_prompt_file_reads_back_as_the_prompt(content: str) -> None:
    messages = (Message(role="system", content=content), Message(role="user", content="{{thing}}"))
    prompt = Prompt(name="a: b", messages=messages, variables=("thing",), fingerprint="x")
    name, text = promptfile.file_of(prompt.name, prompt.messages)
    again = promptfile.parse(text, name)
    assert again.messages == messages
    assert again.name == "a: b"


def test_cases_alone_go_into_a_folder_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "faq.csv").write_text("q,a\nWhy?,So.\n", encoding="utf-8")
    command = [
        "import",
        str(tmp_path / "faq.csv"),
        "--columns",
        "q=inputs.q,a=expected",
        "--out",
        str(tmp_path / "out"),
    ]
    assert run_cli(command) == 0
    suite = read_suite(tmp_path / "out" / "prompt.cases.yaml")
    assert [(case.inputs, case.expected) for case in suite.cases] == [({"q": "Why?"}, "So.")]
    assert run_cli(command) == 2
    assert "is there already" in capsys.readouterr().err
    assert run_cli([*command, "--force"]) == 0


def test_a_tests_file_becomes_a_case_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tests.csv"
    path.write_text(recordings.TESTS, encoding="utf-8")
    out = tmp_path / "prompt.cases.yaml"
    assert (
        run_cli(["import", "promptpex-tests", str(path), "--rule-count", "2", "--variable", "thing", "--out", str(out)])
        == 0
    )
    assert [case.rule for case in read_suite(out).cases] == ["r1", "r2", "r1", "r2"]
    capsys.readouterr()
    assert run_cli(["import", "promptpex-tests", str(path), "--rule-count", "2"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert json.loads(printed[1])["id"] == "r1-1"


@pytest.mark.parametrize("shape", ["csv", "jsonl"])
def test_cases_go_out_and_come_back(shape: str, tmp_path: Path) -> None:
    path, out, again = tmp_path / "tests.csv", tmp_path / "a.cases.yaml", tmp_path / "b.cases.yaml"
    path.write_text(recordings.TESTS, encoding="utf-8")
    run_cli(["import", "promptpex-tests", str(path), "--rule-count", "2", "--out", str(out)])
    assert run_cli(["export", shape, str(out), "--out", str(tmp_path / f"x.{shape}")]) == 0
    assert run_cli(["import", shape, str(tmp_path / f"x.{shape}"), "--out", str(again)]) == 0
    assert read_suite(again).cases == read_suite(out).cases


def test_a_file_that_does_not_end_as_its_format_says_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cases.txt"
    path.write_text("x", encoding="utf-8")
    assert run_cli(["import", "csv", str(path)]) == 2
