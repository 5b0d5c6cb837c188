"""``promptpex import``: what other tools wrote, as our records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options
from promptpex.cli.help import Command
from promptpex.cli.output import data, say
from promptpex.codecs.wording import plural

if TYPE_CHECKING:
    from promptpex.core.records import Problem, Suite
    from promptpex.paper.published.dataset import Benchmark
    from promptpex.paper.published.measures import Tables
    from promptpex.paper.published.project_files import Ask

FORMATS = ("promptpex-published", "promptpex-tests", "csv", "jsonl")


@click.command("import", cls=Command)
@click.argument("shape", metavar="FORMAT", type=click.Choice(FORMATS))
@click.argument("path", type=click.Path(path_type=Path))
@options.of_files(
    "-o", "--out", type=options.PATH, metavar="PATH", help="Case file to write; promptpex-published: a folder."
)
@options.of_cases(
    "--rules", type=options.COUNT, metavar="N", help="promptpex-tests: number of rules [lines of rules.txt]."
)
@options.of_cases("--variable", default="input", metavar="NAME", help="promptpex-tests: the prompt's variable [input].")
@options.output_options
def command(
    shape: str, path: Path, out: Path | None, rules: int | None, variable: str, as_json: bool, **flags: Any
) -> int:
    """Read cases or results of another tool.

    \b
    promptpex-published  evals/v7 of a clone of microsoft/promptpex: prints the
                         paper's tables counted again, with intervals and paired
                         tests; --out DIR writes runs, tables.json and recordings
    promptpex-tests      a tests.csv of promptpex, as a case file
    csv, jsonl           cases as `promptpex export` writes them, as a case file

    A case file is written to --out (.yaml, .csv or .jsonl), or as JSON lines to stdout.
    """
    if shape == "promptpex-published":
        return _published(path, out, as_json=as_json, flags=flags)
    return _cases(shape, path, out, rules, variable, as_json=as_json)


def _published(path: Path, out: Path | None, *, as_json: bool, flags: dict[str, Any]) -> int:
    from promptpex.cli.output import print_json
    from promptpex.paper.published import dataset, measures, project_files
    from promptpex.paper.published import report as show

    benchmarks = dataset.read(path)
    found = measures.tables(benchmarks)
    _tell(dataset.problems_of(benchmarks), quiet=bool(flags.get("quiet")))
    recordings = project_files.write(out, benchmarks, found, _ask(flags, out)) if out is not None else {}
    if as_json:
        print_json(_plain(benchmarks, found))
        return 0
    show.print_all(benchmarks, found)
    if out is not None:
        show.print_written(out, benchmarks, recordings)
    return 0


def _ask(flags: dict[str, Any], out: Path) -> Ask:
    """How a run would ask under the settings that hold for the folder."""
    from promptpex.cli.runner import settings
    from promptpex.core.records import Case, ModelName, Params, Prompt, Request
    from promptpex.workflow.collect import Cell, request_for

    chosen = settings(flags, start=out if out.is_dir() else Path.cwd()).settings
    defaults = Params(temperature=chosen.temperature, max_tokens=chosen.max_tokens, seed=chosen.seed)

    def ask(prompt: Prompt, case: Case, model: str) -> Request:
        return request_for(prompt, Cell(case, ModelName(name=model, label=model), 0), defaults)

    return ask


def _plain(benchmarks: list[Benchmark], found: Tables) -> dict[str, Any]:
    from promptpex.paper.published import dataset, measures

    return {
        **found,
        "ours": measures.to_dict(benchmarks),
        "misprints": measures.misprints(found),
        "problems": [problem.to_dict() for problem in dataset.problems_of(benchmarks)],
    }


def _cases(shape: str, path: Path, out: Path | None, rules: int | None, variable: str, *, as_json: bool) -> int:
    from promptpex.cases.file import write_suite
    from promptpex.cases.suite_tables import jsonl_text
    from promptpex.cli.output import print_json
    from promptpex.core.errors import SuiteError

    suite, problems = _suite(shape, path, rules, variable)
    _tell(problems, quiet=False)
    if out is None:
        click.echo(data(jsonl_text(suite)), nl=False)
        return 0
    try:
        write_suite(out, suite)
    except OSError as failure:
        raise SuiteError(f"cannot be written ({failure.strerror}); name another file with --out", path=out) from None
    if as_json:
        print_json({"cases": len(suite.cases), "out": str(out)})
    else:
        say(f"{plural(len(suite.cases), 'case')} in {out}")
    return 0


def _suite(shape: str, path: Path, rules: int | None, variable: str) -> tuple[Suite, tuple[Problem, ...]]:
    from promptpex.core.errors import SuiteError

    if shape == "promptpex-tests":
        from promptpex.interchange import promptpex_tests

        tests = promptpex_tests.read(path, rules=rules, variable=variable)
        return tests.suite, tests.problems
    from promptpex.cases.file import read_suite

    ends = {"csv": (".csv",), "jsonl": (".jsonl", ".ndjson")}[shape]
    if path.suffix.lower() not in ends:
        raise SuiteError(f"a file in the format {shape} must end in {' or '.join(ends)}", path=path)
    return read_suite(path), ()


def _tell(problems: list[Problem] | tuple[Problem, ...], *, quiet: bool) -> None:

    for problem in problems if not quiet else ():
        say(str(problem), err=True)
