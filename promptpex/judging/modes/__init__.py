"""The judge modes by name: a module of this package each, with a class ``Mode`` and a template ``judging/NAME``.

Listing the names imports no mode, so that ``--help`` stays fast.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptpex.core.records import Rule
    from promptpex.judging.judge_mode import JudgeMode

DEFAULT = "rules"

_registered: dict[str, JudgeMode] = {}


def register(mode: JudgeMode) -> None:
    _registered[mode.name] = mode


def unregister(name: str) -> None:
    _registered.pop(name, None)


def names() -> tuple[str, ...]:
    """What ``judge_mode`` may say; the default first."""
    return (DEFAULT, *sorted({*_built_in_names(), *_registered} - {DEFAULT}))


def mode(name: str) -> JudgeMode:
    """The mode of this name.

    Raises:
        KeyError: there is none.
    """
    if name not in _registered and name not in _built_in_names():
        raise KeyError(name)
    return _registered[name] if name in _registered else _built_in(name)


def own_rules() -> dict[str, Rule]:
    """The rules that modes add to those of a spec, by id; no rule of a spec may have such an id."""
    return {rule.id: rule for name in names() for rule in mode(name).own_rules}


@cache
def _built_in_names() -> frozenset[str]:
    return frozenset(module.name for module in iter_modules(__path__))


@cache
def _built_in(name: str) -> JudgeMode:
    built: JudgeMode = import_module(f"{__name__}.{name}").Mode()
    return built
