"""``inspect-ai``: datasets of Inspect as cases, and prompt, rules and cases as a task that ``inspect eval`` runs.

After Inspect 0.3's "Datasets" and "Scorers". The task asks its model what promptpex would, and promptpex's own checks
decide.
"""

from __future__ import annotations

from promptpex.interchange.format import Format
from promptpex.interchange.inspect_ai.datasets import read, recognise
from promptpex.interchange.inspect_ai.write import write

FORMAT = Format(
    name="inspect-ai",
    summary="Inspect (inspect_ai)",
    import_note="a dataset, as cases",
    export_note="a task in Python that inspect eval runs",
    extensions=(".csv", ".json", ".jsonl"),
    reads="project",
    writes="project",
    read=read,
    write=write,
    recognise=recognise,
    lost="tools, images, `metadata`, `files`, `setup` and `sandbox` of samples; out: scores of how near "
    "an output is",
)  # fmt: skip
