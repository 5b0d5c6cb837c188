#!/usr/bin/env python3
"""The step of action.yml: runs the cases of the prompts, shows the report, and holds the runs against the limits.

What a workflow says comes in variables: PROMPTS (a file, folder or pattern a line), MODELS, JUDGE, RUN_OPTIONS,
GATE_OPTIONS, RESULTS.
The exit code is the gravest of the commands'; the output ``passed`` says whether it is 0.
"""

from __future__ import annotations

import json
import os
import secrets
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

STORE = ".promptpex/store.db"
"""Where action.yml keeps the replies from one job to the next."""

BAD_INPUT, CANNOT_TELL = 2, 4


def main(env: Mapping[str, str]) -> int:
    """Runs and gates the prompts; the exit code."""
    prompts = [line.strip() for line in env.get("PROMPTS", "").splitlines() if line.strip()]
    if not prompts:
        print("::error::promptpex: the input 'prompts' names no file; write one a line")
        return BAD_INPUT
    try:
        return run_and_gate(prompts, env)
    except ValueError as error:
        print(f"::error::promptpex: run-options or gate-options cannot be read: {error}")
        return BAD_INPUT


def run_and_gate(prompts: Sequence[str], env: Mapping[str, str]) -> int:
    """The graver exit code of the run and of its gate; that a gate cannot tell is the least grave."""
    results = env.get("RESULTS") or "results"
    options = [*_named("--models", env.get("MODELS")), *_named("--judge", env.get("JUDGE"))]
    options += shlex.split(env.get("RUN_OPTIONS", ""))
    limits = shlex.split(env.get("GATE_OPTIONS", ""))
    with text_for_the_runner():
        command = ["promptpex", "run", *options, "--results", results, "--store", STORE, "--json", "--", *prompts]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
        folder = _folder(done.stdout)
        if folder is not None:
            subprocess.run(["promptpex", "report", "--full", folder, "--results", results], check=False)
    if folder is None:
        file = f" file={_property(prompts[0])}" if len(prompts) == 1 else ""
        print(f"::error{file}::promptpex run ended with exit code {done.returncode}; see the log")
        return done.returncode or BAD_INPUT
    gated = subprocess.run(
        ["promptpex", "gate", folder, *limits, "--results", results, "--format", "github"], check=False
    )
    return max((done.returncode, gated.returncode), key=lambda code: (code != 0, code != CANNOT_TELL, code))


def _named(flag: str, value: str | None) -> list[str]:
    return [flag, value.strip()] if value and value.strip() else []


def _folder(printed: bytes) -> str | None:
    """The folder of the run or the batch, from what ``run --json`` printed; None where it came to no report."""
    try:
        folder = json.loads(printed)["folder"]
    except (ValueError, KeyError, TypeError):
        return None
    return str(folder)


def _property(text: str) -> str:
    for sign, escape in (("%", "%25"), ("\r", "%0D"), ("\n", "%0A"), (":", "%3A"), (",", "%2C")):
        text = text.replace(sign, escape)
    return text


@contextmanager
def text_for_the_runner() -> Iterator[None]:
    """Outputs of models are in what is printed: until a mark that nobody can know, the runner obeys no command."""
    mark = secrets.token_hex(16)
    print(f"::stop-commands::{mark}", flush=True)
    try:
        yield
    finally:
        print(f"\n::{mark}::", flush=True)


def _tell(code: int, file: str | None) -> None:
    if file:
        with open(file, "a", encoding="utf-8") as outputs:
            outputs.write(f"passed={'true' if code == 0 else 'false'}\n")


if __name__ == "__main__":
    ended = main(os.environ)
    _tell(ended, os.environ.get("GITHUB_OUTPUT"))
    sys.exit(ended)
