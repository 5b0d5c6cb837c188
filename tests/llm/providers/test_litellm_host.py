"""litellm in a program that is not ours and has loaded it before us: what the host set up is as it was.

What a host sets up later is in ``test_litellm.py``, in the process that tests our own import: each takes seconds.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HOST = """
import json, logging, os
os.environ["LITELLM_MODE"] = "PRODUCTION"; os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
before = dict(os.environ)
import litellm
def state():
    return [[str(each) for each in litellm.callbacks], litellm.success_callback, litellm.num_retries,
            str(litellm.cache), logging.getLogger("LiteLLM").level]
litellm.success_callback, litellm.num_retries, litellm.cache = ["host"], 7, "the host's"
logging.getLogger("LiteLLM").setLevel(logging.INFO)
was = state()
from promptpex.llm.providers.litellm import loaded
loaded()
print(json.dumps([was == state(), before == dict(os.environ)]))
"""


@pytest.mark.slow
def test_a_hosts_litellm_is_left_to_it() -> None:
    command = [sys.executable, "-W", "ignore", "-c", HOST]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [True, True]
