"""Samples and scenarios as people write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.cases.plan import Scenario
from promptpex.cases.samples_and_scenarios import read_samples, read_scenarios
from promptpex.config import ScenarioSetting
from promptpex.core.errors import ConfigError

ONE = ("text",)
TWO = ("thing", "place")


def test_inline_samples_of_one_and_of_several_variables() -> None:
    assert sorted(read_samples(["a", {"text": "b"}, "a", " "], variables=ONE)) == ["a", "b"]
    assert read_samples([{"thing": "sun", "place": 3}], variables=TWO) == ("thing: sun\nplace: 3",)
    assert read_samples({"text": "b"}, variables=ONE) == ("b",)
    assert read_samples(None, variables=ONE) == ()


def test_they_are_shuffled_by_the_seed_and_limited() -> None:
    many = [str(n) for n in range(50)]
    first = read_samples(many, variables=ONE, seed=1, limit=5)
    assert len(first) == 5
    assert first == read_samples(many, variables=ONE, seed=1, limit=5)
    assert first != read_samples(many, variables=ONE, seed=2, limit=5)


def test_files_are_read_beside_the_prompt(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text('id,Thing,place\r\n1,"a, b",here\r\n2,,\r\n', encoding="utf-8")
    (tmp_path / "s.jsonl").write_text('{"thing": "é", "place": "x"}\n\n', encoding="utf-8")
    prompt = tmp_path / "prompt.md"
    assert read_samples("s.csv", variables=TWO, path=prompt) == ("thing: a, b\nplace: here",)
    assert read_samples([{"file": "s.jsonl"}], variables=TWO, path=prompt) == ("thing: é\nplace: x",)
    (tmp_path / "one.csv").write_text("anything\nx\n", encoding="utf-8")
    assert read_samples("one.csv", variables=ONE, path=prompt) == ("x",)


def test_a_file_of_cases_is_one_of_samples(tmp_path: Path) -> None:
    lines = (
        '{"prompt": "prompt.md"}\n{"id": "c1", "inputs": {"thing": "sun", "place": "x", "aside": 3}, "rule": null}\n'
    )
    (tmp_path / "c.jsonl").write_text(lines, encoding="utf-8")
    (tmp_path / "c.csv").write_text("prompt,id,inputs.thing,inputs.place,other\r\n,c1,sun,x,\r\n", encoding="utf-8")
    for name in ("c.jsonl", "c.csv"):
        assert read_samples(name, variables=TWO, path=tmp_path / "prompt.md") == ("thing: sun\nplace: x",)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (3, "prompt.md: 'samples' must be a list"),
        (["a"], "prompt.md: sample 1 must give values to thing, place"),
        ([{"thng": "a"}], "prompt.md: sample 1: the prompt has no variable 'thng'"),
        ([None], "prompt.md: sample 1 must be a text"),
        ("../secret.csv", "is outside the folder of the file that names it"),
        ("/etc/passwd.csv", "is outside the folder of the file that names it"),
        ("s.txt", "are read from .csv, .jsonl, .json and .yaml files"),
        ("gone.csv", "gone.csv"),
        ("short.csv", "short.csv:3: this row has 1 cells"),
        ("odd.csv", "odd.csv:1: no column is named"),
        ("bad.jsonl", "bad.jsonl:2:"),
        ("list.jsonl", "list.jsonl:1: this sample must be a text or a mapping"),
    ],
)
def test_mistakes_are_named_with_their_place(tmp_path: Path, value: Any, reason: str) -> None:
    files = {
        "short.csv": "thing,place\na,b\nc\n",
        "odd.csv": "x,y\n1,2\n",
        "bad.jsonl": '{"thing": "a", "place": "b"}\n{"thing\n',
        "list.jsonl": "[1]\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read_samples(value, variables=TWO, path=tmp_path / "prompt.md")
    assert reason in str(caught.value)


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    outside = tmp_path / "secret.csv"
    outside.write_text("text\nkey\n", encoding="utf-8")
    folder = tmp_path / "prompts"
    folder.mkdir()
    (folder / "s.csv").symlink_to(outside)
    with pytest.raises(ConfigError, match="outside"):
        read_samples("s.csv", variables=ONE, path=folder / "prompt.md")


@given(st.lists(st.text(max_size=20), max_size=30), st.integers(0, 3), st.integers(0, 8))
def test_what_comes_out_was_put_in(texts: list[str], seed: int, limit: int) -> None:
    samples = read_samples(texts, variables=ONE, seed=seed, limit=limit)
    assert len(set(samples)) == len(samples) <= limit
    assert set(samples) <= set(texts)
    assert len(samples) == min(limit, len({text for text in texts if text.strip()}))


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
