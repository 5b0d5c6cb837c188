"""promptpex: tests for prompts, from what they promise.

The same steps as the command line, as functions on records::

    import promptpex

    prompt = promptpex.read_prompt("prompt.md")
    spec = promptpex.extract(prompt, author="gpt-4o-mini")
    suite = promptpex.generate(prompt, spec, author="gpt-4o-mini")
    run = promptpex.run(prompt, spec, suite, models=["llama3.2:1b"], judge="gpt-4o-mini")
    print(run.answer)
    run.report("report.html")

Everything is loaded when it is first used: importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from promptpex import stats, tables
    from promptpex.api.keyword_settings import KeywordSettings
    from promptpex.api.runs import RunResult, align, compare, read_run
    from promptpex.api.steps import BatchResult, extract, generate, judge, run, run_batch, select, synthesize
    from promptpex.assertions import check
    from promptpex.cases.file import read_suite, write_suite
    from promptpex.core import errors, records
    from promptpex.llm.fake import FakeClient
    from promptpex.promptfile import read as read_prompt
    from promptpex.specs.file import read_spec, write_spec
    from promptpex.synthesis.selection.problem_file import read_problem
    from promptpex.workflow.checks import RuleChecks

_HOMES = {
    "BatchResult": ("promptpex.api.steps", "BatchResult"),
    "FakeClient": ("promptpex.llm.fake", "FakeClient"),
    "KeywordSettings": ("promptpex.api.keyword_settings", "KeywordSettings"),
    "RuleChecks": ("promptpex.workflow.checks", "RuleChecks"),
    "RunResult": ("promptpex.api.runs", "RunResult"),
    "align": ("promptpex.api.runs", "align"),
    "check": ("promptpex.assertions", "check"),
    "compare": ("promptpex.api.runs", "compare"),
    "errors": ("promptpex.core.errors", None),
    "extract": ("promptpex.api.steps", "extract"),
    "generate": ("promptpex.api.steps", "generate"),
    "judge": ("promptpex.api.steps", "judge"),
    "read_problem": ("promptpex.synthesis.selection.problem_file", "read_problem"),
    "read_prompt": ("promptpex.promptfile", "read"),
    "read_run": ("promptpex.api.runs", "read_run"),
    "read_spec": ("promptpex.specs.file", "read_spec"),
    "read_suite": ("promptpex.cases.file", "read_suite"),
    "records": ("promptpex.core.records", None),
    "run": ("promptpex.api.steps", "run"),
    "run_batch": ("promptpex.api.steps", "run_batch"),
    "select": ("promptpex.api.steps", "select"),
    "stats": ("promptpex.stats", None),
    "synthesize": ("promptpex.api.steps", "synthesize"),
    "tables": ("promptpex.tables", None),
    "write_spec": ("promptpex.specs.file", "write_spec"),
    "write_suite": ("promptpex.cases.file", "write_suite"),
}

__all__ = [
    "BatchResult",
    "FakeClient",
    "KeywordSettings",
    "RuleChecks",
    "RunResult",
    "align",
    "check",
    "compare",
    "errors",
    "extract",
    "generate",
    "judge",
    "read_problem",
    "read_prompt",
    "read_run",
    "read_spec",
    "read_suite",
    "records",
    "run",
    "run_batch",
    "select",
    "stats",
    "synthesize",
    "tables",
    "write_spec",
    "write_suite",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'promptpex' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    home = import_module(module)
    value = home if attribute is None else getattr(home, attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
