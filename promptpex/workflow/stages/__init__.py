"""The registry of stages: everything about a stage but its function, in one record.

Instructions, estimates, progress, the response store's ``--stage`` and ARCHITECTURE.md's table are made from these
records. Each module of this package has the stages of one part of the work, in the order in which they ask. Adding a
stage takes its function, its template under ``prompts/``, and one record here; a command with stages of its own has
them in a module of its own.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from promptpex.core.translation import shown
from promptpex.workflow.stages.stage import Stage

_ORDER = ("extract", "generate", "baseline", "run")
"""Parts in the order in which a prompt goes through them; others come after them."""

_registered: dict[str, Stage] = {}


def register(stage: Stage) -> Stage:
    """Adds a stage of another program, after those that are there; one of the same name is replaced."""
    _registered[stage.name] = stage
    return stage


def unregister(name: str) -> None:
    """Removes a stage that ``register`` added."""
    del _registered[name]


def stages(part: str | None = None) -> tuple[Stage, ...]:
    """All stages, or those of one part, in the order in which they ask."""
    every = sorted({module.name for module in iter_modules(__path__)} - {"stage"}, key=_place)
    own = {stage.name: stage for name in ([part] if part else every) for stage in _built_in(name)}
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
    """The names of all stages."""
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
    own: tuple[Stage, ...] = import_module(f"{__name__}.{part}").STAGES
    return own


def _place(part: str) -> tuple[int, str]:
    return _ORDER.index(part) if part in _ORDER else len(_ORDER), part
