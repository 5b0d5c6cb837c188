from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from promptpex.cases.expand import Expanding, expand, growing
from promptpex.core.errors import Unavailable
from promptpex.core.events import Event, Notice
from promptpex.core.records import Case, Request, Spec, Suite, VariableSpec
from tests.samples import asked, prompt, role_model, spec

SHORT = Suite(
    prompt="prompt.md",
    cases=(
        Case(id="r1-1", rule="r1", inputs={"thing": "a rose", "place": "here"}, reasoning="why", scenario="night"),
        Case(id="r1-inverse-1", rule="r1", inverse=True, inputs={"thing": "a tulip", "place": "there"}),
        Case(id="mine", rule="r2", inputs={"thing": "a stone", "place": "afar"}, origin="added"),
        Case(id="base", inputs={"thing": "b", "place": "c"}, origin="added"),
        Case(id="aside", rule="r2", inputs={"thing": "d", "place": "e"}, invalid="no"),
    ),
)


def shown(request: Request) -> dict[str, str]:
    """What is shown of each case, by the name that the reply has to give."""
    return {
        name: text for name, _, text in re.findall(r"<(i\d+)-([0-9a-f]+)>\n(.*?)\n</\1-\2>", asked(request), re.DOTALL)
    }


def variants(request: Request, inputs: Callable[[str], dict[str, str]]) -> Any:
    """A whole reply; ``inputs`` is given what is shown of a case."""
    return {
        "variants": [
            {"input": name, "reasoning": " still ", "inputs": inputs(text)} for name, text in shown(request).items()
        ]
    }


def longer(request: Request) -> Any:
    def grown_up(text: str) -> dict[str, str]:
        thing = next(word for word in ("rose", "tulip", "stone") if word in text)
        grown = "very " * (2 if "very" not in text else 9)
        return {"thing": f"a {grown}old {thing}", "place": "near the old harbour wall"}

    return variants(request, grown_up)


async def grown(
    suite: Suite = SHORT,
    *,
    times: int = 1,
    of: Spec | None = None,
    reply: Any = longer,
    samples: tuple[str, ...] = (),
) -> Any:
    author, client = role_model(reply)
    return await expand(author, prompt(), of or spec(), suite, how=Expanding(times, samples)), client


async def test_each_case_with_a_rule_gets_a_longer_variant_behind_it() -> None:
    suite, client = await grown()
    assert [case.id for case in suite.cases] == [
        "r1-1", "r1-1-long", "r1-inverse-1", "r1-inverse-1-long", "mine", "mine-long", "base", "aside",
    ]  # fmt: skip
    assert [case for case in suite.cases if case.expanded_from is None] == list(SHORT.cases)
    variant = suite.cases[1]
    assert variant.inputs["thing"] == "a very very old rose"
    assert (variant.rule, variant.inverse, variant.scenario) == ("r1", False, "night")
    assert (variant.expanded_from, variant.origin, variant.reasoning) == ("r1-1", "generated", "still")
    assert len(client.requests) == 1
    first, second, third = shown(client.requests[0]).values()
    assert "The output has several words." in second
    assert "Why it is a good test: why" in first
    assert "failure" not in first + third


async def test_what_is_up_to_date_is_not_asked_for_again() -> None:
    suite, _ = await grown()
    again, client = await grown(suite)
    assert again == suite
    assert client.requests == []


async def test_an_edited_rule_or_case_renews_its_own_variant_alone() -> None:
    suite, _ = await grown()
    edited = spec().replace(rules=(spec().rules[0].replace(inverse="Two words."), spec().rules[1]))
    again, client = await grown(suite, of=edited)
    assert len(client.requests) == 1
    changed = [case.id for case, old in zip(again.cases, suite.cases, strict=True) if case != old]
    assert changed == ["r1-inverse-1-long"]


async def test_a_variant_goes_with_its_original_unless_it_is_a_persons() -> None:
    suite, _ = await grown()
    orphans = suite.replace(cases=tuple(case for case in suite.cases if case.id != "r1-1"))
    again, client = await grown(orphans)
    assert "r1-1-long" not in [case.id for case in again.cases]
    assert client.requests == []
    mine = orphans.replace(
        cases=tuple(case.replace(origin="edited") if case.id == "r1-1-long" else case for case in orphans.cases)
    )
    assert "r1-1-long" in [case.id for case in (await grown(mine))[0].cases]


async def test_times_two_grows_the_variants_and_zero_adds_none() -> None:
    suite, client = await grown(times=2)
    ids = [case.id for case in suite.cases if case.expanded_from == "r1-1-long"]
    assert ids == ["r1-1-long-long"]
    assert len(client.requests) == 2
    again, client = await grown(suite, times=2)
    assert (again, client.requests) == (suite, [])
    same, client = await grown(suite, times=0)
    assert (same, client.requests) == (suite, [])
    assert (await grown(SHORT, times=0))[0] == SHORT


async def test_a_variant_that_did_not_grow_is_left_out_with_a_notice() -> None:
    heard: list[Event] = []
    author, _ = role_model(lambda request: variants(request, lambda text: {"thing": "a", "place": "b"}))
    suite = await expand(author, prompt(), spec(), SHORT, emit=heard.append)
    assert suite == SHORT
    assert any(isinstance(event, Notice) and "3 of 3" in event.message for event in heard)
    failing, _ = role_model(lambda request: Unavailable("gone", model="m"))
    assert await expand(failing, prompt(), spec(), SHORT) == SHORT


async def test_fixed_values_stay_as_they_are() -> None:
    of = spec().replace(inputs={"place": VariableSpec(values=("here", "there", "afar"))})
    suite, client = await grown(
        of=of, reply=lambda request: variants(request, lambda text: {"thing": f"a much longer one {len(text)}"})
    )
    assert suite.cases[1].inputs["thing"].startswith("a much longer one")
    assert suite.cases[1].inputs["place"] == "here"
    assert "These parts stay as they are, and are not given back:\nplace:\nhere" in asked(client.requests[0])


def test_only_running_text_grows() -> None:
    values = {"a": "My parcel is late", "b": '{"id": 7}', "c": "2026-11-22", "d": "4711", "e": '"quoted"', "f": ""}
    case = Case(id="c", rule="r1", inputs=values)
    assert growing(case, prompt("x", tuple(values)), spec()) == ("a", "e")


@pytest.mark.parametrize(
    ("longer_text", "grows"),
    [
        ("Well, the order A-4711-X, paid on 2026-03-01, is, as I said to jo@example.org, late.", True),
        ("Well, the order A-4717-X, paid on 2026-03-01, is, as I said to jo@example.org, late.", False),
        ("Well, the order A-4711-X, paid in March 2026, is, as I said to jo@example.org, quite late.", False),
        ("Well, the order A-4711-X, paid on 2026-03-01, is, as I said to jo@example.com, late.", False),
    ],
)
async def test_a_variant_that_lost_an_id_is_none(longer_text: str, grows: bool) -> None:
    text = "Order A-4711-X of 2026-03-01 is late (jo@example.org)."
    suite = Suite(prompt="p", cases=(Case(id="c", rule="r1", inputs={"thing": text, "place": "x"}),))
    made, _ = await grown(
        suite, reply=lambda request: variants(request, lambda text: {"thing": longer_text, "place": "x"})
    )
    assert (len(made.cases) == 2) is grows


async def test_several_cases_grow_in_one_request_and_one_that_is_left_out_is_counted() -> None:
    cases = [
        Case(id=f"c{n}", rule="r1", inputs={"thing": f"a rose number {n} of many", "place": "x"}) for n in range(9)
    ]
    suite = Suite(prompt="p", cases=tuple(cases))

    def but_the_first(request: Request) -> Any:
        return {"variants": longer(request)["variants"][1:] or [{"input": "i7"}]}

    made, client = await grown(suite, reply=but_the_first)
    assert [len(shown(request)) for request in client.requests] == [4, 4, 1, 1]
    assert len(made.cases) == 9 + 6


async def test_cases_in_which_other_variables_grow_are_asked_for_apart() -> None:
    apart = Suite(
        prompt="p",
        cases=(SHORT.cases[0], SHORT.cases[1].replace(inputs={"thing": "a tulip", "place": '{"id": 1}'})),
    )

    def reply(request: Request) -> Any:
        def grown_up(text: str) -> dict[str, str]:
            longer_thing = {"thing": f"a longer thing of {len(text)}"}
            return longer_thing if "stay as they are" in text else {**longer_thing, "place": "over there"}

        return variants(request, grown_up)

    made, client = await grown(apart, reply=reply)
    assert len(client.requests) == 2
    assert made.case("r1-inverse-1-long").inputs["place"] == '{"id": 1}'
