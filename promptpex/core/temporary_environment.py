"""Variables of the environment for a while: those that a library reads as it is imported or started.

The environment is the program's own, so what was there comes back, whatever the library has made of it meanwhile. Not
for what several threads need at the same time: each would bring back what another had set (``config/env_file.py``).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

SAFE_PATH = {"PYTHONSAFEPATH": "1"}
"""Has a Python that is started take no module from the working folder, which may be a stranger's checkout."""


@contextmanager
def environment_with(values: Mapping[str, str]) -> Iterator[None]:
    """These variables for as long as this lasts; afterwards they are as they were."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
