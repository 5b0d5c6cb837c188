"""``inspect-ai``: datasets of Inspect as cases, and prompt, rules and cases as a task that ``inspect eval`` runs.

After Inspect 0.3's "Datasets" and "Scorers". The task asks its model what promptpex would, and promptpex's own checks
decide.
"""

from __future__ import annotations

from promptpex.interchange.format import Format, Mapped
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
    maps=(
        Mapped("`input`, a text", "the input `input`", "in"),
        Mapped("`input`, a chat", "the prompt, where all samples say the same; else inputs", "in", "tools, images"),
        Mapped("`target`", "the expected output; of a list the first, and the others are right as well", "both"),
        Mapped("`choices`", "the input `choices`", "in"),
        Mapped("`id`", "the id", "both", "characters that ids here may not have"),
        Mapped("`metadata`, `files`, `setup`, `sandbox` of a sample", "nothing", "in", "they are named"),
        Mapped("a solver with the chat", "the prompt, its variables filled", "out"),
        Mapped("a scorer, by `promptpex.RuleChecks`", "the rules' checks", "out", "scores of how near an output is"),
        Mapped("a scorer that asks a model, with `-T grader=MODEL`", "rules for the judge", "out",
               "promptpex's own words to the judge, questions of checks"),
        Mapped("`--model`, `LOCAL_BASE_URL`", "the models of a run: the file's head says how to name them", "out"),
    ),
)  # fmt: skip
