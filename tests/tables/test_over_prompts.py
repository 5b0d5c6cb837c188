"""Models over several prompts."""

from __future__ import annotations

from promptpex.report.batches.batch_in_words import batch_answer
from promptpex.tables import models, outputs, over_prompts, prompt_models, records
from tests.tables.many import many


def test_no_failure_is_said_only_where_all_was_scored() -> None:
    runs = {"whole": many(10, {"a": lambda n: True}), "partly": many(10, {"a": lambda n: True if n >= 3 else None})}
    table = prompt_models(
        [({"prompt": name, "file": f"{name}.md"}, models(outputs(run))) for name, run in runs.items()]
    )
    (row,) = records(over_prompts(table))
    assert (row["scored_prompts"], row["without_failure"]) == (2, 1)
    assert "no failure on 1 of 2 prompts" in batch_answer([row])
    (row,) = records(over_prompts(table[table["prompt"].eq("partly")]))
    assert (row["without_failure"], row["lowest"]) == (0, 0.0)
    assert "failures on" not in batch_answer([row])
