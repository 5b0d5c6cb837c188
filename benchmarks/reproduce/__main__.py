"""PromptPex's evaluation (arXiv 2503.05070v1), on our benchmarks and on the recordings that it published.

    python -m benchmarks.reproduce evaluate PROMPT... --models M,N --author A --judge J
    python -m benchmarks.reproduce tables [FOLDER]       # those of a kept evaluation, made again from its runs
    python -m benchmarks.reproduce published EVALS       # evals/v7 of a clone of microsoft/promptpex, counted again
    python -m benchmarks.reproduce judge EVALS           # the published judge against code

Run it at the root of the repository. Further settings come from promptpex.toml and the environment.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.reproduce import dataset, judge_agreement, markdown, measures
from benchmarks.reproduce.evaluation import evaluate, write_tables
from benchmarks.reproduce.tables import Tables
from promptpex.codecs.files.atomic import write_text
from promptpex.config import Resolved, load
from promptpex.core.errors import PromptpexError
from promptpex.core.events import Event, Notice
from promptpex.report import runs
from promptpex.workflow.project_files import files_of
from promptpex.workflow.session import open_session, result_of

KEPT = Path("results/reference/evaluation")
"""The evaluation that README.md speaks of."""
SETTINGS = ("models", "author", "judge", "results", "store")


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the tables that were asked for; 2 where something is wrong."""
    given = _parser().parse_args(arguments)
    try:
        print(given.work(given), end="")
    except PromptpexError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reproduce", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("evaluate", help="specs and cases as the paper evaluates them")
    one.set_defaults(work=_evaluate)
    one.add_argument("prompts", nargs="+", type=Path, metavar="PROMPT")
    for name in SETTINGS:
        one.add_argument(f"--{name}", help="the setting of this name, as for promptpex run")
    one.add_argument("--no-validity", action="store_true", help="leave the validity of cases to code")
    one.add_argument("--sample", type=_positive, metavar="N", help="at most N cases of each suite, drawn by the seed")
    one.add_argument("--baseline-cases", type=_positive, default=20, metavar="N", help="from the prompt alone [20]")
    one.add_argument("-o", "--out", type=Path, metavar="DIR", help="of the tables [RESULTS/evaluation]")
    one = commands.add_parser("tables", help="the tables of a kept evaluation, from its runs")
    one.set_defaults(work=_tables)
    one.add_argument("folder", nargs="?", type=Path, default=KEPT, help=f"of the runs [{KEPT}]")
    one = commands.add_parser("published", help="the paper's tables, counted again, and our figures beside them")
    one.set_defaults(work=_published)
    one.add_argument("evals", type=Path, help="evals/v7 of a clone of microsoft/promptpex")
    one.add_argument("-o", "--out", type=Path, metavar="DIR", help="write tables.json and a run per benchmark")
    one = commands.add_parser("judge", help="how far the published judge agrees with code")
    one.set_defaults(work=lambda given: judge_agreement.markdown(judge_agreement.reliability(_read(given.evals))))
    one.add_argument("evals", type=Path, help="evals/v7 of a clone of microsoft/promptpex")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def _evaluate(given: argparse.Namespace) -> str:
    settings: dict[str, object] = {name: value for name in SETTINGS if (value := getattr(given, name)) is not None}
    for name in ("models", "judge"):
        if name in settings:
            settings[name] = [part.strip() for part in str(settings[name]).split(",") if part.strip()]
    if given.no_validity:
        settings["validity"] = False
    resolved = load(settings, start=given.prompts[0].parent, env=os.environ)
    folder = given.out or Path(resolved.settings.results) / "evaluation"
    tables = result_of(lambda: _asked(resolved, given, folder))
    return f"{markdown.of_evaluation(tables)}\nTables in {folder}\n"


async def _asked(resolved: Resolved, given: argparse.Namespace, folder: Path) -> Tables:
    async with open_session(resolved, emit=_say) as session:
        files = [files_of(prompt) for prompt in given.prompts]
        return await evaluate(session, files, folder=folder, baseline=given.baseline_cases, sample=given.sample)


def _say(event: Event) -> None:
    if isinstance(event, Notice):
        print(event.message, file=sys.stderr)


def _tables(given: argparse.Namespace) -> str:
    if not any(given.folder.glob("*/prompt")):
        raise PromptpexError(f"{given.folder} holds no run of an evaluation: name its folder, such as {KEPT}")
    tables = markdown.rebuilt(given.folder)
    write_tables(given.folder, tables)
    return markdown.of_evaluation(tables)


def _read(folder: Path) -> list[dataset.Benchmark]:
    benchmarks = dataset.read(folder)
    for problem in dataset.problems_of(benchmarks):
        print(problem, file=sys.stderr)
    return benchmarks


def _published(given: argparse.Namespace) -> str:
    benchmarks = _read(given.evals)
    if given.out is not None:
        tables = measures.tables(benchmarks)
        for benchmark in benchmarks:
            runs.finish(
                given.out / benchmark.name, benchmark.run.replace(prompt=benchmark.run.prompt.replace(path=None))
            )
        kept = {**tables, "averages": measures.averages(tables)}
        write_text(given.out / "tables.json", json.dumps(kept, ensure_ascii=False, indent=1) + "\n")
    return markdown.of_recordings(benchmarks)


if __name__ == "__main__":
    sys.exit(main())
