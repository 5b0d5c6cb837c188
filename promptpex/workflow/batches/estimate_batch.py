"""What running several prompts would ask and cost; nothing is sent or written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from promptpex.core.errors import InputError
from promptpex.workflow.batches.run_batch import refuse, require_one_settings_file
from promptpex.workflow.batches.shared_notices import SharedNotices
from promptpex.workflow.estimate import EstimateLine
from promptpex.workflow.execution.subset import WHOLE, Subset
from promptpex.workflow.pipeline import estimate_files
from promptpex.workflow.project_files import files_of
from promptpex.workflow.session import Session


async def estimate_batch(
    session: Session, prompts: Sequence[Path], subset: Subset = WHOLE, *, start: Path
) -> dict[Path, list[EstimateLine]]:
    """Of each prompt what ``run`` would ask of whom; prompts without a chosen case are left out.

    Args:
        start: the folder from which the settings were looked for.

    Raises:
        InputError: all problems of all prompts, or no prompt has a chosen case.
    """
    require_one_settings_file(session.resolved, prompts, start)
    lines: dict[Path, list[EstimateLine]] = {}
    refused: dict[Path, InputError] = {}
    notices = SharedNotices(session.emit)
    with notices.together():
        for prompt in prompts:
            own = session.for_one_of(len(prompts), notices.of(str(prompt)))
            try:
                lines[prompt], _ = await estimate_files(own, files_of(prompt), subset)
            except InputError as error:
                refused[prompt] = error
    refuse(refused, len(prompts))
    return lines
