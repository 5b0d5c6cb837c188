"""A small file of each format that can be told by its file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

CHAT = [{"role": "system", "content": "Tag it."}, {"role": "user", "content": "Word: fox"}]


def _attributes(**values: Any) -> list[dict[str, Any]]:
    kinds = {str: "stringValue", int: "intValue", float: "doubleValue"}
    return [{"key": key.replace("__", "."), "value": {kinds[type(value)]: value}} for key, value in values.items()]


EVAL: dict[str, Any] = {
    "name": "Tags",
    "data_source_config": {"type": "custom", "item_schema": {}},
    "testing_criteria": [
        {"type": "string_check", "name": "right", "input": "{{sample.output_text}}", "operation": "eq",
         "reference": "{{item.tag}}"},
        {"type": "text_similarity", "name": "near", "input": "{{sample.output_text}}", "reference": "{{item.tag}}",
         "evaluation_metric": "rouge_l", "pass_threshold": 0.5},
        {"type": "label_model", "name": "kind", "model": "m", "input": CHAT, "labels": ["a", "b"],
         "passing_labels": ["a"]},
        {"type": "score_model", "name": "score", "model": "m", "input": CHAT, "range": [0, 1], "pass_threshold": 0.5},
        {"type": "python", "name": "code", "source": "def grade(sample, item):\n    return 1.0\n"},
        {"type": "multi", "name": "both", "graders": {"one": {"type": "string_check"}}, "calculate_output": "one"},
    ],
    "data_source": {
        "type": "completions", "model": "gpt-4o-mini",
        "input_messages": {"type": "template", "template": [{"role": "user", "content": "{{item.word}}"}]},
        "source": {"type": "file_content", "content": [{"item": {"word": "fox", "tag": "NN"},
                                                        "sample": {"output_text": "NN", "model": "m"}}]},
    },
}  # fmt: skip
COMPLETION: dict[str, Any] = {
    "id": "c1", "object": "chat.completion", "model": "gpt-4o", "messages": CHAT,
    "choices": [{"message": {"role": "assistant", "content": [{"type": "text", "text": "NN"}]},
                 "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 1},
}  # fmt: skip
GOLDEN: dict[str, Any] = {
    "input": "fox", "actual_output": "NN", "expected_output": "NN", "context": ["a", "b"], "retrieval_context": ["c"],
    "name": "g1", "comments": "x", "additional_metadata": {"lang": "en"}, "input_token_count": 3, "token_cost": 0.1,
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
RECORD: dict[str, Any] = {
    "traceId": "ef", "spanId": "01", "eventName": "gen_ai.user.message", "attributes": [],
    "body": {"kvlistValue": {"values": [{"key": "content", "value": {"stringValue": "Word: fox"}}]}},
}  # fmt: skip
SPANS = {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": [SPAN]}]}]}
RECORDS = {"resourceLogs": [{"resource": {}, "scopeLogs": [{"scope": {}, "logRecords": [RECORD]}]}]}
CONSOLE = {"name": "chat", "context": {"trace_id": "0x1", "span_id": "0x2"}, "start_time": "2026-01-01",
           "attributes": {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "fox",
                          "gen_ai.completion.0.content": "NN"},
           "events": [], "status": {"status_code": "OK"}}  # fmt: skip
REGISTRY = "x.dev.v0:\n  class: evals.elsuite.basic.match:Match\n  args: {samples_jsonl: x.jsonl}\n"
PROMPT_YML = "messages:\n  - {role: user, content: '{{input}}'}\ntestData:\n  - {input: fox, expected: NN}\n"
RESULTS = {"evalId": "e", "results": {"prompts": [{"raw": "x"}], "results": [{"promptIdx": 0, "vars": {}}]}}

FILES: Mapping[str, list[tuple[str, str]]] = {
    "csv": [("c.csv", "id,inputs.word,expected\nc1,fox,NN\n")],
    "deepeval": [
        ("g.json", json.dumps([GOLDEN], indent=1)),
        ("g.jsonl", json.dumps({"input": "fox", "expected_output": "NN"})),
        ("g.csv", "input,actual_output,expected_output,context\nfox,NN,NN,a|b\n"),
        ("chats.json", json.dumps([{"scenario": "x", "expected_outcome": "y", "turns": CHAT}])),
    ],
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
    "openai-evals": [("s.jsonl", json.dumps({"input": CHAT, "ideal": "NN"})), ("r.yaml", REGISTRY)],
    "openai-evals-api": [("e.json", json.dumps(EVAL, indent=1)), ("i.jsonl", json.dumps({"item": {"word": "fox"}}))],
    "otel-genai": [("s.jsonl", json.dumps(SPANS)), ("l.json", json.dumps(RECORDS, indent=1)),
                   ("console.json", json.dumps(CONSOLE, indent=4) + "\n" + json.dumps(CONSOLE, indent=4))],
    "promptfoo": [("promptfooconfig.yaml", "prompts: ['{{x}}']\nproviders: [echo]\ntests: [{vars: {x: fox}}]\n")],
    "promptfoo-results": [("r.json", json.dumps(RESULTS))],
    "promptpex-json": [("tests.json", '[{"ruleid": 1, "testinput": "fox"}]')],
    "prompty": [("a.prompty", "---\nname: x\n---\nuser:\n{{input}}\n")],
}  # fmt: skip
"""By the name of a format files in it, with their names."""
