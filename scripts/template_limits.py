#!/usr/bin/env python3
"""What hostile prompt templates cost: in Jinja's own sandbox, and in the one that prompts are rendered in.

    python scripts/template_limits.py

Each template is rendered in a process of its own, which may take ten seconds and two gigabytes. The table stands in
``docs/written-by-hand.md``.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEMPLATES = {
    "a long text": "{{ 'x' * 3000000000 }}",
    "a text doubled again and again": "{% set ns = namespace(x='ab') %}{% for i in range(40) %}"
    "{% set ns.x = ns.x ~ ns.x %}{% endfor %}{{ ns.x | length }}",
    "loops in loops": "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "a large number": "{{ 9 ** (9 ** 9) }}",
    "a filter on much": "{% for i in range(9999) %}{{ (text * 999) | upper | length }}{% endfor %}",
    "deep recursion": "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}",
}
SANDBOX = (
    "from jinja2.sandbox import ImmutableSandboxedEnvironment as Sandbox; "
    "Sandbox().from_string(template).render(text='x' * 999)"
)
OURS = (
    "from promptpex.core.records import Message, Prompt; from promptpex.promptfile import render; "
    "render(Prompt(name='p', messages=(Message(role='user', content=template),), variables=('text',), "
    "fingerprint='f'), {'text': 'x' * 999})"
)
PROGRAM = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({bytes}, {bytes}))
template = sys.argv[1]
try:
    {code}
except Exception as error:
    sys.exit(repr(error)[:300])
"""
SECONDS, BYTES = 10, 2_000_000_000


def outcome(code: str, template: str) -> str:
    """How a rendering ended: after how many seconds, and why."""
    began = time.monotonic()
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(code=code, bytes=BYTES), template],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            _, error = process.communicate(timeout=SECONDS)
            why = (error.strip().splitlines() or ["rendered"])[-1][:70]
        except subprocess.TimeoutExpired:
            process.kill()
            why = f"ended after {SECONDS} s"
    return f"{time.monotonic() - began:.1f} s, {why}"


def main() -> None:
    """Prints a row for each template."""
    print("| template | Jinja's sandbox | here |\n|---|---|---|")
    for name, template in TEMPLATES.items():
        print(f"| {name} | {outcome(SANDBOX, template)} | {outcome(OURS, template)} |", flush=True)


if __name__ == "__main__":
    main()
