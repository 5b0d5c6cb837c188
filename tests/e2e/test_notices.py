"""What providers have to say reaches the terminal, the log and the manifest, through the whole command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.faults import MODEL, command, place
from tests.servers import ScriptedServer, Seen, Step, completion_body, error_body

REFUSAL = "refuses temperature; it is asked without from now on"


def picky(seen: Seen) -> Step:
    if "temperature" in seen.body:
        return Step(status=400, body=error_body("temperature is not supported with this model"))
    return Step(completion_body("NN"))


async def test_a_refused_parameter_is_reported_everywhere(tmp_path: Path, scripted: ScriptedServer) -> None:
    here, log = place(tmp_path, cells=3), tmp_path / "run.jsonl"
    scripted.otherwise = picky
    model = f"{MODEL}?temperature=0.7&api_base={scripted.url}/v1"
    asked = here.arguments("--models", model, "--judge", "none", "--log", str(log))
    done = await command(asked)
    assert done.code == 0, done.err
    assert done.err.count(REFUSAL) == 1
    notices = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert sum(line["event"] == "Notice" and REFUSAL in line["message"] for line in notices) == 1
    assert [REFUSAL in notice for notice in here.manifest()["notices"]] == [True]
    sent = scripted.count
    again = await command(asked)
    assert again.code == 0, again.err
    assert scripted.count == sent
    assert [REFUSAL in notice for notice in here.manifest()["notices"]] == [True], "the replies are the same ones"


async def test_a_download_is_reported_while_it_goes_on(
    tmp_path: Path, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, known = place(tmp_path, cells=1), set[str]()
    monkeypatch.setenv("OLLAMA_HOST", scripted.url)

    def ollama(seen: Seen) -> Step:
        if seen.path == "/api/pull":
            known.add("m:1b")
            steps = ({"status": "pulling 0123", "completed": 5, "total": 10}, {"status": "success"})
            return Step("".join(json.dumps(step) + "\n" for step in steps).encode())
        if not known:
            return Step(b'{"error": "model not found"}', status=404)
        answer = {"message": {"role": "assistant", "content": "NN"}, "done": True}
        return Step(json.dumps(answer if seen.path == "/api/chat" else {"model_info": {}}).encode())

    scripted.otherwise = ollama
    done = await command(here.arguments("--models", "m:1b", "--judge", "none", "--pull"))
    assert done.code == 0, done.err
    assert "Pulling m:1b: pulling 0123 50%" in done.err
