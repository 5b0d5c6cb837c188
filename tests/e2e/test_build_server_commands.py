"""Whatever models, prompts, rules and cases say: what is printed has nothing that build servers obey."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import pytest

from promptpex import interchange
from promptpex.codecs.text.control_characters import OBEYED
from promptpex.interchange.format import formats
from tests.e2e.command import environment, in_process
from tests.pytest_plugin.project import with_plugin
from tests.servers import ScriptedServer, Step, completion_body

EVIL = (
    "out\n::error::PWN1\n  ::stop-commands::abc\r\n::add-mask::e\n##[error]PWN2\n##vso[task.setvariable variable=a]b\n"
    "\x1b]0;T\x07\u202e" + "x" * 77 + "::error::folded"
)
LINE = " ".join(EVIL.replace("\x1b]0;T\x07", "").split())
QUOTED = LINE.replace("'", "''")
COMMAND = re.compile(r"^\s*::\w|##(\[|vso\[|teamcity\[)", re.I | re.M)
OWN = re.compile(r"^::(error|warning|notice)( [a-z]+=[^:]*)?::.*$", re.M)

SPEC = f"""prompt: prompt.md
intent: '{QUOTED}'
inputs: {{text: ['{QUOTED}']}}
rules:
  - id: r1
    rule: '{QUOTED}'
    inverse: '{QUOTED}'
    source: 'Say ::error::it'
    checks: [{{kind: equals, value: '{QUOTED}'}}]
    origin: added
"""
CASES = f"""prompt: prompt.md
cases:
  - {{id: c1, rule: r1, inputs: {{text: '{QUOTED}'}}, expected: '{QUOTED}', reasoning: '{QUOTED}', origin: added}}
"""
MODEL = "openai/::error::model"


def assert_nothing_is_obeyed(printed: str, *, own: bool = False) -> None:
    foreign = OWN.sub("", printed) if own else printed
    assert not [line for line in foreign.splitlines() if COMMAND.search(line)]
    assert not OBEYED.search(printed.replace("\r\n", "\n"))


@pytest.fixture
def project(tmp_path: Path, scripted: ScriptedServer) -> Path:
    scripted.otherwise = Step(body=completion_body(EVIL))
    texts = {"prompt.md": f"Say ::error::it about {{{{text}}}}. {LINE}\n", "prompt.spec.yaml": SPEC}
    texts |= {"prompt.cases.yaml": CASES, "checks.yaml": f"- {{kind: equals, value: '{QUOTED}'}}\n"}
    texts["promptpex.toml"] = f'models = ["{MODEL}"]\napi_base = "{scripted.url}/v1"\njudge = "none"\n'
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


WRITTEN = [name for name, one in sorted(formats(interchange).items()) if one.write is not None]
CALLS = (
    "run prompt.md",
    "run prompt.md -v --fresh",
    "report latest --full",
    "judge latest -j none",
    "compare latest latest",
    "diff prompt.md prompt.md",
    "validate .",
    "estimate prompt.md",
    "runs",
    "runs list",
    "bless latest",
    *(
        f"gate latest --max-non-compliance 0% --format {layout}"
        for layout in ("text", "json", "github", "markdown", "junit")
    ),
    "gate latest --baseline blessed",
    "align latest",
    "export jsonl latest --out rows.jsonl",
    *(f"check rows.jsonl --assertions checks.yaml --format {layout}" for layout in ("table", "csv", "json", "junit")),
    "import jsonl rows.jsonl",
    *(f"export {name} {source}" for name in WRITTEN for source in ("latest", "prompt.cases.yaml")),
)


async def test_no_command_prints_what_is_obeyed(project: Path) -> None:
    shown = set[str]()
    for call in CALLS:
        done = await asyncio.to_thread(in_process, *call.split(), cwd=project)
        assert "Traceback" not in done.err
        for printed in (done.out, done.err):
            assert_nothing_is_obeyed(printed, own="--format github" in call)
            shown |= {call} if "# #vso[" in printed else set()
    assert {"export junit latest", "export csv latest"} <= shown


@pytest.mark.long
async def test_tests_of_pytest_print_nothing_that_is_obeyed(project: Path) -> None:
    await asyncio.to_thread(in_process, "run", "prompt.md", cwd=project)
    await asyncio.to_thread(in_process, "export", "pytest", "latest", "-o", "test_prompt.py", cwd=project)
    for arguments in (["test_prompt.py"], ["--promptpex", "prompt.md"]):
        command = [sys.executable, "-m", "pytest", *with_plugin(*arguments)]
        done = await asyncio.to_thread(
            subprocess.run, command, cwd=project, env=environment(), capture_output=True, encoding="utf-8", timeout=120
        )
        assert "failed" in done.stdout, done.stdout + done.stderr
        assert_nothing_is_obeyed(done.stdout)
        assert_nothing_is_obeyed(done.stderr)
