"""The evaluation recordings of microsoft/promptpex (``evals/v7``), as our records.

Each benchmark becomes a run: the published rules are its spec, the generated and the baseline tests its suite, the
models' answers its outputs, and the published judge's words its verdicts, on the prompt as a whole since that is what
the judge was shown (arXiv 2503.05070v1, section 4). A verdict that the published parser lost is unscored here; what
the paper made of it is kept in ``Benchmark.results``. Whatever is odd is a problem with its file and line.
"""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from benchmarks.reproduce import prompts
from benchmarks.reproduce.results import Result, Results, read_results
from benchmarks.reproduce.rule_checks import checks_for
from promptpex.codecs.files.ordinary_files import read_text
from promptpex.core.errors import InputError, RunError, SpecError
from promptpex.core.ids import digest
from promptpex.core.records import Case, Manifest, Problem, Prompt, Rule, Run, Spec, Suite, VariableSpec
from promptpex.core.sentences import on_one_line
from promptpex.interchange import promptpex_files
from promptpex.judging.modes.prompt import WHOLE_PROMPT

RESULTS = "test_results.csv"
NEEDED = ("rules.txt", "inverse_rules.txt", "tests.csv", RESULTS, "test_evals.csv", "rule_evals.csv")


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One benchmark of the recordings.

    Attributes:
        name: the folder's name, as published.
        run: prompt, spec, suite, outputs and the published verdicts.
        prompt_known: whether the prompt's text is known; without it nothing can be asked again.
        results: every row of the results that belongs to the prompt, as published.
        validity: per case that aims at a rule, whether it was judged to keep the input spec; None = verdict missing.
        agreement: per case, whether the spec alone gave what the prompt gives; None = verdict missing.
        groundedness: per rule, whether the prompt says it; None = verdict missing.
        problems: what is odd, with file and line.
    """

    name: str
    run: Run
    prompt_known: bool
    results: tuple[Result, ...]
    validity: Mapping[str, bool | None]
    agreement: Mapping[str, bool | None]
    groundedness: Mapping[str, bool | None]
    problems: tuple[Problem, ...]

    @property
    def models(self) -> tuple[str, ...]:
        """The models, in the order of the results."""
        return self.run.manifest.models


def read(folder: Path) -> list[Benchmark]:
    """The benchmarks in a folder: ``evals/v7``, a clone that holds it, or one benchmark's own folder; by name.

    Raises:
        InputError: nothing of the kind there, or a file that is missing, cut off or has another header; with the line.
    """
    benchmarks = [read_benchmark(one) for one in benchmark_folders(folder)]
    if not benchmarks:
        raise RunError(
            f"no published recordings here: no folder in it holds {RESULTS}; name evals/v7 of a clone of "
            "microsoft/promptpex",
            path=folder,
        )
    return benchmarks


def benchmark_folders(folder: Path) -> list[Path]:
    """The folders of benchmarks, by name. A folder counts as one when it holds two of the files that each has.

    Raises:
        RunError: there is no such folder.
    """
    if not folder.is_dir():
        raise RunError("there is no such folder; name evals/v7 of a clone of microsoft/promptpex", path=folder)
    for place in (folder, folder / "evals" / "v7"):
        if _holds(place):
            return [place]
        inner = sorted(one for one in place.iterdir() if _holds(one)) if place.is_dir() else []
        if inner:
            return inner
    return []


def _holds(folder: Path) -> bool:
    return folder.is_dir() and sum((folder / name).is_file() for name in NEEDED) >= 2


def read_benchmark(folder: Path) -> Benchmark:
    """One benchmark; errors as in ``read``."""
    folder = folder.resolve() if folder.name in ("", ".", "..") else folder
    for name in NEEDED:
        if not (folder / name).is_file():
            raise RunError(f"the recordings of {folder.name} lack this file; get it again", path=folder / name)
    rules, problems = _rules(folder)
    promptid = _promptid(folder / RESULTS)
    located = prompts.find(folder, promptid)
    variable = located.prompt.variables[0]
    tests = promptpex_files.csv_tests(folder / "tests.csv", rule_count=len(rules), variable=variable)
    results = read_results(folder / RESULTS, promptid, tests.suite, rules, variable)
    cases = results.cases
    evaluated, odd = _evals(folder / "test_evals.csv", promptid, cases, len(rules), variable)
    grounded, odd_rules = _groundedness(folder / "rule_evals.csv", promptid, rules)
    untried = _untried(folder / "baseline_tests.txt", cases, variable)
    problems += [*located.problems, *tests.problems, *results.problems, *odd, *odd_rules, *untried]
    run = _run(folder, located.prompt, rules, results)
    return Benchmark(
        name=folder.name,
        run=run,
        prompt_known=located.known,
        results=results.rows,
        validity={case: valid for case, (valid, _) in evaluated.items()},
        agreement={case: agrees for case, (_, agrees) in evaluated.items()},
        groundedness=grounded,
        problems=tuple(problems),
    )


def _rules(folder: Path) -> tuple[list[Rule], list[Problem]]:
    texts = _text_lines(folder / "rules.txt", "rules")
    inverses = _text_lines(folder / "inverse_rules.txt", "inverse rules")
    problems: list[Problem] = []
    if len(texts) != len(inverses):
        message = f"there are {len(inverses)} inverse rules for {len(texts)} rules"
        problems.append(Problem.warning(folder / "inverse_rules.txt", None, message))
    checks = checks_for(folder.name, len(texts))
    padded = [*inverses, *([None] * len(texts))]
    rules = [
        Rule(id=f"r{number}", rule=text, inverse=padded[number - 1], **checks.get(f"r{number}", {}))
        for number, text in enumerate(texts, 1)
    ]
    return [rule.replace(content=rule.content_hash()) for rule in rules], problems


def _text_lines(path: Path, what: str) -> list[str]:
    text = read_text(path, error=SpecError, what=what)
    return [line.strip() for line in text.splitlines() if line.strip()]


def _promptid(path: Path) -> str:
    """The hash of the prompt that most results are of."""
    rows = promptpex_files.table_rows(path, ("promptid",), what="results file", error=RunError)
    if not rows:
        raise RunError("the results file holds no result; get it again", path=path, line=1)
    return Counter(row["promptid"] for row in rows).most_common(1)[0][0]


def _own(
    rows: list[promptpex_files.TableRow], promptid: str, path: Path, problems: list[Problem]
) -> list[promptpex_files.TableRow]:
    """The rows of this prompt; what belongs to another is named, not counted."""
    other = [row for row in rows if row["promptid"] != promptid]
    if other:
        message = f"{len(other)} rows are of another prompt than {promptid} and are not counted"
        problems.append(Problem.warning(path, other[0].number, message))
    return [row for row in rows if row["promptid"] == promptid]


def _evals(
    path: Path, promptid: str, cases: Sequence[Case], rules: int, variable: str
) -> tuple[dict[str, tuple[bool | None, bool | None]], list[Problem]]:
    """Validity and spec agreement per case that aims at a rule; a missing verdict is None, and a problem."""
    columns = ("promptid", "ruleid", "input", "validity", "coverage")
    by_place = {(case.rule, case.inverse, str(case.inputs[variable]).strip()): case.id for case in cases if case.rule}
    verdicts: dict[str, tuple[bool | None, bool | None]] = dict.fromkeys(by_place.values(), (None, None))
    problems: list[Problem] = []
    rows = promptpex_files.table_rows(path, columns, what="file of test evaluations", error=RunError)
    for row in _own(rows, promptid, path, problems):
        number = row["ruleid"].strip()
        place = (*promptpex_files.numbered(int(number), rules), row["input"].strip()) if number.isdecimal() else None
        case_id = by_place.get(place) if place else None
        if case_id is None:
            problems.append(Problem.warning(path, row.number, "this evaluation is of no known test; it is not counted"))
            continue
        verdicts[case_id] = (_verdict(row["validity"]), _verdict(row["coverage"]))
    unseen = [case_id for case_id, (valid, _) in verdicts.items() if valid is None]
    if unseen:
        message = f"{len(unseen)} tests have no verdict on their validity and are not counted valid: "
        problems.append(Problem.warning(path, None, message + ", ".join(unseen[:5])))
    return verdicts, problems


def _groundedness(path: Path, promptid: str, rules: Sequence[Rule]) -> tuple[dict[str, bool | None], list[Problem]]:
    grounded: dict[str, bool | None] = {rule.id: None for rule in rules}
    problems: list[Problem] = []
    rows = promptpex_files.table_rows(
        path, ("promptid", "ruleid", "grounded"), what="groundedness file", error=RunError
    )
    for row in _own(rows, promptid, path, problems):
        rule_id = f"r{row['ruleid'].strip()}"
        if rule_id not in grounded:
            message = f"there is no rule {row['ruleid'][:20]!r}; the row is not counted"
            problems.append(Problem.warning(path, row.number, message))
            continue
        grounded[rule_id] = _verdict(row["grounded"])
    problems += [
        Problem.warning(path, None, f"rule {rule_id} has no verdict on its groundedness and is not counted as grounded")
        for rule_id, verdict in grounded.items()
        if verdict is None
    ]
    return grounded, problems


def _untried(path: Path, cases: Sequence[Case], variable: str) -> list[Problem]:
    """The baseline's tests that no model was asked."""
    if not path.is_file():
        return []
    tests = [test.strip() for test in "\n".join(_optional(path)).split("\n===\n")]
    inputs_asked = {on_one_line(str(case.inputs[variable])) for case in cases if case.rule is None}
    missing = [test for test in tests if test and on_one_line(test) not in inputs_asked]
    if not missing:
        return []
    message = f"{len(missing)} tests of the baseline have no result, such as {missing[0][:60]!r}"
    return [Problem.warning(path, None, message)]


def _verdict(cell: str) -> bool | None:
    return {"ok": True, "err": False}.get(cell.strip())


def _run(folder: Path, prompt: Prompt, rules: Sequence[Rule], results: Results) -> Run:
    spec = Spec(
        prompt="prompt.md",
        prompt_fingerprint=prompt.fingerprint,
        intent=" ".join(_optional(folder / "intent.txt")),
        inputs={prompt.variables[0]: VariableSpec(constraints=tuple(_optional(folder / "input_spec.txt")))},
        rules=tuple(rules),
    )
    suite = Suite(prompt="prompt.md", cases=tuple(results.cases))
    spec_digest, suite_digest = digest(spec.to_dict()), digest(suite.to_dict())
    manifest = Manifest(
        run=digest([prompt.fingerprint, spec_digest, suite_digest, results.models], 10),
        prompt=prompt.name,
        prompt_fingerprint=prompt.fingerprint,
        spec_digest=spec_digest,
        suite_digest=suite_digest,
        models=tuple(results.models),
        author="published",
        judges=("published",),
        mode_rules={WHOLE_PROMPT.id: WHOLE_PROMPT.rule},
        versions={"promptpex": version("promptpex"), "python": platform.python_version()},
    )
    outputs, verdicts = tuple(results.outputs), tuple(results.verdicts)
    return Run(manifest=manifest, prompt=prompt, spec=spec, suite=suite, outputs=outputs, verdicts=verdicts)


def _optional(path: Path) -> list[str]:
    try:
        return _text_lines(path, path.stem)
    except InputError:
        return []


def problems_of(benchmarks: Iterable[Benchmark]) -> list[Problem]:
    """All that is odd, benchmark by benchmark."""
    return [problem for benchmark in benchmarks for problem in benchmark.problems]
