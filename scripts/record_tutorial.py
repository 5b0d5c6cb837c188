#!/usr/bin/env python3
"""Makes docs/tutorial/recording.jsonl anew: follows docs/tutorial.md, with answers of docs/tutorial/answers.yaml.

    python scripts/record_tutorial.py

Needed where the page's prompt has changed, or a template under ``prompts/`` or the shape of a reply: the recording then
has no answer to what is asked. The page shows what comes out, so it may have to be brought up to date afterwards.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from follow_page import follow  # noqa: E402

PAGE = ROOT / "docs" / "tutorial.md"
FOLDER = ROOT / "docs" / "tutorial"
PORT = 8123
SERVER = f"http://127.0.0.1:{PORT}/v1"
CHANGED = "no label"
"""Words that only the changed prompt has."""


class Answers:
    """Says what ``answers.yaml`` has to a request."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self._answers = answers

    def reply(self, body: dict[str, Any]) -> str:
        """The reply to the body of a chat request.

        Raises:
            KeyError, StopIteration: there is none.
        """
        stage = body.get("response_format", {}).get("json_schema", {}).get("name", "output")
        given: dict[str, Callable[[], object]] = {
            "inputs": lambda: self._answers["inputs"],
            "rules": lambda: {"rules": self._answers["rules"], "more": False},
            "checks": self._checks,
            "cases": self._cases,
            "judge": lambda: self._verdicts(body),
        }
        return self._output(body) if stage == "output" else json.dumps(given[stage](), ensure_ascii=False)

    def _checks(self) -> dict[str, Any]:
        empty = {"after": "", "when": [], "inputs": [], "other_inputs": []}
        rules = [
            {**rule, **empty, "checks": [{"path": "", **check} for check in rule["checks"]]}
            for rule in self._answers["checks"]
        ]
        return {"rules": rules, "no_checks": self._answers["no_checks"]}

    def _cases(self) -> dict[str, Any]:
        made = [case for case in self._answers["cases"] if "aim" in case]
        return {
            "cases": [
                {"aim": case["aim"], "reasoning": case["reasoning"], "inputs": {"message": case["message"]}}
                for case in made
            ]
        }

    def _output(self, body: dict[str, Any]) -> str:
        message = body["messages"][-1]["content"]
        case = next(case for case in self._answers["cases"] if case["message"] == message)
        answers: dict[str, str] = case[body["model"]]
        changed = CHANGED in body["messages"][0]["content"]
        return answers.get("after", answers["before"]) if changed else answers["before"]

    def _verdicts(self, body: dict[str, Any]) -> dict[str, Any]:
        asked = body["messages"][-1]["content"]
        output = re.search(r"<output-\w+>\n(.*?)\n</output-", asked, re.DOTALL)
        assert output is not None
        broken = self._answers["broken"].get(output[1], {})
        rules = body["response_format"]["json_schema"]["schema"]["properties"]
        return {rule: self._verdict(rule, broken.get(rule), asked) for rule in rules}

    def _verdict(self, rule: str, reason: str | None, asked: str) -> dict[str, str]:
        if reason:
            return {"reason": reason, "verdict": "fail"}
        if rule == "r2" and any(words in asked for words in self._answers["names_no_product"]):
            return {"reason": "", "verdict": "not concerned"}
        return {"reason": "One line, and it is the subject." if rule == "r6" else "", "verdict": "pass"}


@contextlib.contextmanager
def served(answers: Answers) -> Iterator[None]:
    """A chat server on loopback, in a thread of its own."""
    from aiohttp import web

    async def chat(request: web.Request) -> web.Response:
        choice = {"index": 0, "finish_reason": "stop"}
        content = {"role": "assistant", "content": answers.reply(await request.json())}
        return web.json_response({"object": "chat.completion", "choices": [{**choice, "message": content}]})

    async def serve() -> None:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", chat)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", PORT).start()
        ready.set()
        await asyncio.to_thread(done.wait)
        await runner.cleanup()

    ready, done = threading.Event(), threading.Event()
    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    ready.wait()
    try:
        yield
    finally:
        done.set()
        thread.join()


def recorded(page: str, folder: Path) -> str:
    """The recording that comes of following the page; what the page shows is not compared, and times are left out."""
    from promptpex.cli.main import run_cli

    def run(arguments: list[str], where: Path) -> str:
        if arguments[0] in ("extract", "generate", "run"):
            with contextlib.chdir(where):
                code = run_cli([*arguments, "--record", str(folder / "recording.jsonl"), "--quiet"])
            if code:
                raise SystemExit(f"promptpex {' '.join(arguments)}: exit code {code}")
        elif arguments[0] == "init":
            (where / arguments[1]).mkdir()
        return ""

    (folder / "docs" / "tutorial").mkdir(parents=True)
    (folder / "docs" / "tutorial" / "recording.jsonl").touch()  # to be copied, and not asked
    asking = re.sub(r'"replay/[^"#]*#([^"]*)"', rf'"\1"\napi_base = "{SERVER}"', page)
    follow(re.sub(r"^```text$", "```", asking, flags=re.MULTILINE), folder, run)
    lines = [json.loads(line) for line in (folder / "recording.jsonl").read_text(encoding="utf-8").splitlines()]
    for line in lines:
        line["completion"].pop("latency_ms", None)
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)


def main() -> None:
    """Writes the file."""
    import yaml

    answers = Answers(yaml.safe_load((FOLDER / "answers.yaml").read_text(encoding="utf-8")))
    with tempfile.TemporaryDirectory() as folder, served(answers):
        text = recorded(PAGE.read_text(encoding="utf-8"), Path(folder))
    (FOLDER / "recording.jsonl").write_text(text, encoding="utf-8")
    print(f"{text.count(chr(10))} requests, {len(text.encode()) // 1000} kB")


if __name__ == "__main__":
    main()
