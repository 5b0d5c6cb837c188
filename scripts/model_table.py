"""The table of known models that the package ships, made from what litellm says by its public names.

    python scripts/model_table.py

Importing litellm takes two seconds, which no `estimate` should wait for; so what it knows of providers, modes, prices
and retirement is written down here, to be run again when its version in pyproject.toml is raised.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from promptpex.codecs.files.atomic import write_text
from promptpex.llm.providers.litellm import json_providers
from promptpex.llm.providers.prices import TABLE

NOT_MODELS = ("sample_spec", "fallback_generalizations")
MILLION = 1_000_000


def table() -> str:
    """The file's text: a line per model, so that a new version is a readable difference."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # as shipped, not as downloaded today
    import litellm

    entries = {name: entry for name, entry in litellm.model_cost.items() if name not in NOT_MODELS}
    listed = {str(getattr(provider, "value", provider)) for provider in litellm.provider_list}
    providers = listed | json_providers()
    providers |= {str(entry.get("litellm_provider", "")) for entry in entries.values()}
    plain = sorted(name for name in providers if name and " " not in name and "/" not in name)
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(row(entry))}" for name, entry in entries.items())
    head = f'{{"litellm": {json.dumps(version("litellm"))},\n"providers": {json.dumps(plain)},\n"models": {{\n'
    return f"{head}{rows}\n}}}}\n"


def row(entry: Mapping[str, object]) -> list[object]:
    """Provider, mode, US dollars per million tokens in and out, the day of retirement, whether it answers in text."""
    prices = [entry.get(f"{way}_cost_per_token") for way in ("input", "output")]
    dollars = [round(float(price) * MILLION, 9) if isinstance(price, (int, float)) else None for price in prices]
    modalities = entry.get("supported_output_modalities", ["text"])
    text = isinstance(modalities, list) and "text" in modalities
    return [entry.get("litellm_provider", ""), entry.get("mode"), *dollars, entry.get("deprecation_date"), text]


if __name__ == "__main__":
    write_text(TABLE, table())
    print(f"{TABLE}: {len(json.loads(TABLE.read_text(encoding='utf-8'))['models'])} models")
