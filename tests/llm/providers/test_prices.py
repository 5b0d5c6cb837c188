"""Prices: the user's, a known one, or unknown; never 0 for unknown."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from promptpex.llm.providers.litellm import loaded
from promptpex.llm.providers.prices import TABLE, known_models, price_of, rates_of

sys.path.insert(0, str(Path(__file__).parents[3] / "scripts"))

from model_table import table


def test_an_unknown_price_is_none() -> None:
    assert price_of("nobody-knows-this", 1, 1) is None
    assert price_of("gpt-4o-mini", None, 1) is None
    assert price_of("gpt-4o-mini", 1, None) is None
    assert rates_of("") is None


def test_a_free_entry_of_the_table_is_unknown() -> None:
    free = [name for name, model in known_models().items() if model.usd_in == 0 and model.usd_out == 0]
    assert free
    assert all(price_of(name, 1000, 1000) != 0 for name in free)


def test_the_users_price_wins() -> None:
    prices = {"gpt-4o-mini": (1.0, 2.0), "free": (0.0, 0.0)}
    assert price_of("gpt-4o-mini", 10**6, 10**6, prices) == 3.0
    assert price_of("free", 10, 10, prices) == 0.0


@pytest.mark.litellm
def test_the_table_is_what_litellm_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Made again by ``scripts/model_table.py`` whenever the pinned version is raised."""
    made_from = json.loads(TABLE.read_text(encoding="utf-8"))["litellm"]
    if version("litellm") != made_from:
        pytest.skip(f"the table is of litellm {made_from}, and {version('litellm')} is installed")
    loaded()
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "")  # which the script sets
    assert table() == TABLE.read_text(encoding="utf-8")


def test_a_price_imports_nothing_heavy() -> None:
    code = (
        "import sys; from promptpex.llm.providers.prices import price_of; price_of('gpt-4o', 1, 1);"
        "print('litellm' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
