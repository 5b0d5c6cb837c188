"""Configurations of promptfoo, imported by the command, and what it made of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from promptpex.assertions import check, check_inputs
from promptpex.cases.file import read_suite
from promptpex.cli.main import run_cli
from promptpex.core.records import Case, Prompt, Rule, Spec, Suite
from promptpex.promptfile import read as read_prompt
from promptpex.specs.file import read_spec

CONFIG = "promptfooconfig.yaml"


@dataclass(frozen=True)
class Made:
    """What an import wrote, and what it said."""

    folder: Path
    prompt: Prompt
    spec: Spec
    suite: Suite
    answer: Mapping[str, Any]

    @property
    def left_out(self) -> dict[str, str]:
        """Why each thing was left out, by its name."""
        return {note["name"]: note["why"] for note in self.answer["left_out"]}

    @property
    def changed(self) -> dict[str, str]:
        """What is different of each thing, by its name."""
        return {note["name"]: note["why"] for note in self.answer["changed"]}

    def concerned(self, rule: Rule) -> list[str]:
        """The cases that a rule concerns."""
        return [case.id for case in self.suite.cases if not check_inputs(rule.when, case.inputs)]

    def rule(self, name: str) -> Rule:
        """The rule of this id."""
        rule = self.spec.rule(name)
        assert rule is not None, [each.id for each in self.spec.rules]
        return rule

    def verdict(self, case: Case, output: str) -> bool:
        """Whether an output keeps all rules of code that concern its case."""
        return all(
            check(output, rule.checks, vars=case.inputs, expected=case.expected).status == "pass"
            for rule in self.spec.rules
            if rule.checks and case.id in self.concerned(rule)
        )


def imported(folder: Path, config: str | Mapping[str, Any], capsys: pytest.CaptureFixture[str], **files: str) -> Made:
    """What the command makes of a configuration, beside which these files lie (``__`` for a dot in their names)."""
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, encoding="utf-8")
    (folder / CONFIG).write_text(config if isinstance(config, str) else json.dumps(config), encoding="utf-8")
    capsys.readouterr()
    code = run_cli(["import", "promptfoo", str(folder / CONFIG), "--out", str(folder / "out"), "--json"])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    out = folder / "out"
    prompt = read_prompt(next(path for path in (out / "prompt.md", out / "prompt.json") if path.exists()))
    spec = read_spec(out / "prompt.spec.yaml") if (out / "prompt.spec.yaml").exists() else Spec()
    suite = read_suite(out / "prompt.cases.yaml", spec if spec.rules else None, prompt)
    return Made(out, prompt, spec, suite, json.loads(captured.out))
