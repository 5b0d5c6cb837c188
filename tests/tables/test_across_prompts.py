"""Models over several prompts."""

from __future__ import annotations

import pytest

from promptpex.report.batches.batch_in_words import about_decisions, batch_answer
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


def test_a_share_that_is_a_lower_bound_is_one_among_the_lowest_and_highest_too() -> None:
    made = {"whole": many(10, {"a": lambda n: n > 0}), "bound": many(10, {"a": lambda n: n > 3})}
    table = prompt_models(
        [({"prompt": name, "file": f"{name}.md"}, models(outputs(run))) for name, run in made.items()]
    )
    table = table.with_columns({}, {"at_least": [name == "bound" for name in table.column("prompt")]})
    (row,) = records(over_prompts(table))
    assert (row["lowest"], row["lowest_at_least"]) == (0.1, False)
    assert (row["highest"], row["highest_at_least"]) == (0.4, True)


@pytest.mark.parametrize(
    ("confidence", "one_in"), [(0.95, 20), (0.9, 10), (0.99, 100), (0.999, 1000), (0.85, 6), (0.7, 3), (0.5, 2)]
)
def test_how_many_differences_come_by_chance_is_not_said_too_low(confidence: float, one_in: int) -> None:
    assert f"up to one prompt in {one_in} shows a difference by chance" in about_decisions(confidence)
