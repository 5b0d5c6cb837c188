"""What the page of two runs takes in a browser: ``python scripts/bench_comparison_page.py [OUTPUTS]``.

Compares two runs (5 models, 5 rules, outputs of 60 words) all of whose pairs have changed or fail, so that all of them
are on the page, and measures as ``bench_report_page.py`` does, with the same aims: opened within 2 s, every answer
within 0.2 s; the script ends with code 1 where one is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench_report_page import ANSWER_S, MODELS, OPEN_S, TURNS, made_run, measured  # noqa: E402

from promptpex.core.records import Run  # noqa: E402
from tests.web.browser import chromium  # noqa: E402

ACTIONS = {
    "newly failing": "report.choose({change: 'new'})",
    "one rule": "report.choose({rule: 'r1'})",
    "one model": "report.choose({model: 'provider/model-2'})",
    "everything again": "report.clear()",
    "a word that is in every output": "report.choose({text: 'asked'})",
    "a number that is in few": "report.choose({text: 'subject 123'})",
    "everything, after a search": "report.clear()",
    "as in the suite": "report.choose({sort: 'suite'})",
    "newly failing first": "report.choose({sort: ''})",
    "to the end of the page": "scrollTo(0, document.body.scrollHeight)",
    "to the middle": "scrollTo(0, document.body.scrollHeight / 2)",
    "200 pairs, unfolded": "report.choose({text: 'subject 12', rule: 'r1'})",
    "everything, some unfolded": "report.clear()",
    "fixed, some unfolded": "report.choose({change: 'fixed'})",
    "to the end, some unfolded": "scrollTo(0, document.body.scrollHeight)",
}
"""What is done after another, as the page's own functions; a click or a key calls the same."""


def main(outputs: int) -> int:
    """Prints a line per figure; 1 if one is above its aim."""
    with tempfile.TemporaryDirectory(prefix="promptpex-bench-") as place, chromium() as address:
        page = Path(place) / "compared.html"
        seconds = write_page(page, outputs)
        size = page.stat().st_size / 1e6
        print(f"{outputs:,} outputs, {size:.1f} MB; CPU: compared in {seconds[0]:.2f} s, page in {seconds[1]:.2f} s")
        turns = [asyncio.run(measured(address, page, ACTIONS)) for _ in range(TURNS)]
    best = {name: min(turn[name] for turn in turns) for name in turns[0]}
    for name, taken in best.items():
        print(f"{name:>32} {taken:6.3f} s")
    return int(any(taken > (OPEN_S if name == "opened" else ANSWER_S) for name, taken in best.items()))


def write_page(path: Path, outputs: int) -> tuple[float, float]:
    """Writes the page; seconds of CPU that the comparison took, and the page."""
    from promptpex.report.comparison.page import RunLink, comparison_html
    from promptpex.report.run_comparison import compare_runs

    before, after = (_failing(made_run(outputs // MODELS // 2), at) for at in (0, 1))
    start = time.process_time()
    comparison = compare_runs(before, after)
    compared = time.process_time()
    links = RunLink("before", "before.html"), RunLink("after", "after.html")
    path.write_text(comparison_html(comparison, links), encoding="utf-8")
    return compared - start, time.process_time() - compared


def _failing(run: Run, at: int) -> Run:
    """The run with failures by turns, so that each pair is newly failing, fixed or still failing."""
    verdicts = tuple(
        one.replace(status="fail", reason="24 words, 40 wanted")
        if (one.rule == f"r{number // 5 % 4}" and (number // 5 + at) % 3 != 2)
        or (one.rule == "r4" and number // 5 % 3 != at)
        else one.replace(status="pass", reason="")
        for number, one in enumerate(run.verdicts)
    )
    return run.replace(verdicts=verdicts)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("outputs", type=int, nargs="?", default=10_000)
    sys.exit(main(parser.parse_args().outputs))
