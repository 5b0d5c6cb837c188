"""Good files and replies of each format, small, for hostile ones to be made from."""

from __future__ import annotations

import json
from typing import Any

PROMPT = """---
name: colours
description: A colour in a word.
inputs:
  thing: {type: text, max_length: 200}
  count: {type: integer, minimum: 1, maximum: 9}
scenarios:
  short: {constraints: [The thing is short.], fixed: {count: 2}}
samples: [{thing: apple, count: 2}, {file: samples.csv}]
instructions: {rules: Few rules., judging: Be strict.}
language: en
effort: min
---
system:
Name the colour of the thing in one word. Answer in capitals. {% if count %}Give {{count}}.{% endif %}

user:
{{thing|upper}} {{ count }}
"""

MESSAGES = {
    "name": "colours",
    "messages": [{"role": "system", "content": "Name a colour. {{thing}}"}, {"role": "user", "content": "{{count}}"}],
    "variables": {"thing": {"type": "string"}},
}

CHECKS: list[dict[str, Any]] = [
    {"kind": "contains", "value": "RED"},
    {"kind": "not-icontains-any", "value": ["a", "b"]},
    {"kind": "regex", "value": "^[A-Z]+$"},
    {"kind": "regex", "value": "(?P<a>x)+", "dialect": "python"},
    {"kind": "regex", "value": r"^\p{L}+$", "dialect": "unicode", "ignore_case": True},
    {"kind": "not-word-any", "value": ["as an AI", "sorry"], "ignore_case": True},
    {"kind": "is-json", "value": {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}},
    {"kind": "contains-json", "value": {"type": "object", "properties": {"a": {"multipleOf": 0.01}}}, "exact": True},
    {"kind": "is-html"},
    {"kind": "is-xml"},
    {"kind": "is-sql", "value": {"database": "sqlite"}},
    {"kind": "word-count", "value": {"min": 1, "max": 3}, "unit": "sentences"},
    {"kind": "word-count", "value": {"max": 9}, "unit": "spoken-words"},
    {"kind": "not-contains", "value": "x", "path": "lines[].colour"},
    {"kind": "levenshtein", "value": "RED", "threshold": 2},
    {"kind": "rouge-n", "value": "a red thing", "threshold": 0.5, "n": 1},
    {"kind": "bleu", "value": "a red thing", "threshold": 0.5},
    {"kind": "starts-with", "value": "{{thing}}"},
    {"kind": "equals", "value": "{{ thing | upper }}", "transform": "output.trim()"},
    {"kind": "javascript", "value": "output.length < 30"},
    {"kind": "question", "value": "Is {{thing}} named?"},
    {"kind": "is-refusal"},
    {"kind": "language", "value": "en"},
    {"kind": "cost", "threshold": 0.1},
    {"kind": "latency", "threshold": 500},
    {"kind": "perplexity", "threshold": 9},
    {"kind": "finish-reason", "value": "stop"},
    {"kind": "assert-set", "threshold": 0.5, "assert": [{"kind": "contains", "value": "a"}, {"kind": "is-json"}]},
]

SPEC: dict[str, Any] = {
    "prompt": "prompt.md",
    "intent": "Name a colour.",
    "inputs": {
        "thing": {"constraints": ["The thing is an object."]},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
    },
    "input_checks": [{"variable": "thing", "kind": "word-count", "value": {"max": 50}}],
    "rules": [
        {
            "id": "r1",
            "rule": "The output is one word.",
            "inverse": "The output has several words.",
            "source": "in one word",
            "checks": [{"kind": "word-count", "value": {"max": 1}}, {"kind": "regex", "value": r"^\s*\S+\s*$"}],
            "origin": "edited",
        },
        {"id": "r2", "rule": "The output is a colour.", "inverse": "No colour.", "source": "the colour"},
        {
            "id": "r3",
            "rule": "If the thing is red, the output says so.",
            "needs": "input",
            "when": [{"variable": "thing", "kind": "word-any", "value": ["apple", "cherry"], "ignore_case": True}],
            "after": "r1",
            "checks": [{"kind": "expected", "value": "exact"}, {"kind": "equals", "value": "{{expected}}"}],
            "decides": "partly",
            "misquoted": True,
        },
    ],
}

METRIC = """---
description: How plainly it speaks.
scale: 0-100
---
Rules:
{{rules}} {{ intent }} {{inputSpec}}
The thing: {{input}}, and the right answer: {{expected}}.
{% if output %}{{ output | upper }}{% endif %}
{{output_format}}
"""

METRIC_CODE = "output.length < 30 ? 1 : context.vars.count / output.length"

SPEC_YAML = """# a comment
prompt: prompt.md
intent: Name a colour.   # what for
inputs:
  thing:
    constraints:
      - The thing is an object.
  count: {type: integer, minimum: 1}
rules:
  - id: r1
    rule: The output is one word.
    inverse: >-
      The output has several
      words.
    source: in one word
    checks:
      - {kind: regex, value: '^\\s*\\S+\\s*$'}
      - kind: word-count
        value: {max: 1}
    decides: partly
    origin: edited
  - id: r2
    rule: "The output is a colour."
    stale: true
    after: r1
    needs: input
    when:
      - {variable: thing, kind: not-regex, value: '^\\p{Lu}', dialect: unicode, path: 'a.b[]'}
"""

CASES: dict[str, Any] = {
    "prompt": "prompt.md",
    "match": "set",
    "cases": [
        {"id": "c1", "rule": "r1", "inputs": {"thing": "apple", "count": 2}, "origin": "added"},
        {"id": "c2", "rule": "r2", "inverse": True, "inputs": {"thing": "sky", "count": 1}, "expected": "BLUE"},
        {"id": "c3", "inputs": {"thing": "snow", "count": 3}, "invalid": "too short", "scenario": "short"},
        {
            "id": "c4",
            "inputs": {"thing": "coal", "count": 4},
            "expected": "1,000.5",
            "match": "numeric:1%",
            "rating": {"severity": 5, "importance": 1, "redundant_with": "c1", "of": "x"},
            "aside": "not now",
        },
    ],
}

CASES_YAML = """prompt: prompt.md
cases:
  - id: c1
    rule: r1
    inputs: {thing: apple, count: 2}
    origin: added   # mine
  - id: c2
    rule: r2
    inverse: true
    inputs:
      thing: |
        the sky
        at night
      count: 1
    expected: BLUE
    match: numeric:0.5
    rating: {severity: 2, importance: 3}
"""

CASES_CSV = (
    'id,rule,inverse,inputs.thing,inputs.count,expected\r\nc1,r1,,apple,2,\r\nc2,r2,true,"the, sky",1,\'=BLUE\r\n'
)
CASES_JSONL = "\n".join(json.dumps({"prompt": "prompt.md", **case}) for case in CASES["cases"]) + "\n"
SAMPLES_CSV = 'thing,count\napple,2\n"the, sky",1\n'
TESTS_CSV = (
    "promptid, model, ruleid, testid, testinput, expectedoutput, reasoning\n"
    "p1, gpt-4, 1, 1, An apple, RED, one word\np1, gpt-4, 2, 1, The sky, BLUE, a colour\n"
)

CANDIDATES: dict[str, Any] = {
    "prompt": "prompt.md",
    "criteria": [
        {
            "id": "c1",
            "text": "It names the colour.",
            "category": "inclusion",
            "source": "Name the colour",
            "version": "v1",
        },
        {"id": "c2", "text": "It is one word.", "category": "quantity", "rule": "r1", "origin": "extracted"},
    ],
    "candidates": [
        {"id": "names_it", "criteria": ["c1"], "check": {"kind": "contains", "value": "{{thing}}"}, "choice": "must"},
        {
            "id": "is_one_word",
            "criteria": ["c2", "c1"],
            "check": {"kind": "word-count", "value": 1},
            "origin": "generated",
        },
        {"id": "asked", "criteria": ["c1"], "check": {"kind": "question", "value": "Is it a colour?"}},
        {"id": "coded", "criteria": ["c1"], "check": {"kind": "python", "value": "len(output) < 9"}},
    ],
    "implications": [
        {"stronger": "is_one_word", "weaker": "names_it", "evidence": "judge", "accepted": False},
        {"stronger": "asked", "weaker": "coded", "evidence": "person"},
    ],
}

ASSERTIONS = {"assert": CHECKS[:6], "threshold": 0.5, "vars": {"thing": "apple"}}
ASSERTIONS_YAML = "".join(
    ["assert:\n", *(f"  - {json.dumps(check)}\n" for check in CHECKS[:8]), "threshold: 0.5\nvars: {thing: apple}\n"]
)
PROMPTFOO = {
    "prompts": ["file://prompt.md"],
    "defaultTest": {"assert": [{"type": "contains", "value": "file://x.txt"}]},
    "assertionTemplates": {"short": {"type": "javascript", "value": "output.length < 9"}},
    "tests": [{"vars": {"thing": "a"}, "assert": [{"$ref": "#/assertionTemplates/short"}, {"type": "is-json"}]}],
}

PYTHON = (
    "len(output) < 30",
    "import re\nreturn {'pass': re.search('R', output) is not None, 'score': 0.5, 'reason': output}",
    "def get_assert(output, context):\n    return context['vars'].get('thing') in output",
    "async def f(example, prompt, response):\n    return 1 / len(response) > 0 and await ask(f'{response}?')",
)

SETTINGS = """author = "openai/author"
judge = ["openai/judge"]
repeats = 2
max_requests = 200
tolerance = "5%"
weights = {rule = 3, inverse = 1}
results = "results"
drop_worse = true
scenarios = [{name = "short", constraints = ["It is short."], fixed = {count = 2}}]

[models]
under_test = ["small", "openai/b?temperature=0.5&max_tokens=20"]

[models.small]
model = "openai/a?top_k=3"
api_base = "http://127.0.0.1:9/v1"
key_env = "SMALL_API_KEY"
price_input = 0.1
price_output = 0.4
temperature = 0
think = true

[prices."openai/a"]
input = 0.1
output = 0.4

[instructions]
rules = "Few."
"""

COMPLETION: dict[str, Any] = {
    "text": "RED", "finish_reason": "stop", "refusal": None, "reasoning": "hm", "tokens_in": 20, "tokens_out": 5,
    "cost_usd": 0.01, "latency_ms": 12.5, "model_reported": "mock", "logprobs": [{"token": "RED", "logprob": -0.5}],
}  # fmt: skip

RECORD: dict[str, Any] = {
    "id": "a" * 64,
    "stage": "output",
    "request": {"model": "openai/a", "messages": [{"role": "user", "content": "apple"}], "params": {}, "repeat": 0},
    "completion": COMPLETION,
}

RECORDED_ERROR = {**RECORD, "id": "b" * 64, "error": {"reason": "rate-limited", "message": "later"}}
RECORDED_ERROR.pop("completion")

CHAT: dict[str, Any] = {
    "id": "c1",
    "object": "chat.completion",
    "model": "mock",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "RED", "refusal": None, "reasoning_content": "hm"},
            "logprobs": {
                "content": [{"token": "RED", "logprob": -0.5, "top_logprobs": [{"token": "A", "logprob": -3}]}]
            },
        }
    ],
    "usage": {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25},
}

OLLAMA: dict[str, Any] = {
    "model": "mock",
    "message": {"role": "assistant", "content": "RED", "thinking": "hm"},
    "done": True,
    "done_reason": "stop",
    "prompt_eval_count": 20,
    "eval_count": 5,
    "error": None,
}

ROW: dict[str, Any] = {
    "id": 1, "output": "RED", "vars": {"thing": "apple"}, "cost": 0.01, "latency_ms": 5, "logprobs": [-0.5],
    "finish_reason": "stop", "threshold": 0.5, "assert": [*CHECKS[:2], {"kind": "expected"}],
    "expected": "RED", "match": "json",
}  # fmt: skip

NAMES = (
    "gpt-4o-mini", "openai/a?temperature=0&max_tokens=9", "llama3.2:1b?num_ctx=4096", "anthropic/claude-3-haiku",
    "openai/x?api_base=http://127.0.0.1:1/v1", "bedrock/anthropic.claude-v1:0", "openrouter/a/b:free", "azure/dep",
    "ft:gpt-4o-mini:org::id", "embedded/smollm2-135m", "embedded/hf:a/b/c.gguf", "replay/file.jsonl#m",
    "a?stop=x&seed=1&logprobs=true", "a,b?top_p=0.5,c", "big=openai/x?seed=1&api_base=http://127.0.0.1:1/v1,small",
    "small?temperature=1,hot=small?top_k=4", "a.b-c_d=m:1",
)  # fmt: skip

ENV_FILE = """# keys
export OPENAI_API_KEY="key-of-a-file-1"
ANTHROPIC_API_KEY='key-of-a-file-2'  # mine
GROQ_API_KEY=key-of-a-file-3
OPENAI_BASE_URL=http://127.0.0.1:9/v1
PROMPTPEX_API_KEY=key-of-a-file-4
"""

WEIGHTS = ("rule=3,inverse=1", "r1=2", "inverse=0", "rule=1000")

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["a"],
    "additionalProperties": False,
    "properties": {
        "a": {"type": "string", "minLength": 1, "pattern": "^[a-z]+$", "format": "date"},
        "b": {"type": "array", "items": {"$ref": "#/$defs/n"}, "uniqueItems": True, "maxItems": 3},
        "c": {"enum": [1, "x", None]},
    },
    "patternProperties": {"^x-": {"anyOf": [{"type": "number", "multipleOf": 0.1}, {"const": True}]}},
    "$defs": {"n": {"type": "integer", "minimum": 0, "not": {"const": 3}}},
}

GRADE: dict[str, Any] = {
    "id": "a" * 32, "time": "2026-03-01T09:30:00+00:00", "grader": "ada", "key": "b" * 32, "output_digest": "c" * 32,
    "case": "c1", "model": "openai/a", "repeat": 1, "subject": "r1", "subject_digest": "d" * 32, "value": "bad",
    "note": 'two words: "{\"id\":"', "policy": "random", "probability": 0.25,
}  # fmt: skip
CORRECTION: dict[str, Any] = {**GRADE, "id": "e" * 32, "value": "good", "note": "", "replaces": GRADE["id"]}

REPORT_CSV = """model,cases,outputs,scored,non_compliance,ci_low,ci_high,at_least,decision,accuracy,accuracy_scored,\
accuracy_ci_low,accuracy_ci_high,accuracy_at_least
a,2,4,4,0.25,0.01,0.8,False,best,0.5,4,0.1,0.9,True
b,2,4,0,,,,True,undecided,,,,,
"""
