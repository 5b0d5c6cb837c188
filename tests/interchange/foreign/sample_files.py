"""A small file of each format that can be told by its file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

CHAT = [{"role": "system", "content": "Tag it."}, {"role": "user", "content": "Word: fox"}]


def _attributes(**values: Any) -> list[dict[str, Any]]:
    kinds = {str: "stringValue", int: "intValue", float: "doubleValue"}
    return [{"key": key.replace("__", "."), "value": {kinds[type(value)]: value}} for key, value in values.items()]


COMPLETION: dict[str, Any] = {
    "id": "c1", "object": "chat.completion", "model": "gpt-4o", "messages": CHAT,
    "choices": [{"message": {"role": "assistant", "content": [{"type": "text", "text": "NN"}]},
                 "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 1},
}  # fmt: skip
OBSERVATION: dict[str, Any] = {
    "id": "o1", "traceId": "t1", "projectId": "p", "type": "GENERATION", "startTime": "2026-01-01T00:00:00Z",
    "input": CHAT, "output": {"role": "assistant", "content": "NN"}, "model": "gpt-4o", "latency": 0.5,
    "usageDetails": {"input": 3, "output": 1}, "totalCost": 0.01, "level": "DEFAULT",
}  # fmt: skip
ITEM: dict[str, Any] = {
    "id": "i1", "datasetId": "d", "datasetName": "tags", "status": "ACTIVE", "input": {"word": "fox"},
    "expectedOutput": "NN", "metadata": {"a": 1}, "mediaReferences": [],
}  # fmt: skip
SPAN: dict[str, Any] = {
    "traceId": "ab", "spanId": "cd", "name": "chat gpt-4o", "startTimeUnixNano": "1000000000",
    "endTimeUnixNano": "1250000000", "status": {"code": 1},
    "attributes": _attributes(
        gen_ai__operation__name="chat", gen_ai__request__model="gpt-4o", gen_ai__usage__input_tokens=3,
        gen_ai__system_instructions='[{"type": "text", "content": "Tag it."}]',
        gen_ai__input__messages='[{"role": "user", "parts": [{"type": "text", "content": "Word: fox"}]}]',
        gen_ai__output__messages='[{"role": "assistant", "parts": [{"type": "text", "content": "NN"}], '
                                 '"finish_reason": "stop"}]'),
    "events": [{"name": "gen_ai.choice", "attributes": _attributes(content="x")}],
}  # fmt: skip
SPANS = {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": [SPAN]}]}]}
PROMPT_YML = "messages:\n  - {role: user, content: '{{input}}'}\ntestData:\n  - {input: fox, expected: NN}\n"
RESULTS = {"evalId": "e", "results": {"prompts": [{"raw": "x"}], "results": [{"promptIdx": 0, "vars": {}}]}}

FILES: Mapping[str, list[tuple[str, str]]] = {
    "csv": [("c.csv", "id,inputs.word,expected\nc1,fox,NN\n")],
    "github-prompt": [("a.prompt.yml", PROMPT_YML), ("b.yaml", PROMPT_YML)],
    "jsonl": [("c.jsonl", '{"prompt": "p.md"}\n{"id": "c1", "inputs": {"word": "fox"}}\n')],
    "langfuse": [
        ("o.jsonl", json.dumps(OBSERVATION)),
        ("i.json", json.dumps([ITEM])),
        ("t.json", json.dumps({"trace": {"id": "t1", "input": "fox"}, "observations": [OBSERVATION]})),
        ("t.csv", "id,timestamp,name,user_id,session_id,environment,input,output\nt1,2026,tag,u,s,prod,fox,NN\n"),
        ("o.csv", "id,trace_id,project_id,type,start_time,input,output\no1,t1,p,GENERATION,2026,fox,NN\n"),
    ],
    "openai-completions": [
        ("c.jsonl", json.dumps(COMPLETION)),
        ("f.jsonl", json.dumps({"messages": [*CHAT, {"role": "assistant", "content": "NN"}]})),
        ("b.jsonl", json.dumps({"id": "b", "custom_id": "q", "response": {"body": COMPLETION}, "error": None})),
    ],
    "otel-genai": [("s.jsonl", json.dumps(SPANS))],
    "promptfoo": [("promptfooconfig.yaml", "prompts: ['{{x}}']\nproviders: [echo]\ntests: [{vars: {x: fox}}]\n")],
    "promptfoo-results": [("r.json", json.dumps(RESULTS))],
    "promptpex-json": [("tests.json", '[{"ruleid": 1, "testinput": "fox"}]')],
    "prompty": [("a.prompty", "---\nname: x\n---\nuser:\n{{input}}\n")],
}  # fmt: skip
"""By the name of a format files in it, with their names."""
