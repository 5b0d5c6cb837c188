"""The page of two runs side by side: its numbers are those of the pairs that they lead to, and nothing in it runs."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

from promptpex.core.records import Message, Rule, Run
from promptpex.report.comparison.output_pairs import CHANGES
from promptpex.report.comparison.page import ComparisonPage, RunLink, comparison_html, comparison_page
from promptpex.report.page.script import script_policy
from promptpex.report.run_comparison import compare_runs
from promptpex.tables import records
from tests.report.test_html_page import EVIL, OURS, Reader
from tests.tables.by_hand import output, run, verdict
from tests.tables.many import cases, many

LINKS = (RunLink("old", "../old/report.html"), RunLink("new"))
RULES = ("r1", "r2", "r3")


def drawn(seed: int, *, repeats: int, unjudged: bool) -> Run:
    """Two models on 12 cases, with failures, errors, rules that do not concern an output, and answers without a
    verdict."""
    rng, outputs, verdicts = random.Random(seed), [], []
    for model in "ab":
        for at in range(12):
            for repeat in range(repeats):
                case = f"c{at}"
                if rng.random() < 0.1:
                    outputs.append(output(case, model, None, repeat=repeat, error="timed-out"))
                    gone = {"unscored": "timed-out", "source": "none", "repeat": repeat}
                    verdicts += [verdict("unscored", rule, case, model, **gone) for rule in RULES]
                    continue
                outputs.append(output(case, model, f"{seed} {model} {at}", repeat=repeat))
                for rule in RULES:
                    status = rng.choice(["pass", "pass", "pass", "fail", "not_concerned", "unscored"])
                    status = "pass" if status == "unscored" and not unjudged else status
                    more = {"unscored": "no-judge"} if status == "unscored" else {}
                    verdicts.append(verdict(status, rule, case, model, repeat=repeat, **more))
    rules = tuple(Rule(id=name, rule=name) for name in RULES)
    return run(outputs, verdicts, models=("a", "b"), rules=rules, cases=cases(12), settings={"repeats": repeats})


@pytest.mark.parametrize(("repeats", "unjudged"), [(1, False), (2, False), (1, True), (3, True)])
def test_every_number_is_that_of_the_pairs_it_leads_to(repeats: int, unjudged: bool) -> None:
    for seed in range(4):
        comparison = compare_runs(
            drawn(seed, repeats=repeats, unjudged=unjudged), drawn(seed + 100, repeats=repeats, unjudged=unjudged)
        )
        page = comparison_page(comparison)
        pairs = [pair for case in page.cases for pair in case.pairs]
        columns = {"new": "newly_failing", "fixed": "fixed", "still": "still_failing"}
        for row in records(comparison.models):
            own = [pair.change for pair in pairs if pair.model == row["model"]]
            assert {change: own.count(change) for change in columns} == {
                change: row[column] for change, column in columns.items()
            }
        rules = page.rule_ids
        for shown in page.rules:
            of_rule = shown.row
            own = [pair.letters[rules.index(of_rule["rule"])] for pair in pairs if pair.model == of_rule["model"]]
            assert {change: own.count(change[0]) for change in columns} == {
                change: of_rule[column] for change, column in columns.items()
            }
        assert page.compared.kept + len(pairs) <= 24
        assert not page.compared.left_out


def changed_page() -> tuple[ComparisonPage, Reader]:
    """Model ``a`` fails newly on 20 of 60 cases, ``b`` is better on 10, both of one rule."""
    before = many(60, {"a": lambda n: True, "b": lambda n: n >= 30})
    after = many(60, {"a": lambda n: n >= 20, "b": lambda n: n >= 20})
    prompt = after.prompt.replace(messages=(Message(role="user", content="Name the colour of {{thing}}, please."),))
    comparison = compare_runs(before, after.replace(prompt=prompt))
    return comparison_page(comparison), Reader(comparison_html(comparison, LINKS))


def test_the_answer_comes_first_and_then_what_failed() -> None:
    page, reader = changed_page()
    text = reader.text
    assert "a is clearly worse: 0% before, 33% after (20 newly failing, 0 fixed of 60 cases)" in text
    assert (
        "60 cases of both runs, 2 models: 20 newly failing, 10 fixed, 0 unscored in one run, 20 still failing" in text
    )
    assert "70 kept in both" in text
    assert text.index("is clearly worse") < text.index("Rule by rule") < text.index("What the runs were made from")
    assert [case.counts for case in page.cases][:1] == [{"new": 1, "still": 1}]
    assert [[pair.change for pair in case.pairs] for case in page.cases][-1] == ["fixed"]
    assert [(row.row["model"], row.row["decision"]) for row in page.rules] == [("a", "worse"), ("b", "better")]


def test_links_lead_to_what_is_there_also_without_a_script() -> None:
    _, reader = changed_page()
    ids = reader.having("id")
    assert len(ids) == len(set(ids))
    inside = [link.removeprefix("#") for link in reader.having("href") if link.startswith("#")]
    assert {"change=new", "model=a&change=new", "rule=r1&model=a&change=new"} <= set(inside)
    assert set(inside) <= set(ids)
    assert "../old/report.html" in reader.having("href")
    assert f"policy {script_policy()}" in [f"policy {one}" for one in reader.having("content")]


def test_the_same_text_with_another_verdict_is_marked() -> None:
    before = many(30, {"a": lambda n: True})
    after = many(30, {"a": lambda n: n > 2}).replace(outputs=before.outputs)
    page = comparison_page(compare_runs(before, after))
    assert [name for name, _ in page.only] == ["same"]
    assert [pair.marks for case in page.cases for pair in case.pairs] == [("same",)] * 3
    assert page.unbroken == ()


def test_rules_of_one_run_alone_are_named_and_not_compared() -> None:
    before, after = many(20, {"a": lambda n: True}), many(20, {"a": lambda n: n > 2})
    renamed = after.replace(verdicts=tuple(one.replace(rule="r2") for one in after.verdicts))
    text = Reader(comparison_html(compare_runs(before, renamed), LINKS)).text
    assert "3 newly failing" in text
    assert "In the first run alone, so not compared: r1. In the second run alone, so not compared: r2." in text


def hostile_pair(text: str) -> tuple[Run, Run]:
    """Two runs all of whose texts are this one; the output of the second breaks the rule."""
    case = cases(1)[0].replace(inputs={text or "x": text}, expected=text)
    made = []
    for status, mark in (("pass", ""), ("fail", " ")):
        one = verdict(status, text or "r", case.id, text or "m", reason=text, source=f"judge:{text}")
        spec = (Rule(id="r", rule=f"{text}{mark}" or "r", source=text, inverse=text),)
        facts: dict[str, Any] = {"judges": (text + mark,), "settings": {text or "s": text + mark}, "partial": text}
        whole = run(
            [output(case.id, text or "m", text)], [one], models=(text or "m",), rules=spec, cases=(case,), **facts
        )
        messages = (Message(role="user", content=f"{text}{mark}"),)
        made.append(whole.replace(prompt=whole.prompt.replace(messages=messages, name=text or "p")))
    return made[0], made[1]


@pytest.mark.parametrize("text", [EVIL, "</script><script>alert(1)</script>", "\x00\x1b[31m\u202e", "x" * 30_000, ""])
def test_no_text_becomes_part_of_the_page(text: str) -> None:
    comparison = compare_runs(*hostile_pair(text))
    links = (RunLink(text, "a.html"), RunLink(text))
    page = comparison_html(comparison, links, other_way="/compare?before=x")
    reader = Reader(page)
    assert not reader.open
    assert {tag for tag, _ in reader.tags} <= OURS | {"del", "ins"}
    assert not [name for _, attributes in reader.tags for name in attributes if name.startswith("on")]
    assert [tag for tag, _ in reader.tags].count("script") == 1
    assert re.search("[\x00-\x08\x0b-\x1f\u202e]", page) is None
    assert reader.comments == []


def test_what_the_page_has_no_room_for_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("promptpex.report.comparison.output_pairs.MOST_OUTPUTS", 20)
    before, after = many(60, {"a": lambda n: True}), many(60, {"a": lambda n: n >= 30})
    page = comparison_page(compare_runs(before, after))
    assert (len(page.cases), page.compared.left_out, page.total) == (10, 20, 30)
    assert list(CHANGES) == ["new", "fixed", "open", "still"]
