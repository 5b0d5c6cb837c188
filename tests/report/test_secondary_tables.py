"""The tables beside the main one, in the terminal and on the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptpex.core.records import Case, Origin, Run
from promptpex.report import summarise, to_dict
from promptpex.report.files import write
from promptpex.report.html_page import html
from promptpex.report.secondary_tables import footnotes, sections
from promptpex.report.text_table import Section
from tests.report.printed import printed
from tests.tables.by_hand import colours, output, run, verdict
from tests.tables.many import many


def full() -> Run:
    """One run with something to say in every section."""
    cases = tuple(
        Case(id=f"c{n}", rule="r1", inverse=n % 2 == 0, inputs={"thing": f"t{n}"}, scenario="night" if n < 4 else None)
        for n in range(1, 7)
    )
    keys = [(model, f"c{n}", repeat) for model in "ab" for n in range(1, 7) for repeat in (0, 1)]
    outputs = [output(case, model, repeat=repeat) for model, case, repeat in keys]
    verdicts = []
    for model, case, repeat in keys:
        status = "fail" if case == "c1" or (case == "c2" and repeat) else "pass"
        verdicts.append(verdict(status, "r1", case, model, repeat=repeat, reason="two words"))
        verdicts.append(verdict("pass", "r1", case, model, repeat=repeat, source="judge:j", counts=False))
        outcome = "fail" if case == "c3" else "pass"
        verdicts.append(verdict(outcome, "r2", case, model, repeat=repeat, source="judge:j"))
    return run(outputs, verdicts, models=("a", "b"), cases=cases)


IDS = [
    "case-types",
    "scenarios",
    "repeats",
    "flaky",
    "inconsistent-verdicts",
    "agreement",
    "disagreements",
    "discrimination",
]


def test_every_section_is_there_where_it_has_something_to_say() -> None:
    made = sections(summarise(full()))
    assert [section.id for section in made] == IDS
    for section in made:
        assert {len(row) for row in section.rows} == {len(section.header)}
    cells = {section.id: section.rows for section in made}
    assert cells["repeats"][0][2] == "1 of 6 cases"
    assert cells["flaky"] == (("a", "c2", "1", "1"), ("b", "c2", "1", "1"))
    assert cells["agreement"][0][:3] == ("code and judge:j", "all", "18 / 6 / 0 / 0")
    assert cells["agreement"][0][4:] == ("–", "25%, 0%"), (
        "the judge never fails anything: kappa is 0 whatever code says"
    )
    assert cells["disagreements"][0][:5] == ("r1", "fail", "pass (judge:j)", "a", "c1")
    assert ("cases that every model fails", "2 of 6", "c1, c3") in cells["discrimination"]


def test_a_small_plain_run_has_few_sections() -> None:
    made = sections(summarise(many(30, {"a": lambda n: n > 3}, rules=2)))
    assert [section.id for section in made] == ["case-types", "discrimination"]


def test_they_are_in_the_terminal_and_on_the_page() -> None:
    summary = summarise(full())
    text, page = printed(summary, width=100), html(summary)
    for section in sections(summary):
        assert section.title in text
        assert f'<h2 id="{section.id}">{section.title}</h2>' in page
    assert "Failures by rule" in text


def test_the_terminal_shows_the_first_rows_and_says_where_the_rest_is() -> None:
    made = full()
    assert "in disagreements.csv" not in printed(summarise(made), width=100)
    many_more = [one.replace(case=f"{one.case}", repeat=one.repeat + 2 * k) for k in range(3) for one in made.verdicts]
    outputs = [one.replace(repeat=one.repeat + 2 * k) for k in range(3) for one in made.outputs]
    whole = made.replace(outputs=tuple(outputs), verdicts=tuple(many_more))
    assert "more (see disagreements.csv)." in printed(summarise(whole), width=100)


def test_agreement_is_written_where_there_is_any_and_taken_away_where_there_is_none(tmp_path: Path) -> None:
    write(summarise(full()), tmp_path)
    assert (tmp_path / "agreement.csv").read_text(encoding="utf-8").startswith("kind,first,second,rule,n,")
    assert (tmp_path / "disagreements.csv").read_text(encoding="utf-8").count("\n") == 7
    write(summarise(many(5, {"a": lambda n: True})), tmp_path)
    assert not (tmp_path / "agreement.csv").exists()
    assert not (tmp_path / "disagreements.csv").exists()


def test_footnotes_say_how_the_figures_were_made() -> None:
    text = " ".join(footnotes(summarise(full())))
    assert "at the number of cases that the repeats are worth" in text
    assert "fewer than 20 scored cases" in text
    assert "exact sign flips" in text
    alone = " ".join(footnotes(summarise(many(30, {"a": lambda n: n > 3}))))
    assert "intervals are exact" in alone
    assert "sign flips" not in alone
    assert "fewer than" not in alone
    assert "at least:" not in alone
    assert "90% intervals" in " ".join(footnotes(summarise(full(), confidence=0.9)))


def written_by(origin: Origin) -> Run:
    made = colours()
    return made.replace(suite=made.suite.replace(cases=tuple(one.replace(origin=origin) for one in made.suite.cases)))


def test_a_footnote_says_what_the_shares_are_of() -> None:
    made = written_by("generated")
    text = " ".join(footnotes(summarise(made)))
    assert "cases that this author would write for these rules, weighted as in this suite; 50% of them tempt" in text
    assert "not the rate in production" in text
    weighed = " ".join(footnotes(summarise(made, weights={"inverse": 0})))
    assert "weighted by inverse 0; 0% of them tempt" in weighed
    own = " ".join(footnotes(summarise(written_by("added"))))
    assert "of cases like those of this suite, weighted as in it; 50% of them tempt" in own


def test_missing_verdicts_are_marked_and_explained() -> None:
    made = many(60, {"a": lambda n: True, "b": lambda n: None if n < 5 else n % 4 > 0}, rules=4)
    text = " ".join(footnotes(summarise(made)))
    assert "at least: some usable outputs have no verdict" in text
    shown = printed(summarise(made), width=120)
    assert "≥22%" in shown


def test_machines_get_all_of_it() -> None:
    data = to_dict(summarise(full()))
    assert len(data["disagreements"]) == 6
    assert data["agreements"][0]["both_pass"] == 18
    assert data["discrimination"]["failed_by_all"] == ("c1", "c3")
    assert {
        "answer",
        "by_case_type",
        "scenarios",
        "repeats",
        "flaky",
        "inconsistent_verdicts",
        "saved",
    } <= set(data)


@pytest.mark.parametrize(
    ("cells", "is_figure"),
    [
        (("3 of 60", "–"), True),
        (("27% (17–41%)", "≥2.3% (0.1–12%)"), True),
        (("$0.0100", "-0.3", "+12 (-3 to +27)"), True),
        (("–", "–"), False),
        (("2 words were wanted, and many more came", "1"), False),
        (("undecided", "3"), False),
    ],
)
def test_columns_of_figures_are_known(cells: tuple[str, ...], is_figure: bool) -> None:
    section = Section("s", "t", "", ("rule", "x"), tuple(("1", cell) for cell in cells))
    assert section.figures == ({1} if is_figure else set())
