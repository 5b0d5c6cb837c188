"""The blessed figures of a run as a small file beside the prompt: written by ``bless``, held against by ``gate``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from promptpex.codecs import jsonl
from promptpex.codecs.files.atomic import write_text
from promptpex.codecs.files.ordinary_files import MEGABYTE, read_bytes
from promptpex.core.errors import InputError, RunError
from promptpex.core.ids import digest
from promptpex.core.records import Blessed, BlessedCase
from promptpex.report.comparison.comparable import text_marks
from promptpex.report.comparison.what_changed import rules_digest
from promptpex.report.run_tables import tables_of
from promptpex.tables import AnyRun, counts_of_cases

INPUTS_LENGTH = 16
"""Hex digits by which the inputs of a case are known again."""
LONGEST = 50 * MEGABYTE


def bless(run: AnyRun, folder: Path) -> Blessed:
    """The figures of a run.

    Raises:
        RunError: the run has not ended, or nothing in it was scored.
    """
    manifest = run.manifest
    if not manifest.has_ended:
        raise RunError("this run has not ended; the same `promptpex run` continues it", path=folder)
    made = tables_of(run)
    counts, marks = (
        counts_of_cases(made.cells, [case.id for case in run.suite.cases], manifest.models),
        text_marks(made),
    )
    asked_counts = {
        case: case_counts for case, case_counts in counts.items() if any(one.model_fields_set for one in case_counts)
    }
    if not any(one.broken or one.kept for made in asked_counts.values() for one in made):
        raise RunError("nothing was scored in this run, so no later run could be compared with it", path=folder)
    return Blessed(
        prompt=manifest.prompt,
        run=folder.name,
        name=manifest.name,
        created=manifest.created,
        prompt_fingerprint=manifest.prompt_fingerprint,
        spec_digest=manifest.spec_digest,
        suite_digest=manifest.suite_digest,
        rules_digest=rules_digest(run),
        judges=manifest.judges,
        promptpex=manifest.versions.get("promptpex", ""),
        models=manifest.models,
        failed_in=manifest.failed_in,
        cases=tuple(
            BlessedCase(
                id=case.id,
                inputs=inputs_digest(case.inputs),
                rule=case.rule,
                inverse=case.inverse,
                counts=asked_counts[case.id],
                texts=tuple(marks.get((model, case.id), "") for model in manifest.models),
            )
            for case in run.suite.cases
            if case.id in asked_counts
        ),
    )


def inputs_digest(inputs: Mapping[str, Any]) -> str:
    """By what the inputs of a case are known again."""
    return digest(dict(inputs), INPUTS_LENGTH)


def write(path: Path, blessed: Blessed) -> None:
    """Writes the figures, a case a line, so that a change of one case is a change of one line.

    Raises:
        InputError: the file cannot be written, or would be longer than ``read`` takes.
    """
    data = blessed.to_dict()
    cases = ",\n".join(f"  {jsonl.dumps(case)}" for case in data.pop("cases"))
    head = [f" {jsonl.dumps(name)}: {jsonl.dumps(value)}" for name, value in data.items()]
    text = "{\n" + ",\n".join([*head, f' "cases": [\n{cases}\n ]']) + "\n}\n"
    if len(text.encode("utf-8")) > LONGEST:
        why = f"the figures of {len(blessed.cases):,} cases are more than {LONGEST // MEGABYTE} MB, which no gate reads"
        raise InputError(f"{why}; bless a run of fewer, as with --first", path=path)
    try:
        write_text(path, text)
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror}); name another file with --out", path=path) from error


def read(path: Path) -> Blessed:
    """The figures that a file keeps.

    Raises:
        RunError: there is none, or it is damaged.
    """
    data = read_bytes(path, error=RunError, what="file of blessed figures", limit=LONGEST)
    try:
        return jsonl.parse_record(data, Blessed)
    except (ValueError, RecursionError) as error:
        why = str(error).split("\n")[0][:200]
        message = f"this is not a file that `promptpex bless` wrote ({why})"
        raise RunError(message, path=path) from error
