"""``openai-evals``: the files of OpenAI's open-source evals: samples as JSON lines, and the registry's YAML.

After the repository openai/evals: a sample has an ``input``, a chat or a text, and its right answers under ``ideal``;
an entry of the registry says of which class an eval is and where its samples lie.
"""

from __future__ import annotations

import re
from pathlib import Path

from promptpex.interchange.format import Format, Imported, Mapped, Option, head
from promptpex.interchange.notes import Log
from promptpex.interchange.openai_evals.classes import TEMPLATES, Grading
from promptpex.interchange.openai_evals.registry import read_registry
from promptpex.interchange.openai_evals.samples import project, read_samples
from promptpex.interchange.openai_evals.write import write
from promptpex.interchange.reading.foreign_rows import JSON_ENDINGS, first_row

_YAML = (".yaml", ".yml")
_ENTRY = re.compile(r"(?m)^[ \t]+class:[ \t]*[\"']?evals\.")


def recognise(path: Path) -> bool:
    """Whether it begins with a sample, or is YAML that names a class of evals."""
    if path.suffix.lower() in _YAML:
        return _ENTRY.search(head(path)) is not None
    row = first_row(path) if path.suffix.lower() in JSON_ENDINGS else {}
    return "ideal" in row and "input" in row


def read(path: Path, *, template: str | None) -> Imported:
    """The samples of a file as a prompt with cases, or all evals of a registry's file.

    Args:
        template: what the outputs of samples are held to, by the name of a template of evals.

    Raises:
        InputError: it is not such a file, or nothing in it can come over; with the line.
    """
    log = Log()
    if path.suffix.lower() in _YAML:
        return read_registry(path, log)
    exchanges, grading = read_samples(path, log), Grading.of(template)
    if grading is None:
        return project(exchanges, path, log)
    return project(exchanges, path, log, [grading.rule(str(template), exchanges)], grading.comparison)


FORMAT = Format(
    name="openai-evals",
    summary="openai/evals",
    import_note="samples as JSON lines (input, ideal), or the registry's YAML with its samples",
    export_note="samples, or with --registry NAME the registry's YAML",
    extensions=(*JSON_ENDINGS, *_YAML),
    reads="project",
    writes="project",
    read=read,
    write=write,
    read_options=(
        Option(
            "template", f"what outputs of samples are held to: {', '.join(TEMPLATES)} [nothing].", metavar="TEMPLATE"
        ),
    ),
    write_options=(
        Option("registry", "write the registry's YAML, with evals of this name, instead of samples.", metavar="NAME"),
    ),
    recognise=recognise,
    maps=(
        Mapped("`input`, a chat", "the prompt, where all samples say the same; else inputs, the last turn of the user "
               "always", "both", "images, tool calls; names of speakers"),
        Mapped("`input`, a text", "the input", "in"),
        Mapped("`ideal`", "the expected output; of several the others are `also_right`"),
        Mapped("other keys of a sample", "inputs that the prompt does not name, for checks"),
        Mapped("`Match`", "a rule: the output starts with a right answer"),
        Mapped("`Includes`, `ignore_case`", "a rule: it contains one"),
        Mapped("`FuzzyMatch`", "a rule: it contains one or is part of one, ignoring case, punctuation and articles",
               "both", "the F1 score"),
        Mapped("`JsonMatch`", "a rule: it is the same JSON, and accuracy by `json`"),
        Mapped("`JsonValidator`", "a rule `is-json`"),
        Mapped("`ModelBasedClassify`", "a rule with a question for the judge", "in",
               "specs without `choice_scores`, of several answers, or longer than a question may be"),
        Mapped("other classes, `num_few_shot`", "nothing", "in", "they are named"),
        Mapped("rules of other kinds, cases without an expected output", "nothing", "out", "they are named"),
    ),
)  # fmt: skip
