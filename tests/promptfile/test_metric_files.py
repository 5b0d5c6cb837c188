"""Metric files beside a prompt: what they may say, and what is wrong with those that cannot be used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from promptpex.core.errors import PromptFileError
from promptpex.promptfile.metric_files import MOST, examine_beside, metrics_beside

SHOWS = "Is it kind?\n{{output}}\n"


def put(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, encoding="utf-8")
    return folder / "prompt.md"


def test_criteria_and_code_are_read_by_name(tmp_path: Path) -> None:
    prompt = put(
        tmp_path,
        tone__metric__md=f"---\ndescription: How kind it is.\nscale: 0-100\n---\n{SHOWS}",
        polite__metric__prompty=(
            "---\nname: Custom\ninputs:\n  outputFormat: {type: string}\n---\nsystem:\nOK or ERR? {{outputFormat}}\n"
            "user:\n{{output}} {{inputSpec}}\n"
        ),
        short__metric__js="output.length < 20",
        other__md="no metric",
    )
    polite, short, tone = metrics_beside(prompt)
    assert [metric.name for metric in (polite, short, tone)] == ["polite", "short", "tone"]
    assert (tone.scale, tone.description, polite.scale) == ("0-100", "How kind it is.", "pass-fail")
    assert (short.code, short.criteria) == ("output.length < 20", None)
    assert tone.fingerprint() != tone.replace(scale="pass-fail").fingerprint()
    assert metrics_beside(Path("nowhere/prompt.md")) == ()


@pytest.mark.parametrize(
    ("words", "scale"),
    [("Score it from 0 to 100.", "0-100"), ('{"minimum": 0, "maximum": 100}', "0-100"), ("0-100", "0-100"),
     ("OK or ERR?", "pass-fail"), ("from 10 to 1000", "pass-fail")],
)  # fmt: skip
def test_a_metric_of_promptpex_has_the_scale_that_it_speaks_of(tmp_path: Path, words: str, scale: str) -> None:
    prompt = put(tmp_path, a__metric__prompty=f"system:\n{words}\n{SHOWS}", b__metric__md=f"{words}\n{SHOWS}")
    assert [metric.scale for metric in metrics_beside(prompt)] == [scale, "pass-fail"]


def test_an_experimental_metric_is_not_used_and_that_is_said(tmp_path: Path) -> None:
    prompt = put(tmp_path, a__metric__prompty=f"---\ntags: [scorer, experimental]\n---\n{SHOWS}", b__metric__md=SHOWS)
    metrics, problems = examine_beside(prompt)
    assert [metric.name for metric in metrics] == ["b"]
    assert [(one.severity, one.message) for one in problems] == [
        ("info", "the metric is tagged experimental, and is not used, as in PromptPex")
    ]


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.metric.md", "", "is empty"),
        ("a.metric.md", "Is it kind?", "never shows the output"),
        ("a.metric.md", "{{input}}", "never shows the output"),
        ("a.metric.md", "{{output}} {{ouput_format}}", "did you mean 'output_format'"),
        ("a.metric.md", f"---\nscale: 1-5\n---\n{SHOWS}", "the scale '1-5' is not one of pass-fail, 0-100"),
        ("a.metric.md", "{{output}} {% if %}", "template is broken"),
        ("a.metric.md", "\0", "text"),
        ("a.metric.js", "  \n", "is empty"),
        ("a b.metric.md", SHOWS, "cannot be called 'a b'"),
        ("expected.metric.md", SHOWS, "cannot be called 'expected'"),
        ("9.metric.js", "true", "a letter first"),
        ("tone_ci_low.metric.js", "true", "columns of another metric"),
    ],
)
def test_what_is_wrong_with_a_metric_names_its_file(tmp_path: Path, name: str, text: str, reason: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(PromptFileError) as caught:
        metrics_beside(tmp_path / "prompt.md")
    assert reason in str(caught.value)
    assert name in str(caught.value)


def test_two_of_one_name_and_too_many_are_refused(tmp_path: Path) -> None:
    prompt = put(tmp_path, a__metric__md=SHOWS, a__metric__js="true")
    with pytest.raises(PromptFileError, match="has the same name"):
        metrics_beside(prompt)
    (tmp_path / "a.metric.js").unlink()
    for number in range(MOST):
        (tmp_path / f"b{number}.metric.js").write_text("true", encoding="utf-8")
    with pytest.raises(PromptFileError, match=f"{MOST} is the most"):
        metrics_beside(prompt)


@pytest.mark.skipif(os.name != "posix", reason="other systems have no such names")
def test_a_line_break_in_a_files_name_is_no_part_of_a_metrics_name(tmp_path: Path) -> None:
    (tmp_path / "tone\n.metric.js").write_text("true", encoding="utf-8")
    with pytest.raises(PromptFileError, match="cannot be called"):
        metrics_beside(tmp_path / "prompt.md")
