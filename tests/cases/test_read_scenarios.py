from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.cases.plan import Scenario
from promptpex.cases.samples_and_scenarios import read_scenarios
from promptpex.config import ScenarioSetting
from promptpex.core.errors import ConfigError

NAMES = ("thing", "place")


def read(value: Any) -> tuple[Scenario, ...]:
    return read_scenarios(value, variables=NAMES, path="prompt.md")


def test_a_mapping_a_list_and_settings_give_the_same() -> None:
    expected = (Scenario("night", ("It is dark.",), {"place": "moon"}), Scenario("đêm", ("x", "y"), {}))
    mapping = {"night": {"constraints": "It is dark.", "fixed": {"place": "moon"}}, "đêm": ["x", " y ", ""]}
    items = [{"name": "night", "constraints": ["It is dark."], "fixed": {"place": "moon"}}]
    settings = ScenarioSetting(name="night", constraints=("It is dark.",), fixed={"place": "moon"})
    assert read(mapping) == expected
    assert read(items) == read([settings]) == read((settings,)) == expected[:1]
    assert read(None) == ()
    assert read({"plain": None}) == (Scenario("plain"),)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("night", "must be a mapping of names"),
        ([{"constraints": []}], "scenario 1 needs a 'name'"),
        ({"a": {"fixd": {}}}, "unknown key 'fixd'; did you mean 'fixed'?"),
        ({"a": {"fixed": {"plce": 1}}}, "no variable 'plce'; did you mean 'place'?"),
        ({"a": {"fixed": {"thing": 1, "place": 2}}}, "all variables are fixed"),
        ({"a": {"constraints": [1]}}, "must be a sentence or a list of sentences"),
        ({"a": {"fixed": ["place"]}}, "must give a value to each variable"),
        ({"a": None, "A ": None}, "two scenarios are called"),
        ({"": None}, "must be a text"),
        ({"a": 3}, "must have 'constraints' or 'fixed'"),
    ],
)
def test_mistakes_are_named(value: Any, reason: str) -> None:
    with pytest.raises(ConfigError, match=r"prompt\.md") as caught:
        read(value)
    assert reason in str(caught.value)


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "constraints", "fixed", "thing", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(ANY)
def test_anything_gives_scenarios_or_a_named_error(value: Any) -> None:
    try:
        scenarios, reason = read(value), ""
    except ConfigError as error:
        scenarios, reason = (), str(error)
    assert all(one.name for one in scenarios)
    assert not reason or reason.startswith("prompt.md: ")
