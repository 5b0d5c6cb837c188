"""The verdicts of both programs on the same answers, one by one, and why they differ where they do."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agreement.answers import AnswerServer
from agreement.own_command import promptpex

from promptfoo_agreement.program import Promptfoo
from promptpex.core.errors import InputError
from promptpex.core.records import Run, Verdict
from promptpex.documents import yaml_reader
from promptpex.interchange.notes import Log
from promptpex.interchange.promptfoo.files import ConfigFiles, merged
from promptpex.interchange.promptfoo.read import read_config
from promptpex.interchange.reading.foreign_files import At
from promptpex.report import runs

MODELS = ("m1", "m2")
RECORDED = "verdicts.json"
"""Where the verdicts of promptfoo on a configuration of the corpus are kept, beside it."""
PLACE = "http://127.0.0.1:1/v1"
"""The server that the configurations of the corpus name; the address of the real one takes its place."""

REASONS = {
    ("contains-json", "fail", "pass"): "a text in braces that is no JSON counts there (`Hello {name}!`)",
    ("contains-json", "pass", "fail"): "lists, and objects with a brace in a text, are not found there",
    ("is-refusal", "fail", "pass"): "its list of phrases counts disclaimers as refusals",
    ("javascript", "unscored", "fail"): "a script that throws fails the output there; here the check is broken",
    ("regex", "unscored", "fail"): "a pattern that cannot be read fails the output there; here the check is broken",
    ("python", "unscored", "fail"): "code that raises, or needs what the sandbox lacks, is unscored here",
}
"""Differences that are meant, by kind of assertion, our verdict and theirs; docs/assertions.md has them all."""

CODES = {
    "after": "an output that breaks the rule which demands JSON is not looked at by the rules about what stands in it",
    "no-value": "a check at a path cannot look where the output has no such value",
}
"""Differences that are meant, by the reason code of what is unscored here."""
_EXAMPLES = 3
"""Differences of one reason that are shown one by one."""


@dataclass(frozen=True)
class Pair:
    """One verdict of both programs.

    Attributes:
        where: the suite, the case or test, the model, and the rule where one was compared.
        ours, theirs: ``pass``, ``fail`` or ``unscored``, which an error of theirs is.
        kinds: of the assertions that decided, by which a difference is explained.
        code: why it is unscored here, where it is.
        output: that they are about.
    """

    where: str
    ours: str
    theirs: str
    kinds: tuple[str, ...] = ()
    code: str | None = None
    output: str = ""

    @property
    def reason(self) -> str | None:
        """Why they differ, where that is meant."""
        if self.code in CODES:
            return CODES[self.code]
        given = (REASONS.get((kind.removeprefix("not-"), self.ours, self.theirs)) for kind in self.kinds)
        return next((reason for reason in given if reason), None)


@dataclass
class Agreement:
    """What the comparison of a suite comes to.

    Attributes:
        name: of the suite.
        pairs: the verdicts.
        requests: how many different chats both programs sent, and how many only one of them did.
        notes: what the import or export had left out or changed.
        recorded: promptfoo's verdicts on a configuration, as they are kept beside it.
    """

    name: str
    pairs: list[Pair] = field(default_factory=list)
    requests: tuple[int, int] = (0, 0)
    notes: tuple[str, ...] = ()
    recorded: list[dict[str, object]] = field(default_factory=list)

    @property
    def different(self) -> list[Pair]:
        """The verdicts that differ."""
        return [pair for pair in self.pairs if pair.ours != pair.theirs]

    @property
    def unexplained(self) -> list[Pair]:
        """Those without a reason."""
        return [pair for pair in self.different if pair.reason is None]

    def line(self) -> str:
        """The figures."""
        counts = Counter(pair.ours for pair in self.pairs)
        shown = ", ".join(f"{counts[status]} {status}" for status in ("pass", "fail", "unscored") if counts[status])
        same, other = self.requests
        return (
            f"{self.name}: {len(self.pairs)} verdicts ({shown}), {len(self.different)} different, "
            f"{len(self.unexplained)} without a reason; {same} chats the same, {other} not"
        )


def exported(program: Promptfoo, source: Path, work: Path, server: AnswerServer) -> Agreement:
    """A suite of ours, run here and, exported, by promptfoo: a verdict for each rule of code, case and model, but for
    rules of which the export had to leave a check out."""
    folder = work / source.name
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("*.grades.jsonl", "*.synthesis"))
    models = ",".join(f"{name}=openai/{name}?api_base={server.url}" for name in MODELS)
    config = folder / "promptfooconfig.yaml"
    said = promptpex("export", "promptfoo", folder / "prompt.cases.yaml", "-m", models, "--out", config)
    server.asked.clear()
    results = program.run(config)["results"]["results"]
    theirs_asked = _asked(server)
    run = _run(folder / "prompt.md", models, work)
    agreement = Agreement(source.name, requests=_requests(theirs_asked, _asked(server)), notes=tuple(said.splitlines()))
    partly = {rule.id for rule in run.spec.rules if f"a check of rule {rule.id} is left out" in said}
    ours = {(verdict.case, verdict.model, verdict.rule): verdict for verdict in run.verdicts if verdict.counts}
    for row in results:
        case, model = row["testCase"]["metadata"]["case"], row["provider"].get("label") or row["provider"]["id"]
        for rule, parts in _by_metric(row).items():
            if rule in partly:
                continue
            verdict = ours[case, model, rule]
            kinds = tuple(dict.fromkeys(part["assertion"]["type"] for part in parts))
            where = f"{source.name} {case} {model} {rule}"
            output = str(row.get("response", {}).get("output"))
            agreement.pairs.append(Pair(where, _status(verdict), _theirs(row, parts), kinds, verdict.unscored, output))
    return agreement


def _by_metric(row: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The results of a row's assertions by the rule that they are of."""
    grading = row.get("gradingResult") or {}
    groups: dict[str, list[dict[str, Any]]] = {}
    for part in grading.get("componentResults") or ():
        metric = (part.get("assertion") or {}).get("metric")
        if metric:
            groups.setdefault(metric, []).append(part)
    return groups


def _theirs(row: Mapping[str, Any], parts: Iterable[Mapping[str, Any]]) -> str:
    if row.get("failureReason") == 2:
        return "unscored"
    return "pass" if all(part["pass"] for part in parts) else "fail"


def _status(verdict: Verdict) -> str:
    """What code says: of a rule that it decides in part and no judge is asked about, that its checks pass."""
    if verdict.unscored == "no-judge" and verdict.source.startswith("check:"):
        return "pass"
    return "unscored" if verdict.status not in ("pass", "fail") else verdict.status


def imported(program: Promptfoo, source: Path, work: Path, server: AnswerServer) -> Agreement:
    """A configuration of promptfoo's, run by it and, imported, here: a verdict for each test, prompt and model."""
    folder = work / source.name
    shutil.copytree(source, folder)
    config = folder / "promptfooconfig.yaml"
    config.write_text(config.read_text(encoding="utf-8").replace(PLACE, server.url), encoding="utf-8")
    out = work / f"{source.name}-imported"
    said = promptpex("import", "promptfoo", config, "--out", out)
    cases = _cases(config)
    server.asked.clear()
    results = program.run(config)["results"]
    columns = [column["raw"] for column in results["prompts"]]
    raw = list(dict.fromkeys(columns))
    theirs_asked = _asked(server)
    ours = [_run(prompt, None, work) for prompt in sorted(out.glob("prompt*")) if prompt.suffix in (".md", ".json")]
    agreement = Agreement(source.name, requests=_requests(theirs_asked, _asked(server)), notes=tuple(said.splitlines()))
    for row in results["results"]:
        number = raw.index(columns[row["promptIdx"]])
        run = ours[number]
        case, model = cases[row["testIdx"]], row["provider"].get("label") or row["provider"]["id"]
        parts = (row.get("gradingResult") or {}).get("componentResults") or ()
        kinds = tuple(dict.fromkeys((part.get("assertion") or {}).get("type", "") for part in parts))
        theirs = "unscored" if row.get("failureReason") == 2 else "pass" if row["success"] else "fail"
        where = f"{source.name} test {row['testIdx']} {model} prompt {number}"
        output = str((row.get("response") or {}).get("output"))
        answered = {"test": row["testIdx"], "prompt": number, "model": model, "output": output}
        agreement.recorded.append({**answered, "verdict": theirs, "kinds": list(kinds)})
        agreement.pairs.append(Pair(where, _of_case(run, case, model), theirs, kinds, None, output))
    return agreement


def _cases(config: Path) -> Mapping[int, str]:
    """By the number of a test the case that it became."""
    doc = yaml_reader.read(config, error=InputError, what="configuration")
    data = merged(doc.data)
    assert isinstance(data, dict)
    return read_config(ConfigFiles(config.parent, Log()), data, At(config, doc=doc)).cases


def _of_case(run: Run, case: str, model: str) -> str:
    """What the rules of code that concern an output come to."""
    mine = [verdict for verdict in run.verdicts if (verdict.case, verdict.model) == (case, model) and verdict.counts]
    statuses = {verdict.status for verdict in mine} - {"not_concerned"}
    return "fail" if "fail" in statuses else "unscored" if "unscored" in statuses else "pass"


def _asked(server: AnswerServer) -> set[tuple[str, str]]:
    """What the server was asked since the last time, each thing once."""
    asked = {(model, turns) for model, every in server.asked.items() for turns in every}
    server.asked.clear()
    return asked


def _requests(theirs: set[tuple[str, str]], ours: set[tuple[str, str]]) -> tuple[int, int]:
    return len(theirs & ours), len(theirs ^ ours)


def _run(prompt: Path, models: str | None, work: Path) -> Run:
    """A run of ours, by checks alone, in a folder of its own."""
    results = work / f"{prompt.parent.name}-{prompt.stem}-results"
    named = ("--models", models) if models is not None else ()
    promptpex("run", prompt, *named, "--judge", "none", "--results", results, "--store", results / "store.sqlite")
    return runs.read(runs.latest(results))


def record(agreement: Agreement, folder: Path) -> None:
    """Keeps promptfoo's verdicts beside their configuration, a line each."""
    lines = ",\n ".join(json.dumps(row, ensure_ascii=False) for row in agreement.recorded)
    (folder / RECORDED).write_text(f"[{lines}]\n", encoding="utf-8")


def shown(agreements: Iterable[Agreement]) -> Iterator[str]:
    """The lines of a report: figures, then each difference with its reason."""
    every = list(agreements)
    for agreement in every:
        yield agreement.line()
    differences: dict[str, list[Pair]] = {}
    for agreement in every:
        for pair in agreement.different:
            differences.setdefault(pair.reason or "NO REASON IS KNOWN", []).append(pair)
    for reason, pairs in differences.items():
        yield f"{len(pairs)} different: {reason}"
        for pair in pairs if reason.isupper() else pairs[:_EXAMPLES]:
            kinds = ", ".join(pair.kinds)
            yield f"  {pair.where}: here {pair.ours}, there {pair.theirs} ({kinds}): {pair.output[:60]!r}"
    total = sum(len(agreement.pairs) for agreement in every)
    different = sum(len(agreement.different) for agreement in every)
    yield f"{total} verdicts, {total - different} the same, {different} different"
