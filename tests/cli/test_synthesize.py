"""``promptpex synthesize`` as a person uses it: what it prints, what it refuses, what it asks nobody for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptpex.cli.main import run_cli
from promptpex.config import load
from promptpex.llm.fake import FakeClient
from promptpex.workflow.project_files import files_of
from promptpex.workflow.session import open_session
from promptpex.workflow.synthesizing import SynthesisWishes, synthesize
from tests.synthesis import audio_guide as guide

MODEL = "openai/gpt-4.1-mini"


@pytest.fixture
def prompt(tmp_path: Path) -> Path:
    guide.write_versions(tmp_path / "versions")
    path = tmp_path / "guide.md"
    path.write_text(guide.VERSIONS[-1], encoding="utf-8")
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run_cli(["synthesize", *arguments, "--no-config"])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


async def done(prompt: Path) -> None:
    """A synthesis with the scripted author, after which there is nothing to ask."""
    given = {"author": MODEL, "store": str(prompt.parent / "store.db")}
    async with open_session(load(given, start=Path("/"), env={}), provider=guide.author()) as session:
        await synthesize(session, files_of(prompt), SynthesisWishes(versions=[prompt.parent / "versions"]))


def test_a_dry_run_shows_the_changes_and_the_price(
    prompt: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(prompt.parent)
    code, out, _ = run(capsys, "guide.md", "--versions", "versions", "--dry-run", "-a", MODEL)
    assert code == 0
    lines = out.splitlines()
    assert lines[:3] == ["v1.md", f"  + {guide.ASK}", f"  + {guide.WORK}"]
    assert lines[lines.index("v4.md") + 1] == "  = 1 sentence moved"
    assert lines[lines.index("v7.md") + 1] == "  = the same words, in another form"
    assert any(" criteria " in line and "$" in line for line in lines)
    assert not (prompt.parent / "guide.synthesis").exists()


async def test_what_there_is_is_printed_without_asking_anybody(
    prompt: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    await done(prompt)
    monkeypatch.chdir(prompt.parent)
    monkeypatch.setenv("CI", "1")  # where no author is named, none is chosen, and none is needed
    code, out, err = _aside(capsys, "guide.md", "--versions", "versions", "--tagged")
    assert (code, err) == (0, "")
    assert "    Quantity: “between 80 and 120 words”" in out
    assert any(line.split() == ["Quantity", "content", "2", "versions"] for line in out.splitlines())
    assert "Write [between 80 and 120 words](quantity)" in out
    assert "c7 (v3.md, inclusion): The text names the year in which the work was made.\n    has_a_year (regex)" in out
    assert "c6 (v3.md, inclusion): The text names the artist of the work.\n    no candidate" in out
    assert out.splitlines()[-1].startswith("8 candidates for 9 criteria in guide.synthesis/candidates.yaml (0 new)")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gone.md"], "there is no such prompt file"),
        (["guide.md", "--versions", "gone"], "there is no such version of the prompt"),
        (["guide.md", "--versions", "versions", "--since", "2026-01-01"], "leave one out"),
        (["guide.md", "--since", "soon"], "soon"),
        (["guide.md", "--spec", "gone.spec.yaml"], "there is no such spec file"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(
    prompt: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(prompt.parent)
    code, out, err = run(capsys, *arguments, "-a", MODEL)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err


def _aside(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """The command in a thread of its own, since it opens an event loop."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run, capsys, *arguments).result()


def _record_of_something_else(path: Path) -> None:
    """A recording that holds no reply to what an author is asked."""
    recorded = {
        "id": "a" * 64,
        "stage": "output",
        "request": {"model": "openai/a", "messages": [{"role": "user", "content": "x"}], "params": {}, "repeat": 0},
        "completion": {"text": "x", "finish_reason": "stop"},
    }
    path.write_text(json.dumps(recorded) + "\n", encoding="utf-8")


def test_an_author_that_gives_nothing_is_said_and_ends_with_3(
    prompt: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(prompt.parent)
    _record_of_something_else(prompt.parent / "other.jsonl")
    code, out, err = run(capsys, "guide.md", "--versions", "versions", "-a", "replay/other.jsonl")
    assert code == 3
    assert "the author gave nothing usable for criteria" in err
    assert out.splitlines()[-1].startswith("0 candidates for 0 criteria")


async def test_an_author_that_gives_nothing_more_is_said_and_what_there_is_is_run(
    prompt: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    await done(prompt)
    monkeypatch.chdir(prompt.parent)
    prompt.write_text(f"{guide.VERSIONS[-1]}\n- **Name the room**", encoding="utf-8")  # noqa: ASYNC240
    reply = FakeClient(lambda _: "I would rather not.")
    given = {"author": MODEL, "store": str(prompt.parent / "store.db")}
    wishes = SynthesisWishes(versions=[prompt.parent / "versions"])
    _record_of_something_else(prompt.parent / "other.jsonl")
    (prompt.parent / "labels.csv").write_text("output,label\nA work of 1889.,1\n", encoding="utf-8")
    arguments = ("guide.md", "--versions", "versions", "--labels", "labels.csv", "-a")
    code, out, err = _aside(capsys, *arguments, "replay/other.jsonl")
    assert code == 0, err
    assert "the author gave nothing usable for criteria; another --author may, and --author none goes on with" in err
    assert "1 good and 0 bad of 1 example; results: " in out
    code, out, err = _aside(capsys, *arguments, "replay/other.jsonl")
    assert code == 0, err
    assert "replay/other.jsonl gave nothing usable before and is not asked again; " in err
    assert "waiting: 1 version without categories; 1 new sentence" in err
    assert "to ask:" not in err
    async with open_session(load(given, start=Path("/"), env={}), provider=reply) as session:
        made = await synthesize(session, files_of(prompt), wishes)
    assert made.unanswered == ("criteria",)
    asked = len(reply.requests)
    assert asked > 0, "another author is asked"
    async with open_session(load(given, start=Path("/"), env={}), provider=reply) as session:
        assert (await synthesize(session, files_of(prompt), wishes)).unanswered == ()
    assert len(reply.requests) == asked
    async with open_session(load({**given, "fresh": True}, start=Path("/"), env={}), provider=reply) as session:
        assert (await synthesize(session, files_of(prompt), wishes)).unanswered == ("criteria",)
