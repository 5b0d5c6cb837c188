"""README's first session, typed into a fresh folder as it is; an author, models and a judge answer on loopback."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.command import ROOT, in_process
from tests.e2e.scripted_author import Author
from tests.servers import ScriptedServer, Seen, Step, completion_body

SESSION = (ROOT / "README.md").read_text(encoding="utf-8").partition("## A first session")[2].partition("\n## ")[0]
BEFORE, AFTER = re.findall(r"^```sh\n(.*?)^```$", SESSION, re.MULTILINE | re.DOTALL)
PRICES = "".join(f'[prices."{name}"]\ninput = 1\noutput = 4\n' for name in ("gpt-4o-mini", "gpt-4.1-mini", "gpt-4.1"))
KEPT = '{"r1": {"reason": "", "verdict": "pass"}}'
RULES = {"Do not promise refunds or dates.": "The answer promises no refund and no date."}


def replies(author: Author) -> Callable[[Seen], Step]:
    """Lists no models, judges that the rule is kept, and else answers as the author."""

    def reply(seen: Seen) -> Step:
        if "messages" not in seen.body:
            return Step(b'{"data": []}')
        judged = '"r1"' in json.dumps(seen.body.get("response_format", {}))
        return Step(completion_body(KEPT)) if judged else author(seen)

    return reply


async def typed(block: str, folder: Path) -> Path:
    """Where the shell is when all lines of the block are done."""
    for line in block.splitlines():
        match shlex.split(line, comments=True):
            case ["cd", name]:
                folder = folder / name
            case ["promptpex", *arguments]:
                done = await asyncio.to_thread(in_process, *arguments, cwd=folder)
                assert done.code == 0, (line, done.out, done.err)
            case _:
                raise AssertionError(line)
    return folder


async def test_the_first_session_works_as_typed(
    tmp_path: Path, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webbrowser.open", lambda url: True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config" / "promptpex").mkdir(parents=True)
    (tmp_path / "config" / "promptpex" / "settings.toml").write_text(PRICES, encoding="utf-8")
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-for-loopback")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{scripted.url}/v1")
    scripted.otherwise = replies(Author(RULES))
    shop = await typed(BEFORE, tmp_path)
    prompt = shop / "prompt.md"
    prompt.write_text(prompt.read_text(encoding="utf-8").replace("two sentences", "three sentences"), encoding="utf-8")
    await typed(AFTER, shop)
    assert len(list(shop.glob("results/shop/*/report.html"))) == 2
    assert (shop / "prompt.blessed.json").is_file()
