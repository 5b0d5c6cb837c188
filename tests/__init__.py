"""What holds for all tests and the processes that they start, before anything else is imported."""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # its threads take 0.1 s of each process that imports numpy, and are not used
