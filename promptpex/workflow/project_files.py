"""A prompt and the files beside it: where they are, and reading them for a command."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from promptpex.cases.file import read_suite
from promptpex.config import with_effort
from promptpex.core.errors import SpecError, SuiteError
from promptpex.core.events import Notice
from promptpex.core.records import Prompt, Spec, Suite
from promptpex.promptfile import read_with_warnings, sibling
from promptpex.specs.file import read_spec
from promptpex.workflow.importing.embedded_tests import first_suite
from promptpex.workflow.session import Session
from promptpex.workflow.validation.spec_problems import read_for_prompt


@dataclass(frozen=True, slots=True)
class Files:
    """A prompt and the files beside it."""

    prompt: Path
    spec: Path
    suite: Path


def files_of(prompt: Path, *, spec: Path | None = None, suite: Path | None = None) -> Files:
    """The prompt's file with its spec and its cases: ``prompt.md``, ``prompt.spec.yaml``, ``prompt.cases.yaml``."""
    return Files(
        prompt=prompt,
        spec=spec or sibling(prompt, "spec"),
        suite=suite or sibling(prompt, "cases"),
    )


def named_files(prompt: Path, *, spec: Path | None = None, suite: Path | None = None) -> Files:
    """As ``files_of``; what is named has to be there, since a misspelt name is not a wish to pay for a new file."""
    if spec is not None and not spec.exists():
        raise SpecError("there is no such spec file; leave --spec out to have one written", path=spec)
    if suite is not None and not suite.exists():
        raise SuiteError("there is no such case file; leave --cases out to have one written", path=suite)
    return files_of(prompt, spec=spec, suite=suite)


def read_prompt(session: Session, path: Path) -> Prompt:
    """The prompt; its warnings are emitted, and the effort in its front matter is applied to the session."""
    prompt, warnings = read_with_warnings(path)
    for warning in warnings:
        session.emit(Notice(warning, "warning"))
    session.resolved = with_effort(session.resolved, prompt.meta.get("effort"), path=path)
    return prompt


def read_for_update(session: Session, files: Files, *, changed: bool = False) -> tuple[Prompt, Spec, Suite]:
    """The prompt, its spec and its suite; where there is none yet, that of the prompt file's own tests.

    Cases that do not fit the prompt are read all the same: what the prompt has lost or gained is for the plan to see.

    Args:
        changed: whether the prompt may have lost variables that conditions of the spec name.
    """
    prompt = read_prompt(session, files.prompt)
    spec = read_spec(files.spec) if changed else read_for_prompt(files.spec, prompt)
    if files.suite.exists():
        return prompt, spec, read_suite(files.suite, spec, lost="warning")
    return prompt, spec, first_suite(prompt, files.prompt.name)


def read_existing(prompt: Prompt, files: Files) -> tuple[Spec | None, Suite | None]:
    spec = read_for_prompt(files.spec, prompt) if files.spec.exists() else None
    return spec, read_suite(files.suite, spec, prompt) if spec and files.suite.exists() else None
