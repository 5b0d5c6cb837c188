"""What an import makes of a foreign file: by its format's reader, or by the command."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from promptpex import interchange
from promptpex.assertions import check
from promptpex.cases.file import read_suite
from promptpex.cli.main import run_cli
from promptpex.core.records import Case, Prompt, Run, Spec, Suite
from promptpex.interchange.format import Format, Imported, formats
from promptpex.promptfile import read as read_prompt
from promptpex.report import runs
from promptpex.specs.file import read_spec

FORMATS: Mapping[str, Format] = formats(interchange)


def read(name: str, path: Path, **given: object) -> Imported:
    """What the reader of a format gives, with its options at their defaults."""
    format_ = FORMATS[name]
    assert format_.read is not None
    return format_.read(path, **{option.name: option.default for option in format_.read_options} | given)


def reads_as(path: Path) -> list[str]:
    """The formats that take a file for theirs."""
    return [name for name, each in FORMATS.items() if each.recognise is not None and each.recognise(path)]


def written(path: Path, rows: Sequence[object] | str) -> Path:
    """A file with these rows as JSON lines, or with this text."""
    text = rows if isinstance(rows, str) else "".join(f"{json.dumps(row)}\n" for row in rows)
    path.write_text(text, encoding="utf-8")
    return path


def left_out(imported: Imported) -> list[tuple[str, int | None]]:
    """What did not come over: each thing's name and line."""
    return [(note.name, note.line) for note in imported.notes if note.became == "left out"]


@dataclass(frozen=True)
class Made:
    """What the command wrote, and what it said."""

    folder: Path
    prompt: Prompt
    spec: Spec
    suite: Suite
    answer: Mapping[str, Any]

    def run(self) -> Run:
        """The run that it wrote."""
        return runs.read(runs.latest(self.folder))

    def verdict(self, case: Case, output: str) -> bool:
        """Whether an output keeps all rules of code."""
        return all(
            check(output, rule.checks, vars=case.inputs, expected=case.expected).status == "pass"
            for rule in self.spec.rules
            if rule.checks and not any(each.kind == "question" for each in rule.checks)
        )


def imported(capsys: pytest.CaptureFixture[str], path: Path, *arguments: str) -> Made:
    """What ``promptpex import`` makes of a file."""
    capsys.readouterr()
    out = path.parent / "out"
    code = run_cli(["import", *arguments[:1], str(path), *arguments[1:], "--out", str(out), "--json"])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    prompt = read_prompt(next(one for one in (out / "prompt.md", out / "prompt.json") if one.exists()))
    spec = read_spec(out / "prompt.spec.yaml") if (out / "prompt.spec.yaml").exists() else Spec()
    suite = read_suite(out / "prompt.cases.yaml", spec if spec.rules else None, prompt)
    return Made(out, prompt, spec, suite, json.loads(captured.out))


class ProjectSource:
    """A project as a source of exports."""

    def __init__(self, project: Any, run: Run | None = None) -> None:
        self._project, self._run = project, run

    def suite(self) -> Suite:
        """The cases."""
        suite = self._project.suite
        assert isinstance(suite, Suite)
        return suite

    def project(self) -> Any:
        """The project."""
        return self._project

    def run(self) -> Run:
        """The run."""
        assert self._run is not None
        return self._run
