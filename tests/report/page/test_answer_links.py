"""Names of models in an answer lead to their outputs, each once."""

from __future__ import annotations

from promptpex.report.page.addresses import in_answer


def linked(answer: str, *names: str) -> list[str]:
    parts = list(in_answer(answer, names))
    assert "".join(part for part, _ in parts) == answer
    return [model for _, model in parts if model]


def test_each_model_is_linked_where_it_is_named_first() -> None:
    answer = "gpt-4o-mini is clearly the best. gpt-4o is worse than gpt-4o-mini: 27%."
    assert linked(answer, "gpt-4o", "gpt-4o-mini") == ["gpt-4o-mini", "gpt-4o"]


def test_a_name_is_whole_words_and_no_single_letter() -> None:
    assert linked("A rule of smaller models, small (27%).", "small", "a", "A") == ["small"]
    assert linked("", "small") == []
    assert linked("small", *()) == []


def test_names_are_no_patterns() -> None:
    assert linked("m(.*)+ and <b>|x", "m(.*)+", "<b>|x", "missing") == ["m(.*)+", "<b>|x"]
    assert len(list(in_answer("x" * 50_000, ["x" * 20_000, "(a+)+$"]))) == 1
