"""How far the published judge agrees with code, on the rules that code can decide."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from benchmarks.reproduce.dataset import Benchmark
from benchmarks.reproduce.results import SOURCE
from promptpex.assertions import OutputOfCase, RuleCheckJob, chunked
from promptpex.core.records import Rule, Verdict
from promptpex.engines import LocalEngine
from promptpex.stats import Agreement, Interval, clustered_agreement, korn_graubard


@dataclass(frozen=True, slots=True)
class Compared:
    """Code against the published judge, on the same outputs.

    Attributes:
        name: whose outputs, by which rules.
        agreement: of code (first) and judge (second) on pass and fail, the answers to one case as a cluster.
        violations: outputs that code proves to break a rule.
        passed: how many of those the judge passed, as a share with its interval, the answers to one case as a cluster.
        failed_else: outputs that the judge failed and whose checked rules all hold; they may break another.
    """

    name: str
    agreement: Agreement
    violations: int
    passed: Interval
    failed_else: int


@dataclass(frozen=True, slots=True)
class Pair:
    """An output: where it is from, what code says (by rule), and what the judge says of the whole."""

    cluster: tuple[str, str]
    code: Mapping[str, bool]
    judge: bool


def pairs(benchmark: Benchmark) -> list[Pair]:
    """Every output of a benchmark that both have judged."""
    checked = _by_key(_checked(benchmark))
    judged = {verdict.key: verdict for verdict in benchmark.run.verdicts if verdict.source == SOURCE}
    compared_pairs: list[Pair] = []
    for output in benchmark.run.outputs:
        code = {v.rule: v.status == "pass" for v in checked.get(output.key, ()) if v.status != "unscored"}
        verdict = judged.get(output.key)
        if code and output.error is None and verdict is not None and verdict.status != "unscored":
            compared_pairs.append(Pair((benchmark.name, output.case), code, verdict.status == "pass"))
    return compared_pairs


def compared(name: str, chosen: Sequence[Pair], rules: Mapping[str, Sequence[str]]) -> Compared:
    """Code against the judge over these outputs.

    Args:
        rules: per benchmark, the rules whose checks speak for code; an output passes when all of them hold.
    """
    rated = [
        (pair, all(pair.code[rule] for rule in rules[pair.cluster[0]])) for pair in chosen if rules.get(pair.cluster[0])
    ]
    # Code in rows, the judge in columns; fail before pass.
    tables = {pair.cluster: [[0, 0], [0, 0]] for pair, _ in rated}
    for pair, code in rated:
        tables[pair.cluster][code][pair.judge] += 1
    broken = [pair for pair, code in rated if not code]
    return Compared(
        name=name,
        agreement=clustered_agreement(list(tables.values()) or [[[0, 0], [0, 0]]]),
        violations=len(broken),
        passed=_share_passed(broken),
        failed_else=sum(code and not pair.judge for pair, code in rated),
    )


def _share_passed(broken: Sequence[Pair]) -> Interval:
    answers = Counter(pair.cluster for pair in broken)
    passed = Counter(pair.cluster for pair in broken if pair.judge)
    return korn_graubard([passed[cluster] for cluster in answers], list(answers.values()))


def checked_rules(benchmark: Benchmark, *, grounded: bool = False) -> list[str]:
    """The rules with checks; with ``grounded`` only those that the published evaluation finds in the prompt."""
    rules: Sequence[Rule] = benchmark.run.spec.rules
    return [rule.id for rule in rules if rule.checks and (not grounded or benchmark.groundedness[rule.id])]


def reliability(benchmarks: Sequence[Benchmark]) -> list[Compared]:
    """A comparison per rule, per benchmark and of all together: by all checked rules, and by the grounded ones."""
    by_name = {benchmark.name: pairs(benchmark) for benchmark in benchmarks if checked_rules(benchmark)}
    rows: list[Compared] = []
    wide: dict[str, list[str]] = {}
    narrow: dict[str, list[str]] = {}
    for benchmark in benchmarks:
        name = benchmark.name
        if name not in by_name:
            continue
        wide[name], narrow[name] = checked_rules(benchmark), checked_rules(benchmark, grounded=True)
        for rule in wide[name]:
            mark = "" if rule in narrow[name] else " (not in the prompt)"
            rows.append(compared(f"{name} {rule}{mark}", by_name[name], {name: [rule]}))
        if len(wide[name]) > 1:
            rows.append(compared(f"{name}, all its rules here", by_name[name], {name: wide[name]}))
    everything = [pair for of_benchmark in by_name.values() for pair in of_benchmark]
    rows.append(compared("all, rules that the prompt states", everything, narrow))
    rows.append(compared("all rules here", everything, wide))
    return rows


def markdown(rows: Sequence[Compared]) -> str:
    """The comparisons as a Markdown table; shares in percent, intervals at 95%."""
    names = ("outputs, rules", "n", "broken", "broken, judge passes", "whole, judge fails", "agree", "kappa")
    head = f"| {' | '.join(names)} |"
    return "\n".join([head, "|---|--:|--:|--:|--:|--:|--:|", *map(_markdown_row, rows)]) + "\n"


def _markdown_row(row: Compared) -> str:
    passed = round((row.passed.estimate or 0.0) * row.passed.n)
    share = (
        f"{passed} = {100 * (row.passed.estimate or 0):.0f}% ({100 * row.passed.low:.0f}–{100 * row.passed.high:.0f})"
    )
    agree = 100 * (row.agreement.raw.estimate or 0)
    interval = row.agreement.kappa
    kappa = "–" if interval.estimate is None else f"{interval.estimate:.2f} ({interval.low:.2f}–{interval.high:.2f})"
    cells = (row.name, row.agreement.n, row.violations, share, row.failed_else, f"{agree:.0f}%", kappa)
    return f"| {' | '.join(map(str, cells))} |"


def _by_key(verdicts: Sequence[Verdict]) -> dict[tuple[str, str, int], list[Verdict]]:
    groups: dict[tuple[str, str, int], list[Verdict]] = {}
    for verdict in verdicts:
        groups.setdefault(verdict.key, []).append(verdict)
    return groups


def _checked(benchmark: Benchmark) -> list[Verdict]:
    cases = {case.id: case.inputs for case in benchmark.run.suite.cases}
    usable = [OutputOfCase(one, cases[one.case], None) for one in benchmark.run.outputs if one.error is None]
    done = asyncio.run(LocalEngine().map(RuleCheckJob(tuple(benchmark.run.spec.rules)), chunked(usable)))
    return [each.verdict for each in chain.from_iterable(done)]
