"""Examples that the author of candidates and criteria is shown: outputs of this version of the prompt."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from promptpex.codecs.text.inputs_as_text import named_text
from promptpex.core.errors import InputError
from promptpex.core.events import Notice
from promptpex.core.records import Example, Prompt
from promptpex.core.time_allowance import Allowance
from promptpex.core.translation import stored
from promptpex.promptfile import RENDERING_SECONDS, messages_text, render
from promptpex.report import runs
from promptpex.synthesis.examples import examples_of, of_version
from promptpex.synthesis.folder import SynthesisFolder
from promptpex.synthesis.proposing.propose_candidates import Shown
from promptpex.workflow.project_files import Files, read_existing
from promptpex.workflow.session import Session


def shown_to_author(session: Session, files: Files, prompt: Prompt, folder: SynthesisFolder) -> Shown:
    """The example that the author of candidates sees: an output of this version, else a case filled in."""
    labelled = [one for one in labelled_first(folder, prompt) if one.prompt]
    for example in (*labelled, *of_latest_run(session, prompt)):
        return Shown(example.prompt, named_text(example.inputs), example.output)
    try:
        _, suite = read_existing(prompt, files)
        case = next(iter(suite.usable()), None) if suite is not None else None
        if case is not None:
            sent = render(prompt, case.inputs, Allowance(RENDERING_SECONDS))
            return Shown(messages_text(sent), named_text(case.inputs))
    except InputError as error:
        session.emit(Notice(stored("candidates are written without an example: {why}", why=error), "warning"))
    return Shown()


def labelled_first(folder: SynthesisFolder, prompt: Prompt) -> list[Example]:
    """The examples of the folder, good ones first; none where they cannot be read, which concerns the matrix."""
    try:
        examples = of_version(folder.read_examples(), prompt.fingerprint)
    except InputError:
        return []
    return sorted(examples, key=lambda example: example.label != "good")


def of_latest_run(session: Session, prompt: Prompt) -> Sequence[Example]:
    """The examples of the prompt's latest run; none where there is no run, or none of this prompt as it is now."""
    folder = runs.latest_of(Path(session.settings.results), prompt.name)
    try:
        run = runs.read(folder, verdicts=False) if folder is not None else None
    except InputError:
        return ()
    return examples_of(run).examples if run is not None and run.prompt.fingerprint == prompt.fingerprint else ()
