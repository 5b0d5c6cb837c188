#!/usr/bin/env python3
"""Runs the classes of openai/evals and the checks that we import them as on the same outputs, and compares.

    python scripts/agree_with_openai_evals.py --install     # by pip, into an environment of its own
    python scripts/agree_with_openai_evals.py --count 500   # outputs of each class; exit code 1 at a difference

``PROMPTPEX_OPENAI_EVALS`` names another folder than the usual one. Nothing is asked of a model.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from openai_evals_agreement.compare import compare  # noqa: E402

VERSION = "3.0.1.post1"
FOLDER = "PROMPTPEX_OPENAI_EVALS"
NEEDED = ("numpy", "openai", "tiktoken", "pyyaml", "tqdm", "pydantic", "blobfile", "backoff", "mock", "requests",
          "filelock", "lz4", "zstandard", "termcolor")  # fmt: skip
"""What the basic classes import; the package itself wants a hundred more."""


def default_folder() -> Path:
    """Where it is installed unless the environment says otherwise."""
    return Path(os.environ.get(FOLDER) or Path.home() / ".cache" / "promptpex" / f"openai-evals-{VERSION}")


def python_of(folder: Path) -> Path:
    """The interpreter of the environment."""
    return folder / "bin" / "python"


def is_there(folder: Path) -> bool:
    """Whether openai/evals is installed there."""
    return python_of(folder).is_file() and any(folder.glob("lib/python*/site-packages/evals/api.py"))


def install(folder: Path) -> None:
    """Makes the environment; a second time does nothing."""
    if is_there(folder):
        return
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [str(python_of(folder)), "-m", "pip", "install", "-q"]
    subprocess.run([*pip, "--no-deps", f"evals=={VERSION}"], check=True)
    subprocess.run([*pip, *NEEDED], check=True)


def main() -> int:
    """Prints the figures; 1 where a difference has no reason."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--install", action="store_true", help="install openai/evals by pip first")
    parser.add_argument("--folder", type=Path, default=default_folder(), help="where it is installed")
    parser.add_argument("--count", type=int, default=500, help="outputs of each class [500]")
    arguments = parser.parse_args()
    if arguments.install:
        install(arguments.folder)
    if not is_there(arguments.folder):
        print(f"openai/evals is not in {arguments.folder}; add --install", file=sys.stderr)
        return 2
    compared = compare(python_of(arguments.folder), arguments.count)
    print(f"same: {compared.same.total()}", dict(compared.same))
    for reason, times in compared.explained.items():
        print(f"{times} differ: {reason}")
    for pair, verdict in compared.unexplained:
        print(f"DIFFERENT: {pair}; here {'pass' if verdict else 'fail'}")
    return 1 if compared.unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
