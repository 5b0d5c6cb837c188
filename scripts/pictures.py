#!/usr/bin/env python3
"""Makes the pictures in docs/pictures/: the demo in a terminal, and its report in a browser.

    python scripts/pictures.py             # both; the report's need Debian's Chromium
    python scripts/pictures.py terminal    # the terminal alone

A test holds that the terminal's picture says what ``promptpex demo`` prints.
"""

from __future__ import annotations

import asyncio
import base64
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

PICTURES = ROOT / "docs" / "pictures"
WIDTH = 80
RUN_ID = re.compile(r"\b[0-9a-f]{10}\b")
LINK = re.compile(r"\x1b\]8;[^\x1b\x07]*(?:\x1b\\|\x07)")
FOREIGN = re.compile(r"@font-face \{.*?\}|<!--.*?-->", re.DOTALL)
"""Rich's fonts come from a server of others; the reader's own will do."""

VIEWS = {
    "report": ("", (1180, 500), False),
    "side-by-side": ("#side=1&case=c10", (1180, 640), False),
    "phone": ("", (390, 760), True),
}
"""Each picture's address in the report, its size, and whether it is dark."""

TO_THE_OUTPUTS = """
(() => {
  const chosen = document.querySelector("#case-c10[data-place]");
  if (!location.hash.includes("side") || !chosen) return;
  for (const output of chosen.querySelectorAll(".output details")) output.open = true;
  scrollBy(0, chosen.querySelector(".sent").getBoundingClientRect().top - 110);
})()
"""
"""Below the bar of filters, where a case is looked at side by side."""


def demo(folder: Path) -> str:
    """What ``promptpex demo`` prints in a terminal with colours, in ``folder``."""
    colours = {"FORCE_COLOR": "1", "COLUMNS": str(WIDTH), "TERM": "xterm-256color", "PYTHONPATH": str(ROOT)}
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | colours
    command = [sys.executable, "-m", "promptpex", "demo"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=True)
    return RUN_ID.sub("0123456789", LINK.sub("", done.stdout))


def terminal(printed: str) -> str:
    """An SVG of a terminal in which the demo has run."""
    from rich.console import Console
    from rich.terminal_theme import MONOKAI
    from rich.text import Text

    text = Text.from_ansi(f"\x1b[1m$ promptpex demo\x1b[0m\n{printed.rstrip()}")
    console = Console(record=True, width=max(len(line) for line in text.plain.splitlines()), file=io.StringIO())
    console.print(text)
    drawn = console.export_svg(title="promptpex demo", theme=MONOKAI, unique_id="terminal")
    return "\n".join(line.rstrip() for line in FOREIGN.sub("", drawn).splitlines() if line.strip()) + "\n"


async def report(page: Path, folder: Path) -> None:
    """Pictures of the demo's report, as WebP."""
    from tests.web.browser import Browser, chromium

    with chromium() as address:
        async with Browser.connected(address) as browser:
            for name, (view, size, dark) in VIEWS.items():
                shown = await browser.page(size, dark=dark, window=True)
                await shown.open(f"{page.as_uri()}{view}")
                await shown.evaluate(TO_THE_OUTPUTS)
                answer = await shown.call("Page.captureScreenshot", format="webp", quality=80)
                (folder / f"{name}.webp").write_bytes(base64.b64decode(answer["data"]))


def main() -> None:
    """Writes the pictures."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        (PICTURES / "terminal.svg").write_text(terminal(demo(Path(folder))), encoding="utf-8")
        if sys.argv[1:] != ["terminal"]:
            (page,) = Path(folder).glob("promptpex-demo/results/*/*/report.html")
            asyncio.run(report(page, PICTURES))
    for path in sorted(PICTURES.iterdir()):
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
