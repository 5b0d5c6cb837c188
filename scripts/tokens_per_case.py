"""What a suite costs: requests and tokens for each valid case, from extraction to generated cases, checks included.

    python scripts/tokens_per_case.py [PROMPT...]

An author is played whose answers are as long as those of a capable model and right in form; nothing is asked of any
model. Tokens are characters / 4 of the messages, of the reply's schema and of the answers. Without arguments, the
prompts that PromptPex published are counted, where they are at hand; the inputs are texts of our benchmarks.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from promptpex.cases.file import read_suite
from promptpex.config import load
from promptpex.core.records import Request, Suite
from promptpex.core.sentences import sentences
from promptpex.llm.fake import FakeClient
from promptpex.promptfile import read
from promptpex.specs.source_quotes import prompt_text
from promptpex.workflow import generating, specifying
from promptpex.workflow.session import open_session

ROOT = Path(__file__).parent.parent
PUBLISHED = ROOT.parent / "shared" / "published" / "prompts"


@dataclass(frozen=True, slots=True)
class Typical:
    """What a capable author gives to a prompt, as it did when it was tried.

    Attributes:
        rules: how many it writes down.
        rule, output, value: characters of a rule, of an example output, of an input.
    """

    rules: int
    rule: int
    output: int
    value: int


TYPICAL = {
    "speech-tag": Typical(rules=4, rule=170, output=4, value=60),
    "art-prompt": Typical(rules=9, rule=100, output=250, value=150),
    "extract-names": Typical(rules=5, rule=100, output=30, value=300),
}
OTHERWISE = Typical(rules=8, rule=110, output=100, value=150)


@dataclass(slots=True)
class Count:
    """Requests of one stage, and the tokens of their messages, schemas and answers."""

    requests: int = 0
    message: float = 0.0
    schema: float = 0.0
    answer: float = 0.0

    @property
    def tokens(self) -> float:
        """All tokens, in and out."""
        return self.message + self.schema + self.answer


@dataclass(slots=True)
class Author:
    """The author that is played, and what it was asked."""

    typical: Typical
    quotes: Sequence[str]
    inputs: Iterator[str]
    counts: defaultdict[str, Count] = field(default_factory=lambda: defaultdict(Count))

    def __call__(self, request: Request) -> str:
        """The answer to a request, counted."""
        text = "\n".join(message.content for message in request.messages)
        schema = request.reply_schema or {}
        answer = json.dumps(_complete(self._reply(request.stage, text, schema), schema), ensure_ascii=False)
        own = self.counts[request.stage]
        own.requests += 1
        own.message += len(text) / 4
        own.schema += len(json.dumps(request.reply_schema)) / 4
        own.answer += len(answer) / 4
        return answer

    def _reply(self, stage: str, text: str, schema: dict[str, Any]) -> Any:
        if stage == "inputs":
            constraints = [_words(95) for _ in range(5)]
            named = re.search(r"variables in double braces: (.*)\.", text)
            each = [{"name": name, "constraints": constraints} for name in named[1].split(", ")] if named else []
            return {"intent": _words(150), "constraints": constraints, "inputs": each}
        if stage == "rules":
            return {"rules": [self._rule(number) for number in range(self.typical.rules)], "more": False}
        if stage == "checks":
            return {"rules": [self._checks(rule) for rule in _ids(_fenced(text, "asked"))]}
        return {"cases": list(self._cases(text, schema))}

    def _rule(self, number: int) -> dict[str, str]:
        rule = f"Promise {number}: {_words(self.typical.rule)}"
        source = self.quotes[number % len(self.quotes)]
        return {"source": source[:160], "rule": rule, "needs": "output", "inverse": f"Break {number}: {_words(90)}"}

    def _checks(self, rule: str) -> dict[str, Any]:
        outputs = [_words(self.typical.output) for _ in range(3)]
        check = {"kind": "word-count", "value": "at least 1 words"}
        return {
            "rule": rule, "keeps": outputs, "keeps_only_this": outputs[:1], "breaks": ["", " "], "checks": [check],
            "decides": "partly", "after": "",
        }  # fmt: skip

    def _cases(self, text: str, schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
        names = list(schema["properties"]["cases"]["items"]["properties"]["inputs"]["properties"])
        for aim, wanted in re.findall(r"^(\S+) \((\d+) input", _fenced(text, "aims"), re.MULTILINE):
            for _ in range(int(wanted)):
                yield {"aim": aim, "reasoning": _words(90), "inputs": {name: next(self.inputs) for name in names}}


def _complete(value: Any, schema: dict[str, Any]) -> Any:
    """The value with what the schema demands besides, as short as can be."""
    kind = schema.get("type")
    if value is None:
        empty = {"array": [], "boolean": False, "object": {}}.get(str(kind), "")
        return schema["enum"][0] if "enum" in schema else empty
    if kind == "array":
        return [_complete(item, schema["items"]) for item in value]
    if kind == "object":
        return {name: _complete(value.get(name), part) for name, part in schema.get("properties", {}).items()}
    return value


def _fenced(text: str, label: str) -> str:
    match = re.search(rf"<{label}-([0-9a-f]+)>\n(.*?)\n</{label}-\1>", text, re.DOTALL)
    return match[2] if match else ""


def _ids(lines: str) -> list[str]:
    return re.findall(r"^(r\d+)\b", lines, re.MULTILINE)


def _words(length: int) -> str:
    """Plain words of this length."""
    return ("The answer says plainly what it is about and stays with it to the end, as it was asked to. " * 50)[:length]


def _inputs(length: int) -> Iterator[str]:
    """Inputs of about this length, no two of the same sentences: those of all our benchmarks, one after the other."""
    suites = [read_suite(path) for path in sorted((ROOT / "benchmarks").glob("*/prompt.cases.yaml"))]
    values = (value for suite in suites for case in suite.cases for value in case.inputs.values())
    texts = iter(dict.fromkeys(value for value in values if isinstance(value, str) and len(value) > 20))
    while True:
        text = next(texts)
        while len(text) < length / 2:
            text = f"{text} {next(texts)}"
        yield text[: 2 * length]


async def counted(path: Path) -> tuple[Author, Suite]:
    """The stages that a suite for this prompt takes, with default settings."""
    typical = TYPICAL.get(path.stem, OTHERWISE)
    prompt = read(path)
    author = Author(typical, sentences(prompt_text(prompt)), _inputs(typical.value))
    with tempfile.TemporaryDirectory() as folder:
        settings = load({"author": "fake/author", "store": str(Path(folder) / "store.db")}, start=Path(folder), env={})
        async with open_session(settings, provider=FakeClient(author)) as session:
            spec = await specifying.extract(session, prompt, spec_for=path.name)
            made = await generating.generate(session, prompt, spec, Suite(prompt=path.name))
    return author, made.suite


def per_case(author: Author, suite: Suite) -> tuple[float, float]:
    """Requests and tokens of all stages for each valid case."""
    cases, counts = len(suite.usable()), author.counts.values()
    return sum(one.requests for one in counts) / cases, sum(one.tokens for one in counts) / cases


def report(path: Path, author: Author, suite: Suite) -> list[str]:
    """The counts as a table of Markdown."""
    cases = len(suite.usable())
    head = ["| stage | requests | message | schema | answer |", "|---|--:|--:|--:|--:|"]
    lines = [f"## {path.stem}: {cases} valid cases", "", *head]
    for stage, one in author.counts.items():
        lines.append(f"| {stage} | {one.requests} | {one.message:,.0f} | {one.schema:,.0f} | {one.answer:,.0f} |")
    requests, tokens = per_case(author, suite)
    lines += ["", f"{requests:.2f} requests and {tokens:,.0f} tokens a valid case."]
    own = author.counts["cases"]
    return [*lines, f"Generation alone: {own.requests / cases:.2f} and {own.tokens / cases:,.0f}.", ""]


def main(paths: Sequence[str]) -> int:
    """Prints the counts of the prompts."""
    files = [Path(path) for path in paths] or [PUBLISHED / f"{name}.json" for name in TYPICAL]
    for path in files:
        if not path.exists():
            print(f"{path.name} is not there; name prompts to count", file=sys.stderr)
            return 2
        print("\n".join(report(path, *asyncio.run(counted(path)))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
