"""Slips of the hand that would cost money are errors, before anything is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptpex.cli.main import run_cli
from promptpex.config import load
from promptpex.core.errors import ConfigError
from promptpex.llm.fake import FakeClient
from promptpex.workflow.session import open_session


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "prompt.md"
    path.write_text("Name the colour of {{thing}} in one word.\n", encoding="utf-8")
    (tmp_path / "prompt.spec.yaml").write_text(
        "prompt: prompt.md\nrules:\n  - {id: r1, rule: One word., source: in one word}\n", encoding="utf-8"
    )
    (tmp_path / "prompt.cases.yaml").write_text(
        "prompt: prompt.md\ncases:\n  - {id: c1, rule: r1, inputs: {thing: fox}}\n", encoding="utf-8"
    )
    return path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--models", ""], "--models names no model"),
        (["--models", " , "], "--models names no model"),
        (["--models", "fake/x", "--judge", ""], "--judge names no model"),
        (["--models", "fake/x", "--author", " "], "--author: it names no model"),
        (["--models", "fake/x", "--spec", "promt.spec.yaml"], "promt.spec.yaml: there is no such spec file"),
        (["--models", "fake/x", "--cases", "prompt.case.yaml"], "prompt.case.yaml: there is no such case file"),
    ],
)
@pytest.mark.parametrize("verb", ["run", "estimate"])
def test_it_is_an_error(
    there: Path, capsys: pytest.CaptureFixture[str], verb: str, arguments: list[str], message: str
) -> None:
    assert run_cli([verb, str(there), *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not Path("results").exists()


def test_extract_and_generate_do_not_pass_over_a_misspelt_file(there: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for line in (
        ["extract", str(there), "--update", "--cases", "no.yaml"],
        ["generate", str(there), "--spec", "no.yaml"],
    ):
        assert run_cli([*line, "--author", "fake/x"]) == 2
        assert "no.yaml: there is no such" in capsys.readouterr().err


@pytest.mark.parametrize("share", ["10%", "0.1"])
def test_fail_above_takes_a_share_as_every_option_does(
    there: Path, capsys: pytest.CaptureFixture[str], share: str
) -> None:
    spec = there.with_name("prompt.spec.yaml")
    text = spec.read_text(encoding="utf-8")
    spec.write_text(text.replace("source:", "checks: [{kind: equals, value: RED}], source:"), encoding="utf-8")
    line = ["run", str(there), "--judge", "none", "--fail-above", share, "-q"]
    assert run_cli([*line, "--models", "fake/RED"]) == 0
    assert run_cli([*line, "--models", "fake/GREEN"]) == 1
    assert "--fail-above fails fake/GREEN" in capsys.readouterr().err
    assert run_cli(["run", str(there), "--models", "fake/RED", "--fail-above", "ten"]) == 2
    assert "--fail-above: " in capsys.readouterr().err


@pytest.mark.parametrize(("ci", "refused"), [("true", True), ("1", True), ("false", False), ("", False)])
async def test_no_author_is_chosen_where_nobody_watches(there: Path, ci: str, refused: bool) -> None:
    resolved = load({"store": str(there.parent / "s.db")}, start=there.parent, env={"CI": ci})
    assert resolved.unattended is refused
    async with open_session(resolved, provider=FakeClient(["x"])) as session:
        try:
            session.roles.author()
            refusal = ""
        except ConfigError as error:  # without a key and the embedded model there is nobody to choose
            refusal = error.message
    assert ("CI is set" in refusal) is refused


@pytest.mark.parametrize(
    "line",
    [
        ["run", "prompt.md", "--models", "fake/RED", "--author", "fake/x"],
        ["generate", "prompt.md", "--author", "fake/x", "--expected", "fake/x"],
        ["extract", "prompt.md", "--update", "--verify"],
    ],
)
def test_no_model_that_nobody_named_is_a_judge(
    there: Path, capsys: pytest.CaptureFixture[str], line: list[str]
) -> None:
    assert run_cli([*line, "--store", "store.db"]) == 2
    assert "--judge" in capsys.readouterr().err.splitlines()[-1]
    assert not Path("results").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--fail-above", "5x"], "--fail-above: '5x' is not a share: write 10% or 0.1\n"),
        (["--fail-above", "1.5"], "--fail-above: '1.5' is not a share: write 10% or 0.1\n"),
        (["--confidence", "95"], "--confidence: '95' is not a share: write 95% or 0.95\n"),
        (["--match", "fuzzy"], "--match: there is no comparison 'fuzzy'; they are "),
    ],
)
def test_a_wrong_value_is_named_once(
    there: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert run_cli(["run", str(there), "--models", "fake/RED", "--judge", "none", *arguments]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count(arguments[1].join("''")) == 1
    assert f'"{arguments[1]}"' not in err
