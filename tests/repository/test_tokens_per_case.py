"""A suite costs at most half a request and 600 tokens for each valid case, checks and extraction included."""

from __future__ import annotations

import sys

import pytest

from tests.e2e.command import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

from tokens_per_case import PUBLISHED, TYPICAL, counted, per_case, report


@pytest.mark.parametrize("name", TYPICAL)
async def test_the_published_prompts_cost_no_more_than_they_may(name: str) -> None:
    path = PUBLISHED / f"{name}.json"
    if not path.exists():
        pytest.skip("the published prompts are not here")
    author, suite = await counted(path)
    assert len(suite.usable()) == 3 * TYPICAL[name].rules
    requests, tokens = per_case(author, suite)
    assert requests <= 0.5
    assert tokens <= 600
    own = author.counts["cases"].requests
    assert own <= 0.2 * len(suite.usable())


async def test_any_prompt_can_be_counted() -> None:
    path = ROOT / "benchmarks" / "support-reply" / "prompt.md"
    author, suite = await counted(path)
    assert len(suite.usable()) == 24
    assert "| cases | 2 |" in "\n".join(report(path, author, suite))
