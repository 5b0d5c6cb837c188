"""Front matter in the words of PromptPex and GitHub means what ours would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.core.errors import ConfigError
from promptpex.promptfile.front_matter import STAGES, in_our_words
from promptpex.promptfile.read import examine, parse
from promptpex.promptfile.render import required

WORDS = {
    "scenarios": [{"name": "angry", "instructions": "The customer is angry.", "parameters": {"tier": "gold"}}],
    "instructions": {"inputSpec": "Short.", "outputRules": "Form only.", "inverseOutputRules": "One.",
                     "testExpansion": "Longer.", "intent": "One sentence."},
    "testSamples": [{"joke": "a horse"}, "real.json"],
}  # fmt: skip


def test_scenarios_instructions_and_samples_get_our_names() -> None:
    done = in_our_words(WORDS, ("joke", "tier"))
    assert done.odd == []
    assert done.meta == {
        "scenarios": [{"name": "angry", "constraints": "The customer is angry.", "fixed": {"tier": "gold"}}],
        "instructions": {
            "inputs": "Short.",
            "rules": "Form only.",
            "inverse": "One.",
            "expand": "Longer.",
            "intent": "One sentence.",
        },
        "samples": [{"joke": "a horse"}, {"file": "real.json"}],
    }


def test_our_own_words_win_and_what_is_passed_over_is_said() -> None:
    done = in_our_words({"instructions": {"inputSpec": "theirs", "inputs": "ours"}}, ("joke",))
    assert done.meta["instructions"] == {"inputs": "ours"}
    assert done.odd == [("instructions", "'inputSpec' is not used; 'inputs' says the same")]


def test_scenarios_by_name_may_use_either_words() -> None:
    done = in_our_words({"scenarios": {"a": {"instructions": "x"}, "b": "y", "c": {"fixed": {"joke": 1}}}}, ("joke",))
    assert done.meta["scenarios"] == {"a": {"constraints": "x"}, "b": "y", "c": {"fixed": {"joke": 1}}}


def test_rows_are_cut_to_what_the_prompt_names(tmp_path: Path) -> None:
    file = tmp_path / "s.prompt.yml"
    file.write_text(
        "messages:\n- {role: user, content: 'Sum up {{input}}'}\n"
        "testData:\n- {input: A text., expected: T, tone: dry}\n- 3\n",
        encoding="utf-8",
    )
    prompt, problems = examine(file)
    assert prompt.meta["samples"] == [{"input": "A text."}]
    assert [(one.line, one.message) for one in problems] == [
        (3, "'testData': only mappings of variables are used"),
        (3, "'testData': the prompt does not name tone, and is not given it"),
    ]


@pytest.mark.parametrize(
    ("short", "declared"),
    [
        ("a default joke", {"default": "a default joke", "sample": "a default joke"}),
        ("string", {"type": "string"}),
        ("strng", {"type": "strng"}),
        ("3", {"type": "number", "default": 3, "sample": 3}),
        ("true", {"type": "boolean", "default": True, "sample": True}),
    ],
)
def test_a_short_declaration_is_a_type_or_else_a_default(short: str, declared: dict[str, object]) -> None:
    prompt = parse(f"---\ninputs:\n  joke: {short}\n---\nRate {{{{joke}}}}.\n")
    assert prompt.meta["inputs"] == {"joke": declared}
    has_default = "default" in declared
    assert required(prompt) == (() if has_default else ("joke",))
    assert prompt.meta.get("samples") == ([{"joke": declared["default"]}] if has_default else None)


def test_samples_join_those_that_are_there() -> None:
    text = "---\nsamples: real.csv\ntestSamples: [{joke: b}]\ninputs: {joke: {type: text, sample: c}}\n---\n{{joke}}\n"
    assert parse(text).meta["samples"] == [{"file": "real.csv"}, {"joke": "b"}, {"joke": "c"}]


def test_samples_of_another_shape_are_refused_by_their_reader() -> None:
    from promptpex.cases.samples_and_scenarios import read_samples

    prompt = parse("---\nsamples: 3\ntestSamples: [{joke: b}]\n---\n{{joke}}\n")
    with pytest.raises(ConfigError, match="'samples' must be a list"):
        read_samples(prompt.meta["samples"], variables=prompt.variables)


YAML = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "instructions", "parameters", "joke", *STAGES, "x"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(
    st.dictionaries(
        st.sampled_from(["scenarios", "instructions", "testSamples", "testData", "samples", "inputs"]), YAML, max_size=5
    )
)
def test_any_front_matter_is_translated_once_and_stays(meta: dict[str, Any]) -> None:
    once = in_our_words(meta, ("joke",))
    assert "testSamples" not in once.meta
    rest = {key: value for key, value in once.meta.items() if key not in ("testData", "inputs")}
    assert in_our_words(rest, ("joke",)).meta == rest
