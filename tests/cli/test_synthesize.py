"""``promptpex synthesize`` as a person uses it: what it prints, what it refuses, what it asks nobody for."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from promptpex.cli.main import run_cli
from promptpex.config import load
from promptpex.llm.fake import FakeClient
from promptpex.workflow.project_files import files_of
from promptpex.workflow.session import open_session
from promptpex.workflow.synthesizing import SynthesisWishes, synthesize
from tests.synthesis import audio_guide as guide
from tests.synthesis.repository import Repository

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


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_is_where_versions_come_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = Repository(tmp_path / "checkout")
    commits = [repo.commit(f"Version {number}", guide_md=text) for number, text in enumerate(guide.VERSIONS[:3], 1)]
    monkeypatch.chdir(repo.folder)
    code, out, _ = run(capsys, "guide.md", "--dry-run", "-a", MODEL, "--json", "--since", "2026-03-02")
    data = json.loads(out)
    assert code == 0
    assert [version["name"] for version in data["versions"]] == commits
    assert data["versions"][2]["note"] == "Version 3"
    assert data["deltas"][1]["changes"][0] == {"tag": "added", "text": guide.MOST, "role": "system"}
    assert {line["stage"] for line in data["requests"]} == {"categories", "criteria", "candidates"}


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


async def test_candidates_are_tried_on_the_outputs_of_a_table(
    prompt: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    await done(prompt)
    monkeypatch.chdir(prompt.parent)
    rows = "\n".join(f"{'A work of 1889. ' * number},{number % 2},ada" for number in range(1, 7))
    (prompt.parent / "labels.csv").write_text(f"output,label,grader\n{rows}\nIt is old.,0,bob\n", encoding="utf-8")
    arguments = ("guide.md", "--versions", "versions", "--labels", "labels.csv", "--graders")
    code, out, err = _aside(capsys, *arguments, "ada")
    assert code == 0
    assert "labels of labels.csv: 7 rows of labels; on 0 known examples; 7 examples of the table alone" in err
    assert "labels: 3 good examples, 3 bad, 1 without a label; ada alone decides; " in err
    assert "3 good and 3 bad of 7 examples; results: " in out
    assert out.splitlines()[-1] == "To choose: promptpex select guide.synthesis"
    code, out, _ = _aside(capsys, *arguments, "any-bad", "--json")
    trial = json.loads(out)["trial"]
    assert (trial["good"], trial["bad"], trial["cells"]) == (3, 4, 0)
    code, _, err = _aside(capsys, *arguments, "addda")
    assert code == 2
    assert "no grader is called 'addda'; did you mean 'ada'" in err


@pytest.mark.parametrize(
    ("name", "text", "arguments", "message"),
    [
        ("labels.csv", None, ["--labels", "labels.csv"], "labels.csv: there is no such table of labels"),
        ("labels.csv", "a,b\n1,2\n", ["--labels", "labels.csv"], "labels.csv:1: "),
        ("guide.grades.jsonl", "<<<<<<< HEAD\n", [], "guide.grades.jsonl:1: "),
        ("guide.synthesis/examples.jsonl", "{\n", [], "examples.jsonl:1: the line is not valid JSON"),
        ("results", None, ["--run", "gone"], "gone"),
    ],
)
def test_what_no_candidate_could_be_tried_on_is_said_before_anybody_is_asked(
    prompt: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    text: str | None,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(prompt.parent)
    if text is not None:
        (prompt.parent / name).parent.mkdir(exist_ok=True)
        (prompt.parent / name).write_text(text, encoding="utf-8")
    code, out, err = run(capsys, "guide.md", "--versions", "versions", "-a", MODEL, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert "to ask" not in err


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


async def test_without_an_author_the_candidates_are_run_on_new_outputs(
    prompt: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    await done(prompt)
    monkeypatch.chdir(prompt.parent)
    prompt.write_text(f"{guide.VERSIONS[-1]}\n- **Name the room**", encoding="utf-8")  # noqa: ASYNC240
    (prompt.parent / "labels.csv").write_text("output,label\nA work of 1889.,1\nIt is old.,0\n", encoding="utf-8")
    arguments = ("guide.md", "--versions", "versions", "--labels", "labels.csv", "-a", "none")
    code, out, err = _aside(capsys, *arguments)
    assert code == 0, err
    assert "no author is asked (--author none); waiting: 1 version without categories; 1 new sentence" in err
    assert "to ask:" not in err
    assert "1 good and 1 bad of 2 examples; results: " in out
    assert "(16 new)" in out
    code, _, err = _aside(capsys, *arguments)
    assert (code, "no author is asked" in err) == (0, True)
    code, _, err = _aside(capsys, *arguments, "--infer")
    assert code == 2
    assert "--author none asks nobody" in err
