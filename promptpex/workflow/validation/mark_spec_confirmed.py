"""Writing into a spec that it is the spec of its prompt as the prompt is now: somebody has looked at both."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from promptpex.assertions import check_time
from promptpex.specs import file as spec_file
from promptpex.workflow.validation.validate import files_with_spec


def confirm_prompts(paths: Iterable[Path | str]) -> list[Path]:
    """Writes the fingerprint of its prompt into each spec of these files that has another one or none; nothing else.

    What cannot be read, or has no spec, is passed over: ``validate`` says what is wrong with it.

    Returns:
        The specs that were written.

    Raises:
        SpecError: a spec that cannot be edited in place.
    """
    written: list[Path] = []
    with check_time():
        for prompt, path in files_with_spec(paths):
            spec = spec_file.examine(path).usable
            if spec is not None and spec.prompt_fingerprint != prompt.fingerprint:
                spec_file.write_spec(path, spec.replace(prompt_fingerprint=prompt.fingerprint))
                written.append(path)
    return written
