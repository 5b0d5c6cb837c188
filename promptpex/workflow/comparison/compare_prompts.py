"""Comparing two versions of a prompt file, with the spec and the cases that belong to them."""

from __future__ import annotations

from pathlib import Path

from promptpex.cases.file import read_suite
from promptpex.promptfile import read_with_warnings
from promptpex.specs.file import read_spec
from promptpex.specs.prompt_diff import PromptDiff, diff_prompts
from promptpex.workflow.project_files import files_of


def compare_files(
    old: Path, new: Path, *, spec: Path | None = None, old_spec: Path | None = None, suite: Path | None = None
) -> tuple[PromptDiff, tuple[str, ...]]:
    """How two versions of a prompt differ, with the rules and cases that each difference touches, and warnings.

    Spec and cases are those given, else those beside the new version, else those beside the old one; where the old
    version has a spec of its own, the two specs are compared.
    """
    (old_prompt, old_warnings), (new_prompt, new_warnings) = read_with_warnings(old), read_with_warnings(new)
    before, after = files_of(old, spec=old_spec), files_of(new, spec=spec, suite=suite)
    spec_file = spec or next((file for file in (after.spec, before.spec) if file.exists()), None)
    suite_file = suite or next((file for file in (after.suite, before.suite) if file.exists()), None)
    old_spec_file = old_spec or (before.spec if before.spec.exists() else None)
    if old_spec_file is not None and spec_file is not None and old_spec_file.resolve() == spec_file.resolve():
        old_spec_file = None
    diff = diff_prompts(
        old_prompt,
        new_prompt,
        spec=read_spec(spec_file) if spec_file else None,
        suite=read_suite(suite_file) if suite_file else None,
        old_spec=read_spec(old_spec_file) if old_spec_file else None,
    )
    return diff, tuple(dict.fromkeys((*old_warnings, *new_warnings)))
