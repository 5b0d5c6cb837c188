"""The bench of tests of criteria, closed in the end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from promptpex.core.records import Check, Rule
from tests.workflow.criteria.criteria_bench import Bench

RULE = Rule(id="r1", rule="The output is one word.", checks=(Check(kind="word-count", value=1),))


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.project.close()


@pytest.fixture
def ruled(tmp_path: Path) -> Iterator[Bench]:
    """The same with a rule that code decides."""
    made = Bench(tmp_path, rules=(RULE,))
    yield made
    made.project.close()
