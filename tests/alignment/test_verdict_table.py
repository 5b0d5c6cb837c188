"""The table of a report card and its histograms."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from promptpex.alignment.graded_outputs import BINS, GradedItems, columns_of, distributions_of, edges_of, outputs_of
from promptpex.core.records import Example, Grade
from promptpex.grading.book import WHOLE, GradeBook, Subject
from promptpex.grading.next_item import Opinion


def item(name: str, **more: object) -> Example:
    return Example.model_validate({"id": name * 32, "output": f"text {name}", "case": name, "model": "m", **more})


def graded(items: list[Example], *grades: Grade) -> GradedItems:
    return GradedItems(tuple(items), GradeBook.of(grades, (WHOLE, Subject("r1", "It is calm.", "output"))))


@given(
    st.lists(st.floats(-1e6, 1e6, allow_nan=False) | st.integers(-1000, 100_000).map(float), min_size=1, max_size=40)
)
def test_bins_are_few_round_and_hold_every_value_once(values: list[float]) -> None:
    items = [item(f"{number:x}".zfill(1)[-1], id=f"{number:032x}") for number in range(len(values))]
    (made,) = distributions_of(
        graded(items), {"length": {one.id: value for one, value in zip(items, values, strict=True)}}
    )
    assert sum(made.unlabelled) == len(values)
    assert len(made.edges) == len(made.unlabelled) + 1 <= BINS + 2
    slack = 1e-9 * max(1.0, *map(abs, values))
    assert made.edges[0] <= min(values) + slack
    assert made.edges[-1] >= max(values) - slack
    for value in values:
        place = max(number for number, edge in enumerate(made.edges[:-1]) if edge <= value + slack)
        assert any(made.unlabelled[near] for near in (place - 1, place) if near >= 0)


def test_edges_are_the_roundest_that_are_few_enough() -> None:
    assert edges_of(3, 3) == (3, 4)
    assert edges_of(0, 10) == tuple(float(number) for number in range(11))
    assert edges_of(0.0, 0.9)[:3] == (0.0, 0.1, 0.2)
    assert edges_of(12, 345) == tuple(float(50 * number) for number in range(8))


def test_chosen_candidates_come_first_and_each_output_has_a_sign_for_each_assertion() -> None:
    items = [item("a", label="good"), item("b", label="bad"), item("c")]
    opinions = {
        items[0].id: (
            Opinion("r1 check:regex", "r1", "check", status="pass"),
            Opinion("r1 judge:gpt", "r1", "judge", "gpt", "fail"),
            Opinion("calm", "r1", "candidate", status="pass"),
            Opinion("loud", "r1", "candidate", status="none"),
        ),
        items[1].id: (Opinion("calm", "r1", "candidate", status="fail"),),
        items[2].id: (),
    }
    columns = columns_of(opinions, {"calm"})
    assert [(one.id, one.by, one.chosen) for one in columns] == [
        ("calm", "candidate", True),
        ("r1 check:regex", "check", False),
        ("r1 judge:gpt", "judge:gpt", False),
        ("loud", "candidate", False),
    ]
    made = outputs_of(graded(items), opinions, columns, {"words": {items[0].id: 2.0}})
    assert [(one.name, one.label, one.cells, one.measures) for one in made] == [
        ("a/m/0", "good", "ppfe", {"words": 2.0}),
        ("b/m/0", "bad", "f---", {}),
        ("c/m/0", "", "----", {}),
    ]


def test_a_rule_about_the_output_alone_is_graded_once_for_each_text() -> None:
    items = [item("a"), item("b", output="text a"), item("c")]
    made = graded(items)
    assert [one.case for one in made.of("r1")] == ["a", "c"]
    assert [one.case for one in made.of("output")] == ["a", "b", "c"]
