"""What a foreign format is: a module with one record, ``FORMAT``. ``import`` and ``export`` know these records alone.

To add a format is to add its file to this package: ``formats`` finds it.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Literal, Protocol

from promptpex.core.records import Message, Output, Problem, Prompt, Run, Spec, Suite
from promptpex.interchange.notes import Note
from promptpex.interchange.reading.exchanges import Recorded

RECORD = "FORMAT"
"""The name of a format's record in its module."""
RECORDS = "FORMATS"
"""The name of the tuple of records where a module has several."""


@dataclass(frozen=True, slots=True)
class Option:
    """Something that a format can be told, on the command line by a flag of this name.

    Attributes:
        name: a Python name; the flag is ``--name``, with ``-`` for ``_``.
        help: one line, without the format's name.
        kind: of the value; ``bool`` makes a flag without a value.
        default: where the flag is not given.
        minimum: the smallest number.
        short: a short flag, such as ``-m``.
        metavar: what stands for the value in the help.
    """

    name: str
    help: str
    kind: type[str] | type[int] | type[bool] = str
    default: str | int | bool | None = None
    minimum: int | None = None
    short: str | None = None
    metavar: str | None = None


@dataclass(frozen=True, slots=True)
class ImportedPrompt:
    """A prompt's name and its messages, which become a prompt file.

    Attributes:
        description: for the front matter.
        front: further front matter.
    """

    name: str
    messages: tuple[Message, ...]
    description: str = ""
    stem: str = "prompt"
    front: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ImportedMetric:
    """A metric of PromptPex's, which is a file beside the prompt."""

    name: str
    text: str
    place: tuple[str, str, int | None]


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import gives: any of these parts.

    Attributes:
        prompt, spec, suite: of a project; a suite may come alone.
        further: further prompts, each with a spec and a suite, which come into the same folder.
        settings: of the project, as a settings file has them.
        runs: runs that another tool made.
        problems: what is odd about the file.
        over, notes: what came over, and what did not as it was.
        outputs: what models answered to the cases, as a run to judge again.
        places: by the id of a rule the name, file and line of what it comes from.
        recorded: the requests that all of it is made of, where the file records requests: with the prompt that they
            come from, inputs can be told from them.
        metrics: of the prompt, by which the outputs are to be scored.
    """

    prompt: ImportedPrompt | None = None
    spec: Spec | None = None
    suite: Suite | None = None
    further: tuple[Imported, ...] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
    runs: tuple[Run, ...] = ()
    problems: tuple[Problem, ...] = ()
    over: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    outputs: tuple[Output, ...] = ()
    places: Mapping[str, tuple[str, str, int | None]] = field(default_factory=dict)
    recorded: Recorded | None = None
    metrics: tuple[ImportedMetric, ...] = ()

    @property
    def is_suite(self) -> bool:
        beside = (self.prompt, self.spec, self.further, self.settings, self.runs, self.metrics)
        return self.suite is not None and not any(beside)


@dataclass(frozen=True, slots=True)
class Project:
    """A prompt with its spec, its suite, and the models that it is asked of.

    Attributes:
        concerned: of rules with ``when``, the ids of the cases for which it holds.
        rendered: what a model is sent for these inputs; nothing where the prompt cannot be rendered with them.
    """

    prompt: Prompt
    spec: Spec
    suite: Suite
    models: tuple[str, ...] = ()
    concerned: Mapping[str, frozenset[str]] = field(default_factory=dict)
    rendered: Callable[[Mapping[str, object]], tuple[Message, ...]] = field(default=lambda inputs: (), compare=False)


class Source(Protocol):
    """What is exported: a run, or a case file with what lies beside it. A format takes the part that it writes."""

    def suite(self) -> Suite:
        """The cases."""

    def project(self) -> Project:
        """The cases with their prompt and spec; of a run also its models."""

    def run(self) -> Run:
        """The run."""


@dataclass(frozen=True, slots=True)
class Exported:
    """The other tool's file, and a sentence for everything that it leaves out.

    Attributes:
        text: of a text file.
        data: the bytes of a binary file; None for text.
        files: of a folder, the content of each file by its path in it; None: it is one file.
    """

    text: str = ""
    left_out: tuple[str, ...] = ()
    data: bytes | None = None
    files: Mapping[str, bytes] | None = None


Content = Literal["suite", "project", "run"]


@dataclass(frozen=True, slots=True)
class Format:
    """A format of another tool.

    Attributes:
        name: as ``import`` and ``export`` call it.
        summary: one line for their help.
        import_note, export_note: what the line goes on to say of reading, and of writing.
        extensions: what names of its files end in, in lower case; empty for a folder, or for any name.
        reads, writes: what is in it; None where it is not read, or not written.
        read: the file, or folder, with the ``read_options`` as keywords.
        write: our records, with the ``write_options`` as keywords.
        recognise: whether a file, or folder, is in this format, by its name and its beginning; it reads no more than
            that and raises nothing. None: it has to be named.
        otherwise: whether it takes files with its extensions that no format recognises.
        members: names of files that mean nothing alone: who names one means the folder, where that is recognised.
        lost: what of it does not come over, for the page of the formats.
    """

    name: str
    summary: str
    import_note: str = ""
    export_note: str = ""
    extensions: tuple[str, ...] = ()
    reads: Content | None = None
    writes: Content | None = None
    read: Callable[..., Imported] | None = None
    write: Callable[..., Exported] | None = None
    read_options: tuple[Option, ...] = field(default=())
    write_options: tuple[Option, ...] = field(default=())
    recognise: Callable[[Path], bool] | None = None
    otherwise: bool = False
    members: frozenset[str] = frozenset()
    lost: str = ""

    def described(self, direction: Literal["read", "write"] | None = None) -> str:
        """What it is; of one direction what is said of that, else what is said of both."""
        notes = {"read": self.import_note, "write": self.export_note}
        chosen = notes.values() if direction is None else (notes[direction],)
        return "; ".join(filter(None, (self.summary, *chosen)))


def formats(*packages: ModuleType) -> Mapping[str, Format]:
    """The formats of all modules of these packages, by name.

    Raises:
        ValueError: two have the same name.
    """
    by_name: dict[str, Format] = {}
    for package in packages:
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            loaded = importlib.import_module(module.name)
            record = getattr(loaded, RECORD, None)
            for each in (record,) if isinstance(record, Format) else getattr(loaded, RECORDS, ()):
                if each.name in by_name:
                    raise ValueError(f"two formats are called {each.name!r}")
                by_name[each.name] = each
    return by_name
