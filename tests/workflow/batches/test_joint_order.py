"""In what order the questions of several prompts are asked."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from promptpex.core.records import Case
from promptpex.llm.names import parse_model
from promptpex.workflow.batches.joint_collection import joint_order
from promptpex.workflow.execution.collect import Cell, cells


def questions(cases: int, models: list[str]) -> list[Cell]:
    return cells([Case(id=f"c{number}", inputs={}) for number in range(cases)], [*map(parse_model, models)], 1)


@given(sizes=st.lists(st.integers(0, 9), min_size=1, max_size=5), seed=st.integers(0, 9))
def test_prompts_take_turns_until_they_are_through(sizes: list[int], seed: int) -> None:
    every = []
    for size in sizes:
        asked = questions(size, ["fake/a", "fake/b"])
        own = list(range(len(asked)))
        random.Random(seed).shuffle(own)
        every.append((asked, own))
    order = joint_order(every)
    assert sorted(order) == [(prompt, at) for prompt, (asked, _) in enumerate(every) for at in range(len(asked))]
    for prompt, (_, own) in enumerate(every):
        assert [at for one, at in order if one == prompt] == own
    for end in range(len(order)):
        asked_of = Counter(prompt for prompt, _ in order[:end])
        open_prompts = [prompt for prompt, (asked, _) in enumerate(every) if asked_of[prompt] < len(asked)]
        most = max((asked_of[prompt] for prompt in range(len(every))), default=0)
        assert all(asked_of[prompt] >= most - 1 for prompt in open_prompts)


def test_a_server_of_one_model_at_a_time_loads_each_once_for_all_prompts() -> None:
    every = [(asked, range(len(asked))) for asked in (questions(2, ["a:1b", "b:1b"]), questions(5, ["a:1b", "b:1b"]))]
    order = joint_order(every)
    models = [every[prompt][0][at].model.label for prompt, at in order]
    assert models == ["a:1b"] * 7 + ["b:1b"] * 7
