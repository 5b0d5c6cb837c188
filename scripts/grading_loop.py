"""The whole loop on EvalGen's task, from people's grades to a corrected report: asked of a model, or replayed.

    python scripts/grading_loop.py                                                     # the figures; asks nobody
    python scripts/grading_loop.py --record FOLDER --model openai/NAME --api-base URL  # asks author and judge

``benchmarks/post-entities`` without its rules on hashtags and on what has a name: two models have answered 12 posts. A
person grades the answers and notes why one is bad; the author makes criteria and candidates; the person keeps some of
the criteria and grades the bad answers by them; the best aligned candidates become rules; the judge judges the run by
these, and the report is corrected by the grades. What the person says comes from the benchmark's grades.

``tests/data/grading_loop/recording.jsonl`` holds every request with its answer. ``kept.yaml`` beside it, written by
hand, names the criteria that are kept, each with the rule of the benchmark that tells what breaks it. An author who is
asked anew writes other criteria, so ``--record`` stops where ``kept.yaml`` does not fit them. Once it does, the same
command goes on in the same folder, whose store has what was answered.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from promptpex.cases.file import read_suite, write_suite  # noqa: E402
from promptpex.codecs import jsonl  # noqa: E402
from promptpex.codecs.text.wording import named  # noqa: E402
from promptpex.config import load  # noqa: E402
from promptpex.core.errors import InputError  # noqa: E402
from promptpex.core.records import OUTPUT_SUBJECT, Example, Grade, GradeValue, Request, Synthesis  # noqa: E402
from promptpex.documents.human_grades import read_grades  # noqa: E402
from promptpex.documents.yaml_reader import load as load_yaml  # noqa: E402
from promptpex.llm.fake import FakeClient  # noqa: E402
from promptpex.specs.file import read_spec, write_spec  # noqa: E402
from promptpex.synthesis.folder import (  # noqa: E402
    SynthesisFolder,
    read_candidates,
    write_candidates,
)
from promptpex.workflow import pipeline  # noqa: E402
from promptpex.workflow.project_files import files_of  # noqa: E402
from promptpex.workflow.session import open_session  # noqa: E402

BENCHMARK = ROOT / "benchmarks" / "post-entities"
DATA = ROOT / "tests" / "data" / "grading_loop"
RECORDING, KEPT = DATA / "recording.jsonl", DATA / "kept.yaml"
LEFT_OUT = ("r4", "r5")
"""Rules that nobody has thought of when the loop begins: on hashtags, and on what has a name of its own."""
POSTS = ("c1", "c2", "c6", "c8", "c14", "c15", "c16", "c19", "c20", "c21", "c22", "c24")
STEADY, HASTY = "openai/steady", "openai/hasty"
SLIPS = frozenset(("c6", "c8", "c15", "c21"))
"""Cases that the steady model answers carelessly; the hasty one does with all others."""
ANSWERS, CANDIDATES = "answers.jsonl", "prompt.synthesis/candidates.yaml"
FIRST = datetime(2026, 3, 2, 9, tzinfo=UTC)
PATIENT = ("--timeout", "3000", "--concurrency", "2")
"""Options of a server whose answers take minutes."""
SETTINGS = """[instructions]
candidates = "A question is asked of every output, so one for each criterion has to do."
"""


class Person:
    """Who grades: what is wrong with each careless answer of the benchmark, as its graders say it.

    Attributes:
        answers: of each model, by post.
        broken: by the key of an output, the ids of the rules that it breaks, and why, in a person's words.
    """

    def __init__(self) -> None:
        examples = SynthesisFolder(BENCHMARK / "prompt.synthesis").read_examples()
        careless = {one.case: one for one in examples if one.model == "careless"}
        careful = {one.case: one for one in examples if one.model != "careless"}
        self.answers: dict[str, dict[str, Example]] = {STEADY: {}, HASTY: {}}
        for case in POSTS:
            steady, hasty = (careless, careful) if case in SLIPS else (careful, careless)
            for model, answers in ((STEADY, steady), (HASTY, hasty)):
                self.answers[model][str(answers[case].inputs["post"])] = answers[case]
        self.broken: dict[str, tuple[set[str], str]] = {one.id: (set(), "") for one in examples}
        wrong = {one.id for one in careless.values()}
        for grade in read_grades(BENCHMARK / "prompt.grades.jsonl"):
            if grade.key in wrong and grade.value == "bad":
                rules, note = self.broken[grade.key]
                self.broken[grade.key] = (rules | {grade.subject} - {OUTPUT_SUBJECT}, note or grade.note)

    def answer(self, request: Request) -> str:
        """What one of the models answers."""
        return self.answers[request.model][request.messages[-1].content.strip()].output

    def grades(self, folder: Path) -> Iterator[Grade]:
        """Grades on each answer as a whole, with a note on a bad one, and on each rule that a bad one may break."""
        rules = read_spec(folder / "prompt.spec.yaml").rules
        for model, one, case in self._graded(folder):
            broken, note = self.broken[one.id]
            yield _grade(one, model, case, bad=bool(broken), note=note)
            for rule in rules if broken else ():
                yield _grade(one, model, case, bad=rule.id in broken, subject=rule.id, text=rule.rule)

    def grades_on(self, folder: Path, criteria: Mapping[str, str]) -> Iterator[Grade]:
        """Grades on criteria of the answers that are bad as a whole.

        Args:
            criteria: ids, each with that of the rule of the benchmark that tells what breaks it.
        """
        texts = {one.id: one.text for one in read_candidates(folder / CANDIDATES).criteria}
        for name, rule in criteria.items():
            for model, one, case in self._graded(folder):
                if broken := self.broken[one.id][0]:
                    yield _grade(one, model, case, bad=rule in broken, subject=name, text=texts[name])

    def _graded(self, folder: Path) -> Iterator[tuple[str, Example, str]]:
        for case in read_suite(folder / "prompt.cases.yaml").cases:
            for model, answers in self.answers.items():
                yield model, answers[case.inputs["post"]], case.id


def _grade(
    one: Example, model: str, case: str, *, bad: bool, note: str = "", subject: str = OUTPUT_SUBJECT, text: str = ""
) -> Grade:
    value: GradeValue = "bad" if bad else "good"
    return Grade.of(
        inputs=one.inputs,
        output=one.output,
        subject=subject,
        subject_text=text,
        time=(FIRST + timedelta(minutes=POSTS.index(case))).isoformat(),
        grader="ada",
        case=case,
        model=model,
        value=value,
        note=note,
    )


def begin(folder: Path, person: Person) -> None:
    """The benchmark as it was before anybody thought of the rules that come of the loop, and the models' answers."""
    prompt = (BENCHMARK / "prompt.md").read_text(encoding="utf-8").replace("- No hashtags.\n", "")
    (folder / "prompt.md").write_text(prompt, encoding="utf-8")
    (folder / "promptpex.toml").write_text(SETTINGS, encoding="utf-8")
    spec = read_spec(BENCHMARK / "prompt.spec.yaml")
    rules = tuple(rule for rule in spec.rules if rule.id not in LEFT_OUT)
    write_spec(folder / "prompt.spec.yaml", spec.replace(rules=rules, prompt_fingerprint=None))
    suite = read_suite(BENCHMARK / "prompt.cases.yaml")
    cases = tuple(case.replace(rule=None, inverse=False) for case in suite.cases if case.id in POSTS)
    write_suite(folder / "prompt.cases.yaml", suite.replace(cases=cases))
    asyncio.run(_answer(folder, person))


async def _answer(folder: Path, person: Person) -> None:
    """A recording of the two models' answers."""
    given = {"models": [STEADY, HASTY], "judge": ["none"], "record": str(folder / ANSWERS)}
    given |= {"store": str(folder / "answers.db"), "results": str(folder / "answers")}
    async with open_session(load(given, start=folder, env={}), provider=FakeClient(person.answer)) as session:
        await pipeline.run(session, files_of(folder / "prompt.md"))


def commands(folder: Path, author: Sequence[str], judge: Sequence[str]) -> Iterator[list[str]]:
    """The command lines of the loop in their order, each to be run in the folder before the next one is taken; between
    them the person does her part.

    Args:
        author, judge: the options that say who they are.
    """
    person = Person()
    begin(folder, person)
    models = ",".join(f"replay/{ANSWERS}#{model}" for model in (STEADY, HASTY))
    yield ["run", "prompt.md", "--models", models, "--judge", "none"]
    yield _import(folder, person.grades(folder))
    yield ["synthesize", "prompt.md", "--from-notes", *author]
    yield _import(folder, person.grades_on(folder, _keep(folder)))
    yield ["synthesize", "prompt.md", "--author", "none", *judge]
    yield ["align", "--no-calibration", "--json"]
    yield ["select", "prompt.synthesis", "--method", "aligned", "--into-spec", "--json"]
    yield ["judge", "--spec", "prompt.spec.yaml", *judge]
    yield ["align", "--json"]
    yield ["report", "--json"]


def _import(folder: Path, grades: Iterable[Grade]) -> list[str]:
    lines = [jsonl.dumps(grade.model_dump(mode="json", exclude_defaults=True)) for grade in grades]
    (folder / "ada.jsonl").write_text("\n".join((*lines, "")), encoding="utf-8")
    return ["grade", "--import", "ada.jsonl", "--prompt", "prompt.md"]


def kept() -> dict[str, str]:
    """The criteria that are kept, each with the rule of the benchmark that it is about."""
    data: dict[str, str] = load_yaml(KEPT.read_text("utf-8"), error=InputError, what="file", path=KEPT).data
    return data


def _keep(folder: Path) -> dict[str, str]:
    """Sets aside what is neither among the criteria that are kept nor a rule that code decides.

    Raises:
        SystemExit: the author wrote other criteria than those that are kept.
    """
    chosen, synthesis = kept(), read_candidates(folder / CANDIDATES)
    if missing := sorted(set(chosen) - {one.id for one in synthesis.criteria}):
        written = "".join(f"\n  {one.id}: {one.text}" for one in synthesis.criteria if one.rule is None)
        raise SystemExit(f"{KEPT} keeps {named(missing)}; say there which of these are kept:{written}")
    by_code = {rule.id for rule in read_spec(folder / "prompt.spec.yaml").rules if rule.checks}
    criteria = [one.replace(selected=one.id in chosen or one.rule in by_code) for one in synthesis.criteria]
    write_candidates(folder / CANDIDATES, synthesis.replace(criteria=tuple(criteria)))
    return chosen


def run_loop(folder: Path, author: Sequence[str], judge: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Runs the loop's commands, each in a process of its own; the name of each with what it printed.

    Raises:
        SystemExit: a command failed.
    """
    for command in commands(folder, author, judge):
        print("promptpex", *command, file=sys.stderr)
        line = [sys.executable, "-m", "promptpex", *command]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(line, cwd=folder, env=env, check=False, stdout=subprocess.PIPE, encoding="utf-8")
        if done.returncode:
            raise SystemExit(done.returncode)
        yield command[0], done.stdout


def figures(folder: Path, printed: Mapping[str, str]) -> list[tuple[str, str]]:
    """What came of each step, as rows of a table.

    Args:
        folder: where the loop ran.
        printed: what the last command of each name printed.
    """
    card, choice, report = (json.loads(printed[name]) for name in ("align", "select", "report"))
    (graded,) = (one for one in card["labels"] if one["subject"] == OUTPUT_SUBJECT)
    return [
        ("grades on whole outputs", f"{graded['good']} good, {graded['bad']} bad"),
        *_of_synthesis(read_candidates(folder / CANDIDATES)),
        ("of those of kept criteria", _of_candidates(card["candidates"])),
        ("the set, on the grades that chose it", _of_set(choice["intervals"])),
        ("the set, held out", _of_set(choice["held_out_figures"])),
        *_of_judges(card["rows"]),
        *_of_models(report),
    ]


def _of_synthesis(synthesis: Synthesis) -> Iterator[tuple[str, str]]:
    rules = {one.id for one in synthesis.criteria if one.rule is not None}
    noted = sum(bool(one.notes) for one in synthesis.criteria)
    others = len(synthesis.criteria) - len(rules) - noted
    sources = f"{len(rules)} rules of the spec, {others} from the prompt's sentences, {noted} from the notes"
    yield "criteria", f"{len(synthesis.criteria)}: {sources}; {sum(one.selected for one in synthesis.criteria)} kept"
    kinds = Counter(one.check.kind for one in synthesis.candidates if not rules & set(one.criteria))
    by_code = kinds.total() - kinds["python"] - kinds["question"]
    each = f"{kinds['question']} questions, {by_code} by ready code, {kinds['python']} in Python"
    yield "candidates by the author", f"{kinds.total()}: {each}"


def _of_candidates(candidates: Sequence[Mapping[str, Any]]) -> str:
    left = [f"`{one['id']}` not: {one['why']}" for one in candidates if one["state"] != "chosen"]
    return "; ".join([f"{len(candidates) - len(left)} of {len(candidates)} are chosen", *left])


def _of_set(held: Mapping[str, Any]) -> str:
    coverage, ffr = held["coverage"], held["ffr"]
    return f"coverage {_measured(coverage)} of {coverage['n']} bad, FFR {_measured(ffr)} of {ffr['n']} good"


def _of_judges(rows: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for row in rows:
        if row["kind"] == "judge":
            coverage, ffr = row["sample"]["coverage"], row["sample"]["ffr"]
            specificity = _with_ends(1 - ffr["estimate"], 1 - ffr["high"], 1 - ffr["low"])
            yield (
                f"the judge on {row['id']}",
                f"sensitivity {_measured(coverage)} of {coverage['n']} bad, "
                f"specificity {specificity} of {ffr['n']} good",
            )


def _of_models(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for raw, corrected in zip(report["models"], report["corrected"], strict=True):
        yield (
            f"non-compliance of `{raw['model'].rpartition('/')[2]}`",
            f"{_with_ends(raw['non_compliance'], raw['ci_low'], raw['ci_high'])}, corrected "
            f"{_with_ends(*(corrected[f'corrected{end}'] for end in ('', '_low', '_high')))}",
        )


def _measured(figure: Mapping[str, float]) -> str:
    return _with_ends(figure["estimate"], figure["low"], figure["high"])


def _with_ends(share: float, low: float, high: float) -> str:
    return f"{share:.0%} ({low:.0%} to {high:.0%})"


def asked(recording: Path) -> str:
    """Requests and their number by stage."""
    stages = Counter(json.loads(line)["stage"] for line in recording.read_text("utf-8").splitlines())
    return f"{stages.total()}: " + ", ".join(f"{count} {stage}" for stage, count in stages.items())


def main() -> None:
    """Records or replays the loop and prints its figures."""
    parser = argparse.ArgumentParser(description="From people's grades to a corrected report.")
    parser.add_argument("--record", type=Path, metavar="FOLDER", help="ask author and judge; where to work")
    parser.add_argument("--model", default="", help="with --record: the name of author and judge")
    parser.add_argument("--api-base", default="", help="with --record: their server")
    given = parser.parse_args()
    who = [f"replay/{RECORDING}"]
    if given.record is not None:
        given.record.mkdir(parents=True, exist_ok=True)
        new, store = given.record.resolve() / RECORDING.name, given.record.resolve() / "store.db"
        new.unlink(missing_ok=True)
        who = [given.model, "--api-base", given.api_base, "--store", str(store), "--record", str(new), *PATIENT]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        rows = figures(folder, dict(run_loop(folder, ["--author", *who], ["--judge", *who])))
    if given.record is not None:
        shutil.copyfile(new, RECORDING)
    for step, outcome in (*rows, ("requests", asked(RECORDING))):
        print(f"| {step} | {outcome} |")


if __name__ == "__main__":
    main()
