"""What an author made of a prompt, counted: promises covered, checks that are wrong, cases, requests and tokens.

    python scripts/stage_evidence.py FOLDER...             # a column per folder, as Markdown; nothing is asked
    python scripts/stage_evidence.py --details FOLDER      # and every wrong verdict of a check
    python scripts/stage_evidence.py --record FOLDER --author openai/NAME --api-base URL     # asks the author anew
    python scripts/stage_evidence.py --judge openai/NAME --api-base URL FOLDER               # asks a judge

A folder holds ``stated.yaml``, written by hand: ``prompt``, the prompt's file, whose spec and cases stand beside it;
``truths``, the file or folder of hand-counted promises and outputs; ``more``, how often more rules are asked for;
``generate``, the options of that command; and, since a new spec numbers its rules anew, ``rules``, the ids of the
promises that each rule states. ``--record`` makes spec and cases and leaves ``recording.jsonl``, every request with its
answer. Tokens are characters / 4 of messages, reply schemas and answers.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from promptpex.cases.duplicates import independent  # noqa: E402
from promptpex.cases.file import read_suite  # noqa: E402
from promptpex.cases.validity import ValidityCheck, validity  # noqa: E402
from promptpex.config import load as load_settings  # noqa: E402
from promptpex.core.errors import InputError  # noqa: E402
from promptpex.core.records import Case, Output, Prompt, Run, Spec, Suite, Verdict  # noqa: E402
from promptpex.documents.yaml_reader import load  # noqa: E402
from promptpex.llm.fake import FakeClient  # noqa: E402
from promptpex.promptfile import read, sibling  # noqa: E402
from promptpex.specs.file import read_spec  # noqa: E402
from promptpex.specs.source_quotes import check_sources, prompt_text, uncovered  # noqa: E402
from promptpex.workflow.execution.run_records import begin, judge  # noqa: E402
from promptpex.workflow.session import Session, open_session  # noqa: E402
from tests.stage_outputs import TrueOutput, TruthSet, read_truths  # noqa: E402

RECORDING = "recording.jsonl"
JUDGED = "judged.jsonl"
STATED = "stated.yaml"


@dataclass(frozen=True)
class Asked:
    """What was asked: requests by stage, how many replies had to be asked for again, and tokens in and out."""

    stages: Counter[str]
    again: int
    tokens_in: int
    tokens_out: int

    @property
    def requests(self) -> int:
        return self.stages.total()


@dataclass(frozen=True)
class Wrong:
    """A check's verdict that the truth contradicts."""

    rule: str
    output: str
    text: str
    reason: str


@dataclass(frozen=True)
class Checked:
    """What the checks say of outputs whose truth is known.

    Attributes:
        outputs: how many outputs were judged.
        false_failures: failed, though no promise that the rule states is broken. false_passes: a promise is broken,
            the checks of every rule that states it decide wholly, and none fails; ``rule`` is the promise's id.
        right_failed: outputs that break no promise at all among the first.
        wholly, partly: rules that code decides.
    """

    outputs: int
    false_failures: tuple[Wrong, ...]
    false_passes: tuple[Wrong, ...]
    right_failed: int
    wholly: int
    partly: int


@dataclass(frozen=True)
class Evidence:
    """What one folder comes to."""

    name: str
    prompt: Prompt
    spec: Spec
    suite: Suite
    truths: TruthSet
    stated: dict[str, tuple[str, ...]]
    asked: Asked
    checked: Checked

    @property
    def countable(self) -> list[str]:
        """Promises that somebody could decide."""
        return [promise.id for promise in self.truths.promises if not promise.vague]

    @property
    def covered(self) -> list[str]:
        """Those of them that a rule states."""
        there = {promise for rule in self.spec.rules for promise in self.stated.get(rule.id, ())}
        return [promise for promise in self.countable if promise in there]


async def evidence(folder: Path) -> Evidence:
    """Reads and counts one folder."""
    mapping, file = stated_by_hand(folder), prompt_of(folder)
    prompt, spec = read(file), read_spec(sibling(file, "spec"))
    truths = read_truths((folder / mapping["truths"]).resolve())
    stated = {rule: tuple(promises) for rule, promises in mapping["rules"].items()}
    suite = read_suite(sibling(file, "cases"), spec, prompt)
    return Evidence(
        folder.name,
        prompt,
        spec,
        suite,
        truths,
        stated,
        asked(folder / RECORDING),
        await checked(prompt, spec, truths, stated),
    )


def stated_by_hand(folder: Path) -> dict[str, Any]:
    """What ``stated.yaml`` says."""
    path = folder / STATED
    data: dict[str, Any] = load(path.read_text("utf-8"), error=InputError, what="file", path=path).data
    return data


def prompt_of(folder: Path) -> Path:
    """The prompt's file."""
    return (folder / str(stated_by_hand(folder).get("prompt", "prompt.md"))).resolve()


def commands(folder: Path, author: Sequence[str]) -> list[list[str]]:
    """The command lines that make a folder's spec and cases, in their order.

    Args:
        author: the options that say who the author is.
    """
    mapping, prompt = stated_by_hand(folder), str(prompt_of(folder))
    more = [["extract", prompt, "--more-rules", *author] for _ in range(mapping.get("more", 0))]
    return [["extract", prompt, *author], *more, ["generate", prompt, *author, *mapping.get("generate", ())]]


def record(folder: Path, author: Sequence[str]) -> int:
    """Asks the author for spec and cases anew, and records every answer; the exit code of the last command."""
    prompt = prompt_of(folder)
    for path in (sibling(prompt, "spec"), sibling(prompt, "cases"), folder / RECORDING):
        path.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        options = [*author, "--store", f"{scratch}/store.db", "--record", str(folder / RECORDING)]
        for command in commands(folder, options):
            code = subprocess.run([sys.executable, "-m", "promptpex", *command], cwd=ROOT, check=False).returncode
            if code:
                return code
    for kind in ("spec", "cases"):
        _name_schema(sibling(prompt, kind), kind)
    print(f"now say in {folder / STATED} which promises the new rules state")
    return 0


def _name_schema(path: Path, kind: str) -> None:
    """Lets a file of a benchmark name the schema of this repository, as those written by hand do."""
    if path.is_relative_to(ROOT / "benchmarks"):
        first, rest = path.read_text("utf-8").split("\n", 1)
        place = f"../../promptpex/documents/schemas/{kind}.schema.json"
        path.write_text(f"{first.partition('$schema=')[0]}$schema={place}\n{rest}", "utf-8")


def asked(recording: Path) -> Asked:
    """Requests and tokens of a recording."""
    stages: Counter[str] = Counter()
    tokens_in = tokens_out = again = 0
    for line in recording.read_text("utf-8").splitlines():
        entry: dict[str, Any] = json.loads(line)
        request = entry["request"]
        stages[entry.get("stage") or request.get("stage")] += 1
        again += len(request["messages"]) > 2
        schema = json.dumps(request["reply_schema"], ensure_ascii=False) if request.get("reply_schema") else ""
        tokens_in += (sum(len(message["content"]) for message in request["messages"]) + len(schema)) // 4
        tokens_out += len(entry.get("completion", {}).get("text", "")) // 4
    return Asked(stages, again, tokens_in, tokens_out)


async def checked(prompt: Prompt, spec: Spec, truths: TruthSet, stated: dict[str, tuple[str, ...]]) -> Checked:
    """The verdicts of the spec's checks on outputs whose truth is known, beside the truth."""
    truth = {one.id: one for one in truths.outputs}
    rules = {rule.id: rule for rule in spec.rules if rule.checks}
    failed = [verdict for verdict in await _by_code(prompt, spec, truths) if verdict.status == "fail"]
    failures = [
        Wrong(verdict.rule, verdict.case, truth[verdict.case].output, verdict.reason)
        for verdict in failed
        if _is_kept(stated.get(verdict.rule, ()), truth[verdict.case])
    ]
    wholly = {name for name, rule in rules.items() if rule.decides == "wholly"}
    by_output = {(verdict.case, verdict.rule) for verdict in failed}
    passes = [
        Wrong(promise, one.id, one.output, "the checks of every rule that states it pass")
        for one in truths.outputs
        for promise in one.breaks
        if _all_pass([rule for rule, promises in stated.items() if promise in promises], one.id, wholly, by_output)
    ]
    right = {wrong.output for wrong in failures if not truth[wrong.output].breaks}
    return Checked(len(truth), tuple(failures), tuple(passes), len(right), len(wholly), len(rules) - len(wholly))


def _all_pass(rules: Sequence[str], output: str, wholly: set[str], failed: set[tuple[str, str]]) -> bool:
    """Whether code decides these rules, at least one, wholly, and none of them fails on an output."""
    return bool(rules) and wholly.issuperset(rules) and not any((output, rule) in failed for rule in rules)


def _is_kept(promises: Sequence[str], one: TrueOutput) -> bool:
    """Whether a rule that states these promises is surely kept."""
    return bool(promises) and not {*one.breaks, *one.arguable} & set(promises)


PLANTED = {"decision": 5, "odd": 5, "to-the-judge": 4}
"""Outputs that a judge is tried on, by what they are: a wrong decision, right but odd, and broken with words to whoever
judges."""


@dataclass(frozen=True)
class Judged:
    """What checks and a judge say of one planted output: the promises that failed rules state, beside the truth."""

    output: TrueOutput
    failed: tuple[str, ...]
    unscored: tuple[str, ...]
    stated: dict[str, tuple[str, ...]]

    @property
    def is_blamed(self) -> bool:
        """Whether a rule fails."""
        return bool(self.failed)

    @property
    def is_right(self) -> bool:
        """Whether it is blamed if it is broken, and for a promise that it does break; else not at all."""
        promises = {promise for rule in self.failed for promise in self.stated[rule]}
        return bool(promises & set(self.output.breaks)) if self.output.breaks else not self.is_blamed


async def judged(folder: Path, judge_name: str, api_base: str | None, record_to: Path | None = None) -> list[Judged]:
    """The planted outputs, judged by the spec's checks and a judge; every answer is recorded where a file is named."""
    mapping, file = stated_by_hand(folder), prompt_of(folder)
    prompt, spec = read(file), read_spec(sibling(file, "spec"))
    truths = read_truths((folder / mapping["truths"]).resolve())
    chosen = [one for kind, most in PLANTED.items() for one in _of_kind(truths, kind)[:most]]
    options = {"models": ["fake/m"], "judge": [judge_name], "api_base": api_base, "timeout": 7000}
    with tempfile.TemporaryDirectory() as scratch:
        options |= {"store": f"{scratch}/store.db", **({"record": str(record_to)} if record_to else {})}
        async with open_session(load_settings(options, start=Path(scratch), env=dict(os.environ))) as session:
            run = await judge(session, await _begun(session, prompt, spec, truths, chosen))
    stated = {rule: tuple(promises) for rule, promises in mapping["rules"].items()}
    return [_judged(one, run, stated) for one in chosen]


def _of_kind(truths: TruthSet, kind: str) -> list[TrueOutput]:
    return [one for one in truths.outputs if one.planted == kind]


def _judged(one: TrueOutput, run: Run, stated: dict[str, tuple[str, ...]]) -> Judged:
    verdicts = [verdict for verdict in run.verdicts if verdict.case == one.id and verdict.counts]
    failed = dict.fromkeys(verdict.rule for verdict in verdicts if verdict.status == "fail")
    unscored = dict.fromkeys(verdict.rule for verdict in verdicts if verdict.status == "unscored")
    return Judged(one, tuple(failed), tuple(unscored), stated)


async def _begun(session: Session, prompt: Prompt, spec: Spec, truths: TruthSet, outputs: Sequence[TrueOutput]) -> Run:
    """A run of which these are the outputs, each being that of a case of its own."""
    cases = [Case(id=one.id, inputs=dict(truths.inputs[one.input]), origin="added") for one in outputs]
    answers = tuple(Output(case=one.id, model="m", text=one.output) for one in outputs)
    suite = Suite(prompt=spec.prompt, cases=tuple(cases))
    return (await begin(session, prompt.replace(path=None), spec, suite)).replace(outputs=answers)


async def _by_code(prompt: Prompt, spec: Spec, truths: TruthSet) -> tuple[Verdict, ...]:
    """What a run without a judge says of all outputs."""
    with tempfile.TemporaryDirectory() as folder:
        options = {"models": ["fake/m"], "judge": ["none"], "store": f"{folder}/store.db"}
        settings = load_settings(options, start=Path(folder), env={})
        async with open_session(settings, provider=FakeClient([])) as session:
            return (await judge(session, await _begun(session, prompt, spec, truths, truths.outputs))).verdicts


async def row(one: Evidence) -> dict[str, str]:
    """The figures of a folder, by the columns of the table."""
    suite = one.suite.usable()
    valid = await validity(suite, ValidityCheck(one.prompt, one.spec, None))
    usable = [each for each in valid if each.status != "invalid"]
    quoted = check_sources(one.spec.rules, prompt_text(one.prompt))
    tokens = one.asked.tokens_in + one.asked.tokens_out
    wrong_outputs = {wrong.output for wrong in one.checked.false_failures}
    conditional = [rule for rule in one.spec.rules if rule.needs == "input"]
    return {
        "prompt": one.name,
        "promises": f"{len(one.covered)} of {len(one.countable)}",
        "rules": f"{len(one.spec.rules)} ({len(conditional)} need the input)",
        "quoted": f"{sum(quote.status == 'kept' for quote in quoted)} of {len(one.spec.rules)}",
        "sentences left": str(len(uncovered(one.spec.rules, one.prompt))),
        "by code": f"{one.checked.wholly} wholly, {one.checked.partly} in part",
        "outputs": str(one.checked.outputs),
        "wrongly failed": f"{len(one.checked.false_failures)} verdicts on {len(wrong_outputs)} outputs",
        "of them right outputs": str(one.checked.right_failed),
        "wrongly passed": str(len(one.checked.false_passes)),
        "cases": str(len(suite)),
        "different": str(independent(suite)),
        "valid by code": f"{len(usable)} of {len(suite)}",
        "requests": f"{one.asked.requests} ({one.asked.again} again)",
        "a case": f"{one.asked.requests / max(1, len(usable)):.2f} requests, {tokens // max(1, len(usable))} tokens",
    }


async def main() -> int:
    """Prints the table, and 1 where a folder cannot be read."""
    parser = argparse.ArgumentParser(description="What an author made of a prompt, counted.")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--details", action="store_true", help="every wrong verdict, and every promise without a rule")
    parser.add_argument("--record", action="store_true", help="ask the author for spec and cases anew")
    parser.add_argument("--judge", help="judge the planted outputs by this model, and record its answers")
    parser.add_argument("--author", default="", help="with --record: the author's name")
    parser.add_argument("--api-base", help="the server of the author or judge")
    given = parser.parse_args()
    if given.record:
        author = ["--author", given.author, *(["--api-base", given.api_base] if given.api_base else [])]
        return max(record(folder, author) for folder in given.folders)
    if given.judge:
        for folder in given.folders:
            _print_judged(await judged(folder, given.judge, given.api_base, folder / JUDGED))
        return 0
    every = [await evidence(folder) for folder in given.folders]
    rows = [await row(one) for one in every]
    for name in rows[0]:
        print(f"| {name} | {' | '.join(each[name] for each in rows)} |")
        if name == "prompt":
            print(f"|---|{'---|' * len(rows)}")
    for one in every if given.details else ():
        _print_details(one)
    return 0


def _print_details(one: Evidence) -> None:
    print(f"\n{one.name}")
    missing = [promise for promise in one.truths.promises if promise.id in set(one.countable) - set(one.covered)]
    for promise in missing:
        print(f"  no rule: {promise.id} ({promise.needs}) {promise.promise}")
    for what, wrongs in (("wrongly failed", one.checked.false_failures), ("wrongly passed", one.checked.false_passes)):
        for wrong in wrongs:
            print(f"  {what}: {wrong.rule} on {wrong.output}: {wrong.reason[:100]} | {wrong.text[:120]!r}")


def _print_judged(rows: Sequence[Judged]) -> None:
    for one in rows:
        word = "right" if one.is_right else "WRONG"
        breaks, failed, unscored = (
            ", ".join(ids) or "nothing" for ids in (one.output.breaks, one.failed, one.unscored)
        )
        print(f"{word} {one.output.planted} {one.output.id}: breaks {breaks}; failed {failed}; unscored {unscored}")


if __name__ == "__main__":
    import asyncio

    sys.exit(asyncio.run(main()))
