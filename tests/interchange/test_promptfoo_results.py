"""promptfoo's results as a run that is judged again: outputs, errors, repeats, and damaged files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptpex.cli.main import run_cli
from promptpex.report import runs

Capture = pytest.CaptureFixture[str]


def _row(test: int, column: int, output: Any, **more: Any) -> dict[str, Any]:
    return {
        "testIdx": test,
        "promptIdx": column,
        "vars": {"word": f"w{test}", "list": ["a", "b"]},
        "provider": {"id": "openai:chat:m", "label": "small"} if column % 2 == 0 else {"id": "openai:gpt-4o"},
        "response": {"output": output, "tokenUsage": {"prompt": 3, "completion": 4}},
        "latencyMs": 12,
        "cost": 0.5,
        "success": True,
        "testCase": {
            "vars": {"word": f"w{test}"},
            "assert": [{"type": "contains", "value": "{{word}}"}, {"type": "python", "value": "file://gone.py"}],
            "metadata": {"_promptfooFileMetadata": {}},
        },
        **more,
    }


def _results(*rows: dict[str, Any], prompts: tuple[str, ...] = ("Say {{word}}", "Say {{word}}")) -> dict[str, Any]:
    return {
        "evalId": "eval-x",
        "results": {"version": 3, "prompts": [{"raw": raw, "label": raw} for raw in prompts], "results": list(rows)},
        "config": {"description": "Says words."},
    }


def _imported(folder: Path, results: Any) -> Path:
    path = folder / "results.json"
    path.write_text(json.dumps(results), encoding="utf-8")
    assert run_cli(["import", str(path), "--out", str(folder / "out"), "-q"]) == 0
    return folder / "out"


def test_outputs_are_judged_again(tmp_path: Path, capsys: Capture) -> None:
    rows = [
        _row(0, 0, "w0 it is"),
        _row(0, 0, "once more"),
        _row(0, 1, {"word": "w0"}),
        _row(1, 0, None, error="no answer came"),
        _row(1, 1, ""),
    ]
    out = _imported(tmp_path, _results(*rows))
    assert "the file with its value is not beside the results" in capsys.readouterr().out
    run = runs.read(runs.latest(out))
    assert [(one.case, one.model, one.repeat, one.text, one.error) for one in run.outputs] == [
        ("t1", "small", 0, "w0 it is", None),
        ("t1", "small", 1, "once more", None),
        ("t1", "openai/gpt-4o", 0, '{"word": "w0"}', None),
        ("t2", "small", 0, None, "error"),
        ("t2", "openai/gpt-4o", 0, "", None),
    ]
    assert (run.outputs[0].tokens_out, run.outputs[0].latency_ms, run.outputs[0].cost_usd) == (4, 12, 0.5)
    assert run.outputs[3].message == "no answer came"
    assert [case.inputs for case in run.suite.cases] == [{"word": f"w{n}", "list": ["a", "b"]} for n in range(2)]
    folder = next(out.glob("*/*/manifest.json")).parent
    assert run_cli(["judge", str(folder), "--judge", "none", "-q"]) == 0
    verdicts = {(each.case, each.model, each.repeat): each.status for each in runs.read(folder).verdicts}
    assert verdicts["t1", "small", 0] == verdicts["t1", "openai/gpt-4o", 0] == "pass"
    assert verdicts["t1", "small", 1] == "fail"
    assert verdicts["t2", "small", 0] == "unscored"


def test_several_prompts_are_a_run_each(tmp_path: Path) -> None:
    chat = '[{"role": "system", "content": "Say {{word}}"}]'
    out = _imported(tmp_path, _results(_row(0, 0, "a"), _row(0, 1, "b"), prompts=("Say {{word}}", chat)))
    texts = sorted(
        output.text or "" for path in out.glob("*/*/manifest.json") for output in runs.read(path.parent).outputs
    )
    assert texts == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"results": {"results": [}', "not valid JSON"),
        ('{"evalId": 1, "results": {}}', "these are not promptfoo results"),
        ('{"results": {"results": [3], "prompts": [{}]}}', "a row must be a mapping, not a number"),
        ('{"results": {"results": [], "prompts": [{"raw": 3}]}}', "a prompt must be text, not a number"),
        ('{"results": {"results": [{"vars": 3}], "prompts": [{"raw": "x"}]}}', "vars must be a mapping"),
        ("[" * 100_000, "nested too deeply"),
        ('{"results": 3}', "results must be a mapping"),
        ("\0", "binary"),
    ],
)
def test_damage_is_one_sentence(tmp_path: Path, text: str, says: str, capsys: Capture) -> None:
    path = tmp_path / "r.json"
    path.write_text(text, encoding="utf-8")
    assert run_cli(["import", "promptfoo-results", str(path), "--out", str(tmp_path / "out")]) == 2
    message = capsys.readouterr().err
    assert says in message
    assert len(message.strip().splitlines()) == 1
    assert str(path) in message


@pytest.mark.parametrize("levels", [120, 300, 900])
def test_data_that_nests_too_deep_for_our_files_is_refused(tmp_path: Path, levels: int, capsys: Capture) -> None:
    text = json.dumps(_results(_row(0, 0, "x"))).replace('"w0"', "[" * levels + "]" * levels)
    (tmp_path / "results.json").write_text(text, encoding="utf-8")
    assert run_cli(["import", str(tmp_path / "results.json"), "--out", str(tmp_path / "out"), "-q"]) == 2
    assert " deep" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
