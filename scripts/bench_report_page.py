"""What the page of a report takes in a browser: ``python scripts/bench_report_page.py [OUTPUTS]``.

Makes the page of a run (5 models, 5 rules, outputs of 60 words), opens it in Chromium, and measures, the best of three:
from the navigation to the end of loading, the page's own script included; then, each until the picture is drawn, one
filter after another, sorting, showing outputs side by side, and jumps through the whole page. The aims are 2 s and
0.2 s; the script ends with code 1 where one is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from promptpex.core.records import Case, Manifest, Message, Output, Prompt, Rule, Run, Spec, Suite, Verdict  # noqa: E402
from tests.web.browser import Browser, chromium  # noqa: E402

MODELS, RULES, WORDS, TURNS = 5, 5, 60, 3
OPEN_S, ANSWER_S = 2.0, 0.2
"""The aims."""

TEXT = "the answer holds several words that say what was asked and more than that because models like to talk"
VOCABULARY = TEXT.split()

ACTIONS = {
    "failures only": "report.choose({verdict: 'fail'})",
    "one rule": "report.choose({rule: 'r1'})",
    "one model": "report.choose({model: 'provider/model-2'})",
    "everything again": "report.clear()",
    "a word that is in every output": "report.choose({text: 'asked'})",
    "a number that is in few": "report.choose({text: 'subject 1234'})",
    "everything, after a search": "report.clear()",
    "models differ": "report.choose({only: 'differ'})",
    "as in the suite": "report.choose({only: '', sort: 'suite'})",
    "failures first": "report.choose({sort: ''})",
    "side by side": "report.choose({side: '1'})",
    "to the end of the page": "scrollTo(0, document.body.scrollHeight)",
    "to the middle": "scrollTo(0, document.body.scrollHeight / 2)",
    "200 outputs, unfolded": "report.choose({text: 'subject 12', rule: 'r1'})",
    "everything, some unfolded": "report.clear()",
    "failures only, some unfolded": "report.choose({verdict: 'fail'})",
    "to the end, some unfolded": "scrollTo(0, document.body.scrollHeight)",
    "to the middle, some unfolded": "scrollTo(0, document.body.scrollHeight / 2)",
}
"""What is done after another, as the page's own functions; a click or a key calls the same."""

DRAWN = """(async () => {
  const report = promptpexReport;
  const start = performance.now();
  %s;
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - start;
})()"""


def main(outputs: int) -> int:
    """Prints a line per figure; 1 if one is above its aim."""
    with tempfile.TemporaryDirectory(prefix="promptpex-bench-") as place, chromium() as address:
        page = Path(place) / "report.html"
        made_in = write_page(page, outputs)
        print(f"{outputs:,} outputs, {page.stat().st_size / 1e6:.1f} MB, made in {made_in:.2f} s of CPU")
        turns = [asyncio.run(measured(address, page, ACTIONS)) for _ in range(TURNS)]
    best = {name: min(turn[name] for turn in turns) for name in turns[0]}
    for name, seconds in best.items():
        print(f"{name:>32} {seconds:6.3f} s")
    return int(any(seconds > (OPEN_S if name == "opened" else ANSWER_S) for name, seconds in best.items()))


async def measured(address: str, file: Path, actions: Mapping[str, str]) -> dict[str, float]:
    """Seconds by what was done, in a browser that has not seen the page.

    Args:
        actions: by their names, JavaScript of the page.
    """
    async with Browser.connected(address) as browser:
        page = await browser.page(window=True)
        await page.open(file.as_uri())
        loaded = await page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
        await page.until("document.querySelector('#count').textContent.includes('cases')")
        await asyncio.sleep(1.0)
        taken = {name: await page.evaluate(DRAWN % action) / 1000 for name, action in actions.items()}
        if page.failures:
            raise RuntimeError(json.dumps(page.failures))
        return {"opened": loaded / 1000, **taken}


def write_page(path: Path, outputs: int) -> float:
    """Writes the page; seconds of CPU that making it from a summary took."""
    from promptpex.promptfile import renderer
    from promptpex.report import summarise
    from promptpex.report.html_page import html

    run = made_run(outputs // MODELS)
    summary = summarise(run)
    start = time.process_time()
    path.write_text(html(summary, sent=renderer(run.prompt)), encoding="utf-8")
    return time.process_time() - start


def made_run(cases: int) -> Run:
    """A run of so many cases, in which the later models fail more often."""
    rng = random.Random(0)
    models = tuple(f"provider/model-{number}" for number in range(MODELS))
    rules = tuple(Rule(id=f"r{number}", rule=f"The output keeps promise {number}.") for number in range(RULES))
    suite = tuple(
        Case(
            id=f"t{number}",
            rule=f"r{number % RULES}",
            inputs={"subject": f"subject {number}", "body": " ".join(rng.choices(VOCABULARY, k=40))},
        )
        for number in range(cases)
    )
    keys = [(place, model, case.id) for place, model in enumerate(models) for case in suite]
    given = tuple(
        Output(case=case, model=model, text=" ".join(rng.choices(VOCABULARY, k=WORDS)), latency_ms=800 * rng.random())
        for _, model, case in keys
    )
    judged = tuple(
        Verdict(case=case, model=model, rule=rule.id, source="check:word-count", **verdict_of(rng, place))
        for place, model, case in keys
        for rule in rules
    )
    facts = {"run": "run-1", "prompt": "big", "prompt_fingerprint": "f", "spec_digest": "s", "suite_digest": "t"}
    prompt = Prompt(
        name="big",
        messages=(Message(role="user", content="Keep every promise. {{subject}}\n{{body}}"),),
        variables=("subject", "body"),
        fingerprint="f",
    )
    return Run(
        manifest=Manifest(**facts, models=models),
        prompt=prompt,
        spec=Spec(prompt="big.md", rules=rules),
        suite=Suite(prompt="big.md", cases=suite),
        outputs=given,
        verdicts=judged,
    )


def verdict_of(rng: random.Random, place: int) -> dict[str, str]:
    """A verdict on an output of the model at this place."""
    fails = rng.random() < 0.02 * (place + 1)
    return {"status": "fail", "reason": "24 words, 40 wanted"} if fails else {"status": "pass", "reason": ""}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("outputs", type=int, nargs="?", default=10_000)
    sys.exit(main(parser.parse_args().outputs))
