"""A ``--tpm`` that is less than one request is an error with the numbers, before anything is sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from promptpex.cli.main import run_cli
from promptpex.config import load
from promptpex.core.errors import ConfigError
from promptpex.llm.fake import FakeClient
from promptpex.workflow.execution.early_stopping import execute
from promptpex.workflow.execution.run_records import begin
from promptpex.workflow.session import open_session
from tests.samples import prompt, spec, suite

SPEC = "prompt: prompt.md\nrules:\n  - {id: r1, rule: One word., source: in one word}\n"
CASES = "prompt: prompt.md\ncases:\n  - {id: c1, rule: r1, inputs: {thing: fox}}\n"


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prompt.md").write_text("Name the colour of {{thing}} in one word.\n", encoding="utf-8")
    (tmp_path / "prompt.spec.yaml").write_text(SPEC, encoding="utf-8")
    (tmp_path / "prompt.cases.yaml").write_text(CASES, encoding="utf-8")
    return tmp_path / "prompt.md"


@pytest.mark.parametrize(
    ("verb", "more", "message"),
    [
        ("run", ["--models", "fake/RED", "--judge", "none"], "1,032 tokens (8 to send, up to 1,024 to answer)"),
        ("run", ["--models", "fake/RED?max_tokens=90", "--judge", "none"], "98 tokens (8 to send, up to 90 to answer)"),
        ("run", ["--models", "fake/RED?max_tokens=1", "--judge", "fake/no"], "fake/no: an answer alone may take 4,096"),
        ("extract", ["--author", "fake/no", "--update"], "fake/no: an answer alone may take 4,096 tokens"),
        ("generate", ["--author", "fake/no?max_tokens=70"], "fake/no: an answer alone may take 70 tokens"),
    ],
)
def test_it_is_refused_at_once(
    there: Path, capsys: pytest.CaptureFixture[str], verb: str, more: list[str], message: str
) -> None:
    assert run_cli([verb, str(there), *more, "--tpm", "50"]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert "--tpm allows 50 a minute; raise --tpm, or allow a shorter answer" in err
    assert not Path("results").exists()


def test_it_is_refused_before_a_spec_is_paid_for(there: Path, capsys: pytest.CaptureFixture[str]) -> None:
    there.with_name("prompt.spec.yaml").unlink()
    line = ["run", str(there), "--author", "fake/no?max_tokens=5", "--judge", "none", "--tpm", "1000"]
    assert run_cli([*line, "--models", "fake/RED"]) == 2
    assert "fake/RED: an answer alone may take 1,024 tokens" in capsys.readouterr().err
    assert not there.with_name("prompt.spec.yaml").exists()


def test_what_is_stored_is_not_sent_so_it_fits(there: Path) -> None:
    line = ["run", str(there), "--models", "fake/RED", "--judge", "none", "-q"]
    assert run_cli([*line, "--tpm", "2000"]) == 0
    assert run_cli([*line, "--tpm", "50"]) == 0
    assert run_cli([*line, "--tpm", "50", "--fresh"]) == 2


async def test_nothing_is_sent(tmp_path: Path) -> None:
    fake = FakeClient(["RED"])
    given: dict[str, Any] = {"models": ["fake/a"], "judge": "none", "tpm": 50, "store": str(tmp_path / "s.db")}
    async with open_session(load(given, start=tmp_path, env={}), provider=fake) as session:
        with pytest.raises(ConfigError, match="--tpm allows 50 a minute"):
            await begin(session, prompt(), spec(), suite())
    assert fake.requests == []


async def test_what_only_the_outputs_make_too_large_is_unscored_and_holds_nobody_up(tmp_path: Path) -> None:
    """How long a judge's request is, nobody knows before the outputs."""
    fake = FakeClient(lambda request: "RED " * 500)
    given: dict[str, Any] = {"models": ["fake/a?max_tokens=9"], "judge": ["fake/j?max_tokens=9"], "tpm": 500}
    resolved = load({**given, "store": str(tmp_path / "s.db")}, start=tmp_path, env={})
    async with open_session(resolved, provider=fake) as session:
        finished = await execute(session, await begin(session, prompt(), spec(), suite()))
    assert {request.stage for request in fake.requests} == {"output"}
    judged = [verdict for verdict in finished.verdicts if verdict.source == "judge:fake/j?max_tokens=9"]
    assert {verdict.unscored for verdict in judged} == {"judge-bad-request"}
    assert all("--tpm allows 500 a minute" in verdict.reason for verdict in judged)
