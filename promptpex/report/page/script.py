"""The page's own script, and the policies of pages with it and without (W3C, CSP Level 3)."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from pathlib import Path

from promptpex.core.translation import tr

SCRIPTS = Path(__file__).parent.parent / "scripts"
"""The files of the script; each is strict, keeps its names to itself, and takes no text for HTML."""

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""The Content-Security-Policy of a page without a script: its own styles, and nothing else."""

NAMES = ("filters.js", "keys.js", "differences.js", "sort_table.js")
"""In the order in which they run."""


SORTING = ("sort_table.js",)
"""What a page needs that has sortable tables and nothing else."""


def script_texts() -> str:
    """What the script says, in the reader's language, as JSON; the page brings it along, so that the script and its
    hash are the same in all languages."""
    texts = {
        "outputs": tr("{shown} outputs in {cases} cases"),
        "of": tr("{some} of {all}"),
        "next": tr("next case"),
        "before": tr("case before"),
        "open": tr("open or close it"),
        "failures": tr("failures only"),
        "side": tr("side by side"),
        "search": tr("search"),
        "all": tr("show all"),
        "keys": tr("these keys"),
    }
    return json.dumps(texts, ensure_ascii=False)


@cache
def script(names: tuple[str, ...] = NAMES) -> str:
    """The script that stands in each report, or another of these files."""
    return "".join((SCRIPTS / name).read_text(encoding="utf-8") for name in names)


@cache
def script_policy(names: tuple[str, ...] = NAMES) -> str:
    """The Content-Security-Policy of a page with that script, which is known by its hash; what it puts into the page is
    text (Trusted Types)."""
    script_hash = hash_source(script(names))
    return f"{POLICY}; script-src {script_hash}; require-trusted-types-for 'script'; trusted-types 'none'"


def hash_source(text: str) -> str:
    """How a policy names an inline script or style (CSP Level 3, section 2.3.1)."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode()}'"
