"""From the history of a benchmark's prompt to chosen checks, with the answers of capable readers (docs/synthesis.md).

``tests/data/trail_notice.json`` holds what they said: the author's replies by stage, in the order of the requests; per
question the rows of ``labels.csv`` for which a judge says no; and the pairs of candidates that a judge takes to imply
each other.
"""

from __future__ import annotations

import asyncio
import csv
import json
import re
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from promptpex.cli.main import run_cli
from promptpex.config import load
from promptpex.core.errors import InputError
from promptpex.core.records import History, Request, Synthesis
from promptpex.documents.yaml_reader import load as load_yaml
from promptpex.llm.fake import FakeClient
from promptpex.specs.file import read_spec
from promptpex.workflow.project_files import files_of
from promptpex.workflow.session import open_session
from promptpex.workflow.synthesizing import SynthesisWishes, synthesize
from promptpex.workflow.trying_candidates import Trial, TrialWishes, try_candidates
from tests.samples import asked

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
BENCHMARK = ROOT / "benchmarks" / "trail-notice"
NOTICE: dict[str, Any] = json.loads((ROOT / "tests" / "data" / "trail_notice.json").read_text(encoding="utf-8"))


class Readers:
    """Answers as the readers did; a question that none of them was asked is an error."""

    def __init__(self) -> None:
        with (BENCHMARK / "labels.csv").open(encoding="utf-8", newline="") as file:
            self._rows = {_words(row["output"]): number for number, row in enumerate(csv.DictReader(file))}
        self._left = {stage: list(replies) for stage, replies in NOTICE["author"].items()}
        self._no = {_words(question): set(rows) for question, rows in NOTICE["no"].items()}
        self.asked: defaultdict[str, int] = defaultdict(int)
        self.values: dict[str, str] = {}

    def reply(self, request: Request) -> str:
        self.asked[request.stage] += 1
        if request.stage == "question":
            return self._answer(asked(request))
        if request.stage == "implications":
            return self._verdicts(asked(request))
        return str(self._left[request.stage].pop(0))

    def _answer(self, text: str) -> str:
        row = self._rows[_words(_fenced(text, "response"))]
        said_no = row in self._no[_words(_fenced(text, "question"))]
        return json.dumps({"reason": "Read.", "answer": "no" if said_no else "yes"})

    def _verdicts(self, text: str) -> str:
        values = re.findall(r"<(c\d+)-[0-9a-f]+>\n(.*?)\n</c", text, re.DOTALL)
        names = {mark: self.values[_words(described.partition("value:")[2])] for mark, described in values}
        pairs = re.findall(r"^(\d+): (c\d+) implies (c\d+)$", text, re.MULTILINE)
        verdicts = [
            {
                "pair": int(number),
                "counterexample": "",
                "verdict": "implied" if [names[one], names[other]] in NOTICE["implied"] else "not-implied",
            }
            for number, one, other in pairs
        ]
        return json.dumps({"pairs": verdicts})


def _words(text: str) -> str:
    return " ".join(text.split())


def _fenced(text: str, name: str) -> str:
    match = re.search(rf"<{name}-[0-9a-f]+>\n(.*?)\n</{name}-", text, re.DOTALL)
    assert match is not None
    return match[1]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, History, Synthesis, Trial, Readers]:
    """The benchmark in a folder of its own, with everything up to the choice made."""
    folder = tmp_path_factory.mktemp("trail") / "trail-notice"
    shutil.copytree(BENCHMARK, folder)
    _thin_out(folder / "labels.csv")
    readers = Readers()
    given = {"author": "openai/reader", "judge": "openai/reader", "store": str(folder / "store.db")}

    async def work() -> tuple[History, Synthesis, Trial | None]:
        settings = load(given, start=folder, env={})
        files = files_of(folder / "prompt.md")
        async with open_session(settings, provider=FakeClient(readers.reply)) as session:
            written = await synthesize(session, files, SynthesisWishes(versions=(folder / "versions",)))
            readers.values = {_words(str(c.check.value or "")): c.id for c in written.synthesis.candidates}
            trial = await try_candidates(session, files, TrialWishes(labels=folder / "labels.csv"))
            return written.history, written.synthesis, trial

    history, synthesis, trial = asyncio.run(work())
    assert trial is not None
    return folder, history, synthesis, trial, readers


def _thin_out(labels: Path) -> None:
    """Leaves every third row, which is enough to go through everything."""
    with labels.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    with labels.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *rows[::3]])


Made = tuple[Path, History, Synthesis, Trial, Readers]


def test_categories_of_the_deltas_are_those_by_hand(made: Made) -> None:
    by_hand = load_yaml(
        (BENCHMARK / "categories.yaml").read_text("utf-8"), error=InputError, what="file", path=BENCHMARK
    ).data
    right = wrong = missed = 0
    named = {delta.version: {one.category for one in delta.categories} for delta in made[1].deltas}
    for entry in by_hand["versions"]:
        wanted = {*entry.get("added", {}), *entry.get("removed", {})}
        right += len(named[entry["version"]] & wanted)
        wrong += len(named[entry["version"]] - wanted)
        missed += len(wanted - named[entry["version"]])
    assert 2 * right / (2 * right + wrong + missed) >= 0.85


def test_every_candidate_is_run_on_every_example(made: Made) -> None:
    _, _, synthesis, trial, readers = made
    assert (len(synthesis.criteria), len(synthesis.candidates)) == (37, 64)
    kinds = {candidate.check.kind.removeprefix("not-") for candidate in synthesis.candidates}
    assert kinds >= {"regex", "python", "question", "starts-with"}
    assert (trial.good + trial.bad, trial.results.get("error", 0)) == (24, 0)
    assert sum(trial.results.values()) == 64 * 24
    assert readers.asked["question"] > 700


def test_the_choice_keeps_the_limits_and_goes_into_the_spec(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made[0]
    choose = ["select", str(folder / "prompt.synthesis"), "--json"]
    sizes = {}
    for method in ("cov", "sub"):
        assert run_cli([*choose, "--method", method]) == 0
        chosen = json.loads(capsys.readouterr().out)
        assert (chosen["optimal"], chosen["within_limits"]) == (True, True)
        sizes[method] = (chosen["size"], chosen["caught"], chosen["flagged"])
    assert sizes["cov"][0] < sizes["sub"][0]
    before = {rule.id for rule in read_spec(folder / "prompt.spec.yaml").rules}
    assert run_cli([*choose, "--into-spec", "-q"]) == 2
    refused = capsys.readouterr()
    held_out = json.loads(refused.out)["held_out"]
    assert (held_out["ffr"]["estimate"], held_out["within_limits"]) == (pytest.approx(8 / 13), False)
    assert "add --allow-over-limit" in refused.err
    assert {rule.id for rule in read_spec(folder / "prompt.spec.yaml").rules} == before
    assert run_cli(["report", str(folder / "prompt.synthesis")]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "The FFR limit is not kept on outputs held out: 62% against 25% (8 of 13 flagged)." in text
    assert run_cli([*choose, "--into-spec", "--allow-over-limit", "-q"]) == 0
    rules = read_spec(folder / "prompt.spec.yaml").rules
    assert before < {rule.id for rule in rules}
    assert sum(rule.origin == "synthesized" for rule in rules) >= 10
    assert run_cli(["validate", str(folder / "prompt.spec.yaml")]) == 0
