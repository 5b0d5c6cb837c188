"""What importing litellm does, and every provider of its list, asked with a canary in every key's variable: whose
key goes where. One process shows both."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from promptpex.llm.names import FURTHER_PARAMETERS, PARAMETERS, parse_model
from tests.llm.providers import key_recorder

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]


@cache
def recorded() -> dict[str, Any]:
    """What the recorder prints: what the import did, and which origins were asked with whose keys; and its stderr."""
    folder = Path(tempfile.mkdtemp())
    (folder / ".env").write_text("PLANTED_BY_DOTENV=yes\n")
    root = str(Path(__file__).resolve().parents[3])
    done = subprocess.run(
        [sys.executable, "-m", "tests.llm.providers.key_recorder"],
        env={**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "False", "PYTHONPATH": root},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    shutil.rmtree(folder)
    assert done.returncode == 0, done.stderr[-2000:]
    read = json.loads(done.stdout.splitlines()[-1])
    assert isinstance(read, dict)
    return {**read, "stderr": done.stderr}


def service(where: str) -> str:
    """The registered domain: a vendor's hosts differ by API and region."""
    return ".".join((urlsplit(where).hostname or "").split(".")[-2:])


def test_what_is_asked_carries_every_parameter_that_a_name_may() -> None:
    names = [pair.partition("=")[0] for pair in key_recorder.PARAMETERS.split("&")]
    assert sorted(names) == sorted((*PARAMETERS, *FURTHER_PARAMETERS))
    plain, with_parameters = key_recorder.questions("groq/m")
    assert plain.params != with_parameters.params == parse_model(f"n:2?{key_recorder.PARAMETERS}").params
    assert set(with_parameters.params.extra) == set(FURTHER_PARAMETERS)


def test_its_import_reaches_for_no_network_reads_no_dotenv_and_leaves_what_comes_later() -> None:
    assert recorded()["import"] == {
        "reached": [],
        "planted": None,
        "callbacks": [[], [], [], []],
        "cache": True,
        "retries": None,
        "environment": True,
        "what a host sets up later": True,
    }
    assert recorded()["stderr"].startswith(f"{key_recorder.IMPORTED}\n")


def test_each_key_goes_to_one_vendor_and_openai_gets_its_own_alone() -> None:
    """The same with OpenAI's key alone, which others take where they have none of their own."""
    by_model = recorded()["all"]
    services: dict[str, set[str]] = defaultdict(set)
    for asked in by_model.values():
        for where, names in asked:
            assert "evil" not in where, asked
            for name in names:
                services[name].add(service(where))
    assert len(services) > 50, "too few keys were sent to prove anything"
    assert {name for name, at in services.items() if "openai.com" in at} == {"OPENAI_API_KEY"}
    assert services["OPENAI_API_KEY"] == {"openai.com"}
    assert {name: at for name, at in services.items() if len(at) > 1} == {}
    assert sum(bool(asked) for asked in by_model.values()) > 100
    with_openais = {where for asked in recorded()["openai alone"].values() for where, names in asked if names}
    assert with_openais == {"https://api.openai.com:443"}
