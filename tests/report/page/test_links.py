"""Where links of the page lead: to outputs by the address of a filter, to cases and rules by their ids."""

from __future__ import annotations

from urllib.parse import unquote

from hypothesis import given
from hypothesis import strategies as st

from promptpex.core.records import Output, Run, Verdict
from promptpex.report import summarise
from promptpex.report.html_page import html
from promptpex.report.page.addresses import FirstTargets, address
from promptpex.report.page.cases import DIFFER, DISAGREE, FLAKY, CaseGroup
from promptpex.report.view_model import Page, page
from promptpex.tables import records
from tests.report.test_html_page import EVIL, Reader
from tests.tables.by_hand import colours, output, run, verdict


def two_repeats() -> Run:
    """Model ``a`` keeps and breaks r1 in c1, ``b`` keeps it; two judges contradict each other about c2."""
    outputs = [output(case, model, repeat=n) for case in ("c1", "c2") for model in "ab" for n in (0, 1)]
    verdicts = [
        verdict("fail" if (one.case, one.model, one.repeat) == ("c1", "a", 1) else "pass", "r1", one.case, one.model,
                repeat=one.repeat)
        for one in outputs
    ]  # fmt: skip
    judges = [
        verdict(status, "r2", "c2", "b", source=f"judge:{n}", counts=False) for n, status in enumerate(("pass", "fail"))
    ]
    return run(outputs, [*verdicts, *judges], models=("a", "b"))


def shown(made: Run) -> Page:
    return page(summarise(made))


@given(st.text(max_size=30), st.text(max_size=30))
def test_an_address_has_no_sign_that_a_browser_would_write_otherwise(rule: str, model: str) -> None:
    made = address(rule, model, "fail")
    assert made.isascii()
    assert not set(made) & set(' "<>`#\\^{}|')
    names = [pair.partition("=") for pair in made.split("&")]
    assert [name for name, _, _ in names] == ["rule", "model", "verdict"]
    assert unquote(address("a b&c=d")) == "rule=a b&c=d"


def test_each_address_leads_to_the_first_output_that_it_shows() -> None:
    targets = FirstTargets()
    assert targets.of_verdict("r1", "a", "fail") == ("rule=r1&verdict=fail", "rule=r1&model=a&verdict=fail")
    assert targets.of_verdict("r1", "b", "fail") == ("rule=r1&model=b&verdict=fail", "")
    assert targets.of_verdict("r1", "a", "fail") == ("", "")
    assert targets.of_output("a", "fail") == ("verdict=fail", "model=a&verdict=fail")


def test_every_link_leads_to_something_on_the_page() -> None:
    for made in (
        colours(),
        two_repeats(),
        run([output(EVIL, EVIL)], [verdict("fail", EVIL, EVIL, EVIL)], models=(EVIL,)),
    ):
        page_ = Reader(html(summarise(made)))
        ids = page_.having("id")
        links = {link.removeprefix("#") for link in page_.having("href")}
        assert len(ids) == len(set(ids))
        assert links <= set(ids)
        assert any(link.startswith("rule=") for link in links)
        assert any(link.startswith("case-") for link in links)


def test_a_cell_of_the_heat_map_leads_to_as_many_outputs_as_it_counts() -> None:
    summary = summarise(colours())
    made = page(summary)
    answers = [answer for case in made.cases for answer in case.answers]
    for row in records(summary.rules):
        place = [rule.id for rule in made.rules].index(row["rule"])
        letters = [answer.letters[place] for answer in answers if answer.row["model"] == row["model"]]
        assert letters.count("f") == row["broken"]
        assert letters.count("f") + letters.count("p") == row["scored"]
        assert (address(row["rule"], row["model"], "fail") in made.addresses) == (row["broken"] > 0)


def test_the_cases_with_most_failures_come_first_and_know_their_place_in_the_suite() -> None:
    cases = shown(colours()).cases
    assert [(case.id, case.counts.get("fail", 0), case.place) for case in cases] == [
        ("c1", 2, 0),
        ("c2", 1, 1),
        ("c3", 1, 2),
        ("c4", 0, 3),
    ]
    late = run(
        [output(f"c{n}") for n in (1, 2, 3)], [verdict("fail" if n == 3 else "pass", case=f"c{n}") for n in (1, 2, 3)]
    )
    assert [(case.id, case.place) for case in shown(late).cases] == [("c3", 2), ("c1", 0), ("c2", 1)]


def test_what_contradicts_itself_is_marked_and_offered_as_a_filter() -> None:
    made = shown(two_repeats())
    cases: dict[str, CaseGroup] = {case.id: case for case in made.cases}
    marks = {
        case: [(one.row["model"], one.row["repeat"], one.marks) for one in group.answers]
        for case, group in cases.items()
    }
    assert marks["c1"] == [("a", 0, (FLAKY,)), ("a", 1, (FLAKY,)), ("b", 0, ()), ("b", 1, ())]
    assert marks["c2"] == [("a", 0, ()), ("a", 1, ()), ("b", 0, (DISAGREE,)), ("b", 1, ())]
    assert (cases["c1"].differ, cases["c2"].differ) == (True, False)
    assert [name for name, _ in made.only] == [DIFFER, DISAGREE, FLAKY]
    assert shown(run([output()], [verdict()])).only == ()


def test_a_model_that_fails_in_one_repeat_does_not_differ_from_others() -> None:
    made = run(
        [Output(case="c1", model="a", repeat=n, text="RED") for n in (0, 1)],
        [
            Verdict(case="c1", model="a", repeat=n, rule="r1", status=s, source="check:x")
            for n, s in enumerate(("pass", "fail"))
        ],
        models=("a",),
    )
    assert not shown(made).cases[0].differ
