"""An author behind an OpenAI-compatible server: what it answers follows from what it is shown, so it can be counted.

It writes no input twice: none that it is shown, and none for two aims, however alike their words.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from typing import Any

from promptpex.core.ids import text_digest
from promptpex.llm.fake import FakeClient
from tests.servers import Seen, Step, completion_body

AUTHOR = "openai/author"
_AIM = re.compile(r"^(\S+) \((\d+) inputs?, [^)]*\): (.*)$", re.MULTILINE)

_VARIABLES = re.compile(r"^Its inputs are the variables in double braces: (.*)\.$", re.MULTILINE)


@dataclass
class Author:
    """Answers every stage.

    Attributes:
        rules: a sentence of a prompt, and the rule that it proposes where it sees the sentence.
        value: an input's text, from the aim, the variable and a number.
        source: what it cites for every rule instead of the sentence.
        asked: how many requests came, by stage.
    """

    rules: Mapping[str, str]
    value: Callable[[str, str, int], str] = lambda aim, name, number: f"{name} {number} {text_digest(aim, 8)}"
    intent: str = "Label the mood of a review."
    source: str | None = None
    stages: Counter[str] = field(default_factory=Counter)

    @property
    def asked(self) -> int:
        return self.stages.total()

    def __call__(self, seen: Seen) -> Step:
        """What a scripted server answers."""
        schema = seen.body.get("response_format", {}).get("json_schema", {}).get("schema", {})
        return Step(completion_body(self.answer(schema, [turn["content"] for turn in seen.body["messages"]])))

    def client(self) -> FakeClient:
        """The same author as a client."""
        return FakeClient(
            lambda request: self.answer(request.reply_schema or {}, [turn.content for turn in request.messages])
        )

    def answer(self, schema: Mapping[str, Any], turns: Sequence[str]) -> str:
        """The reply to a request for a value of this schema; ``output`` is a prompt run as it stands."""
        names = list(schema.get("properties", {}))
        names = names[1:] if names[:1] == ["intent"] and len(names) > 1 else names
        stage = names[0] if names else "output"
        if stage == "rules" and "keeps" in schema["properties"]["rules"]["items"]["properties"]:
            stage = "checks"
        self.stages[stage] += 1
        if stage == "output":
            return "happy"
        return json.dumps(self._reply(stage, "\n".join(turns), schema), ensure_ascii=False)

    def _reply(self, stage: str, text: str, schema: Mapping[str, Any]) -> Any:
        if stage == "intent":
            return {"intent": self.intent}
        if stage == "constraints":
            return {"intent": self.intent, "constraints": []}
        if "together" in schema.get("properties", {}):
            return {
                "intent": self.intent,
                "inputs": [{"name": name, "constraints": []} for name in _VARIABLES.findall(text)[0].split(", ")],
                "together": [],
            }
        if stage == "claims":
            claims = re.findall(r"^<(?!prompt|source|note)([\w.]+)-[0-9a-f]+>$", text, re.MULTILINE)
            return {"claims": [{"claim": name, "reason": "it says so", "verdict": "yes"} for name in claims]}
        if stage == "rules":
            return {"rules": self._proposed(text), "more": False}
        if stage == "inverse":
            return {"inverse": f"Breaks this: {fenced(text, 'rule')}"}
        if stage == "cases":
            return {"cases": self._cases(text, schema)}
        if stage == "checks":
            bare = {"keeps": [], "keeps_only_this": [], "breaks": [], "checks": [], "decides": "condition", "after": ""}
            return {"rules": [{"rule": rule, **bare} for rule in fenced(text, "asked").split()]}
        if stage == "variants":
            shown = re.findall(r"<(i\d+)-([0-9a-f]+)>\n.*?The input:\n(.*?)\n</\1-\2>", text, re.DOTALL)
            grown = {name: f"{words} and a good deal more of it" for name, _, words in shown}
            names = variables_of(schema)
            return {
                "variants": [
                    {"input": one, "reasoning": "longer", "inputs": dict.fromkeys(names, longer)}
                    for one, longer in grown.items()
                ]
            }
        if stage == "problems":
            return {"problems": []}
        if stage == "ratings":
            names = sorted(set(re.findall(r"<(i\d+)-[0-9a-f]+>", text)))
            points = {"severity": 2, "importance": 4, "redundant_with": "none"}
            return {"ratings": [{"case": name, **points} for name in names]}
        return {"reason": "it says so", "verdict": "yes"}

    def _proposed(self, text: str) -> list[dict[str, str]]:
        prompt, known = fenced(text, "prompt"), fenced(text, "rules").split("\n")
        promised = [(sentence, rule) for sentence, rule in self.rules.items() if sentence in prompt]
        return [{"rule": rule, "source": self.source or sentence} for sentence, rule in promised if rule not in known]

    def _cases(self, text: str, schema: Mapping[str, Any]) -> list[dict[str, Any]]:
        aims = [(name, words) for name, many, words in _AIM.findall(fenced(text, "aims")) for _ in range(int(many))]
        shown = fenced(text, "inputs")
        numbers = count(len(shown.splitlines()))
        scenario, names = fenced(text, "scenario"), variables_of(schema)
        return [
            {"aim": aim, "reasoning": f"case {n}", "inputs": self._inputs(aim, words + scenario, names, shown, numbers)}
            for n, (aim, words) in enumerate(aims)
        ]

    def _inputs(self, aim: str, words: str, names: Sequence[str], shown: str, numbers: Iterator[int]) -> dict[str, str]:
        """Values with the next number that gives none of those shown; with any, where the number changes nothing."""
        inputs: dict[str, str] = {}
        for number in islice(numbers, len(shown.splitlines()) + 1):
            inputs = {name: self.value(f"{aim} {words}", name, number) for name in names}
            if not any(value in shown for value in inputs.values()):
                break
        return inputs


def fenced(text: str, label: str) -> str:
    """What stands between the marks of a label; nothing where they are not there."""
    fenced = re.search(rf"<{label}-([0-9a-f]+)>\n(.*?)\n</{label}-\1>", text, re.DOTALL)
    return fenced[2] if fenced else ""


def variables_of(schema: Any) -> list[str]:
    """The names that a reply's ``inputs`` must have, wherever they stand in its schema."""
    if isinstance(schema, dict):
        inner = schema.get("properties", {}).get("inputs")
        if isinstance(inner, dict) and "properties" in inner:
            return list(inner["properties"])
        for value in schema.values():
            names = variables_of(value)
            if names:
                return names
    if isinstance(schema, list):
        return next((names for names in map(variables_of, schema) if names), [])
    return []
