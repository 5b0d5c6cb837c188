"""The settings as keyword arguments: complete, of the right types, and with errors in the library's own names."""

from __future__ import annotations

import os
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest

import promptpex
from promptpex import KeywordSettings
from promptpex.config import Settings, load
from promptpex.config.sources import SWITCHES
from promptpex.core.errors import ConfigError
from tests.samples import prompt, spec, suite

ROLES = {"models", "author", "judge"}
"""Settings that are arguments of the functions that ask them."""
NOT_SETTINGS = {"config", *SWITCHES}
"""What is about settings files themselves."""

HINTS = get_type_hints(KeywordSettings)
PERCENT: dict[Any, list[object]] = {str: ["5%"]}
PATH: dict[Any, list[object]] = {Path: [Path("a/b")]}
WIDER: dict[str, dict[Any, list[object]]] = {
    **dict.fromkeys(("tolerance", "confidence", "fail_above"), PERCENT),
    **dict.fromkeys(("results", "store", "record", "embedded_model"), PATH),
    "metrics": {str: ["a,b", "none"]},
    "weights": {str: ["rule=3,inverse=1"]},
}
"""What a setting takes besides values of its own type, with examples."""


def forms(annotation: Any) -> set[Any]:
    """The types of a setting, as an argument may have them: tuples as sequences, records as tables."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return forms(inner[0])
    if origin in (Union, types.UnionType):
        return set().union(*map(forms, inner))
    if (origin in (tuple, Sequence) and inner[-1] is Ellipsis) or origin is Sequence:
        return {("sequence", frozenset(forms(inner[0])))}
    if origin in (dict, Mapping):
        return {("mapping", frozenset(forms(inner[1])))}
    if origin is Literal:
        return {("one of", inner)}
    if isinstance(annotation, type) and hasattr(annotation, "model_fields"):
        return {("mapping", frozenset({object}))}
    return {annotation}


def test_every_setting_is_an_argument_and_nothing_else_is() -> None:
    assert set(HINTS) == set(Settings.model_fields) - ROLES | NOT_SETTINGS


@pytest.mark.parametrize("name", sorted(set(Settings.model_fields) - ROLES - {"prices"}))
def test_an_argument_has_the_types_of_its_setting(name: str) -> None:
    own = forms(get_type_hints(Settings, include_extras=True)[name])
    assert forms(HINTS[name]) == own | set(WIDER.get(name, {})), name


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, wider in WIDER.items() for some in wider.values() for value in some]
)
def test_what_else_a_setting_takes_is_taken(name: str, value: object) -> None:
    assert load({name: value, "no_config": True}, start=Path.cwd(), env={}).given(name)


def test_a_misspelt_setting_is_named_as_the_argument_that_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as caught:
        promptpex.run(prompt(), spec(), suite(), models="fake/m", repeat=3)  # type: ignore[call-arg]
    assert str(caught.value) == "the argument 'repeat': there is no such setting; did you mean 'repeats'?"
    with pytest.raises(ConfigError, match=r"the argument 'confidence': .* is not a share: write 95% or 0.95"):
        promptpex.compare("a", "b", confidence="much")
    assert os.listdir(tmp_path) == []


def test_types_speak_up_before_anything_runs() -> None:
    """mypy reads this: an error that it did not report would be one of an unused comment."""

    def never() -> None:
        promptpex.run(prompt(), spec(), suite(), models="m", seed="one")  # type: ignore[arg-type]
        promptpex.extract(prompt(), effort="enormous")  # type: ignore[arg-type]
        promptpex.generate(prompt(), spec(), sed=1)  # type: ignore[call-arg]
        promptpex.run(prompt(), spec(), suite(), models=["m"], seed=1, store=Path("s.db"), tolerance="5%")

    assert callable(never)
