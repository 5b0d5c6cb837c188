"""Where the prompts under test of the published recordings are, and reading them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from promptpex import promptfile
from promptpex.core.errors import PromptFileError
from promptpex.core.ids import text_digest
from promptpex.core.records import INPUT_VARIABLE, Problem, Prompt

UP = 4
"""How many folders above the recordings are looked through."""


@dataclass(frozen=True, slots=True)
class FoundPrompt:
    """The prompt, whether its text is known, and problems with it."""

    prompt: Prompt
    known: bool
    problems: tuple[Problem, ...] = ()


def find(benchmark: Path, promptid: str) -> FoundPrompt:
    """The prompt of a benchmark: ``prompts/<name>.json`` or ``samples/*/<name>.prompty`` in a folder above.

    Without one, or with one that does not take exactly one input, a prompt without text takes its place: the recordings
    can be counted, but not asked again.

    Args:
        benchmark: the benchmark's folder.
        promptid: the prompt's hash in the recordings.
    """
    name = benchmark.name
    for path in _places(benchmark):
        try:
            prompt = promptfile.read(path).replace(name=name)
        except PromptFileError as failure:
            message = f"the prompt cannot be read ({failure.message}); its recordings are only counted"
            return FoundPrompt(_stand_in(name), False, (Problem.warning(path, failure.line, message),))
        if len(prompt.variables) != 1:
            message = (
                f"the prompt takes {len(prompt.variables)} inputs and the recordings hold one; they are only counted"
            )
            return FoundPrompt(_stand_in(name), False, (Problem.warning(path, None, message),))
        return FoundPrompt(prompt, True, tuple(_doubts(prompt, path, promptid)))
    message = f"no prompt {name} is in a folder above (prompts/, samples/*/); its recordings are only counted"
    return FoundPrompt(_stand_in(name), False, (Problem.warning(benchmark, None, message),))


def _places(benchmark: Path) -> Iterator[Path]:
    name = benchmark.name
    for folder in list(benchmark.resolve().parents)[:UP]:
        for path in (folder / "prompts" / f"{name}.json", *sorted(folder.glob(f"samples/*/{name}.prompty"))):
            if path.is_file():
                yield path


def _doubts(prompt: Prompt, path: Path, promptid: str) -> Iterator[Problem]:
    own = prompt.unknown.get("promptid")
    if own is None:
        message = (
            f"the file does not say whether it is the text that was recorded ({promptid}); it may have changed since"
        )
        yield Problem.info(path, None, message)
    elif own != promptid:
        yield Problem.warning(path, None, f"this is the prompt {own}, and the recordings are of {promptid}")


def _stand_in(name: str) -> Prompt:
    return Prompt(
        name=name, messages=(), variables=(INPUT_VARIABLE,), implicit_input=True, fingerprint=text_digest(name)
    )
