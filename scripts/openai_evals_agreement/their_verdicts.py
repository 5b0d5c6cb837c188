"""Run by the Python that has openai/evals: the verdicts of its own classes, an answer a line.

It imports nothing of promptpex. Lines on stdin are ``{"class", "ideal", "output", "ignore_case"}``; on stdout true or
false for each. Nothing is asked: the completion function says the output.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import sys
from typing import Any

os.environ.setdefault("OPENAI_API_KEY", "unused")


class _Said:
    def __init__(self, text: str) -> None:
        self.text = text

    def get_completions(self) -> list[str]:
        """What a model said, as the classes ask for it."""
        return [self.text]


def verdict(row: dict[str, Any]) -> bool:
    """Whether the class of a row takes its output for right."""
    record, registry = (importlib.import_module(f"evals.{name}") for name in ("record", "registry"))
    module, _, name = row["class"].partition(":")
    answer = _Said(row["output"])
    arguments = {"ignore_case": True} if row.get("ignore_case") else {}
    made = getattr(importlib.import_module(module), name)(
        completion_fns=[lambda prompt, **_: answer],
        eval_registry_path=".",
        samples_jsonl="-",
        registry=registry.Registry(),
        name="agree.dev.v0",
        **arguments,
    )
    about = record.RunSpec(
        completion_fns=["agree"], eval_name="agree", base_eval="agree", split="dev", run_config={}, created_by=""
    )
    recorder = record.DummyRecorder(about, log=False)
    events: list[tuple[str, Any]] = []
    recorder.record_event = lambda type, data=None, sample_id=None: events.append((type, data))
    with recorder.as_default_recorder("agree.dev.0"):
        made.eval_sample({"input": "x", "ideal": row["ideal"]}, random.Random(0))
    match = [data for kind, data in events if kind == "match"]
    metrics = [data for kind, data in events if kind == "metrics"]
    return bool(match[-1]["correct"]) if match else bool(metrics[-1]["is_valid_json"])


for line in sys.stdin:
    print(json.dumps(verdict(json.loads(line))), flush=True)
