"""litellm in a program that is not ours: what the host set up is as it was."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

WATCHED = """
import json, logging, os
def state(litellm):
    return [[str(each) for each in litellm.callbacks], litellm.success_callback, litellm.num_retries,
            str(litellm.cache), logging.getLogger("LiteLLM").level]
"""
HOST_FIRST = """
os.environ["LITELLM_MODE"] = "PRODUCTION"; os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
before = dict(os.environ)
import litellm
litellm.success_callback, litellm.num_retries, litellm.cache = ["host"], 7, "the host's"
logging.getLogger("LiteLLM").setLevel(logging.INFO)
was = state(litellm)
from promptpex.llm.providers.litellm import loaded
loaded()
"""
HOST_LATER = """
before = dict(os.environ)
from promptpex.llm.providers.litellm import loaded
loaded()
import litellm
litellm.success_callback = ["host"]
was = state(litellm)
loaded()
"""


@pytest.mark.slow
@pytest.mark.parametrize("order", [HOST_FIRST, HOST_LATER], ids=["first", "later"])
def test_a_hosts_litellm_is_left_to_it(order: str) -> None:
    code = f"{WATCHED}{order}print(json.dumps([was == state(litellm), before == dict(os.environ)]))"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [True, True]
