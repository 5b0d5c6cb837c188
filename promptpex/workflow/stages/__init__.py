"""The registry of stages: everything about a stage but its function, in one record.

Instructions, estimates, progress, the response store's ``--stage`` and ARCHITECTURE.md's table are made from these
records. Adding a stage takes its function, its template under ``prompts/``, and one record.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from importlib import import_module

from promptpex.core.translation import shown
from promptpex.workflow.stages.stage import Stage

PARTS = {"extract": "writing", "generate": "writing", "run": "run", "synthesize": "writing"}
"""The parts of the work in the order in which a prompt goes through them, each with the module that has its stages."""

_registered: dict[str, Stage] = {}


def register(stage: Stage) -> Stage:
    """Adds a stage of another program, after those that are there; one of the same name is replaced."""
    _registered[stage.name] = stage
    return stage


def unregister(name: str) -> None:
    """Removes a stage that ``register`` added."""
    del _registered[name]


def stages(part: str | None = None) -> tuple[Stage, ...]:
    own = {stage.name: stage for one in ([part] if part in PARTS else PARTS) for stage in _built_in(one)}
    known = {**own, **_registered}.values()
    return tuple(stage for stage in known if part in (None, stage.part))


def find(name: str) -> Stage:
    """The stage of this name; one of ``run`` is found without loading the parts that write.

    Raises:
        KeyError: there is none.
    """
    known = {stage.name: stage for stage in stages("run")}
    return known[name] if name in known else {stage.name: stage for stage in stages()}[name]


def names() -> tuple[str, ...]:
    return tuple(stage.name for stage in stages())


def instructed() -> tuple[str, ...]:
    """The names of the stages that take instructions: those that render a template."""
    return tuple(stage.name for stage in stages() if stage.templates)


def label(name: str) -> str:
    """What progress calls a stage; its name where it is not registered, as in logs of other programs."""
    with suppress(KeyError):
        return shown(find(name).label)
    return name


@cache
def _built_in(part: str) -> tuple[Stage, ...]:
    """Imported when they are first wanted: what counts the requests of a run needs the registry itself."""
    of_module: tuple[Stage, ...] = import_module(f"{__name__}.{PARTS[part]}").STAGES
    return tuple(stage for stage in of_module if stage.part == part)
