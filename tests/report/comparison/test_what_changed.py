"""What two runs were made from, where it differs."""

from __future__ import annotations

from promptpex.core.records import Case, Check, Message, Rule
from promptpex.report.comparison.what_changed import what_changed
from promptpex.report.comparison_in_words import change_notes
from promptpex.report.run_tables import tables_of
from tests.tables.by_hand import colours, run


def test_two_runs_of_the_same_differ_in_nothing() -> None:
    assert what_changed(colours(), colours()).nothing


def test_what_differs_is_named_part_by_part() -> None:
    rules = (Rule(id="r1", rule="One word."), Rule(id="r2", rule="A colour."))
    cases = (Case(id="c1", inputs={"thing": "sky"}), Case(id="c2", inputs={"thing": "sea"}, expected="blue"))
    before = run(rules=rules, cases=cases, settings={"repeats": 1, "seed": 3}, judges=("a",))
    checked = rules[0].replace(rule="One lower-case word.", checks=(Check(kind="contains", value="x"),))
    later = (Case(id="c2", inputs={"thing": "lake"}, expected="green"), Case(id="c3", inputs={"thing": "sun"}))
    after = run(rules=(checked, Rule(id="r3", rule="Short.")), cases=later, settings={"repeats": 2, "seed": 3})
    prompt = after.prompt.replace(messages=(Message(role="system", content="Name it."), *after.prompt.messages))
    changed = what_changed(before, after.replace(prompt=prompt))
    assert [message.what for message in changed.prompt] == ["system", "system"]
    assert [piece.kind for piece in changed.prompt[1].pieces] == ["new"]
    kinds = {rule.id: (rule.kind, [part.what for part in rule.parts]) for rule in changed.rules}
    assert kinds == {"r1": ("changed", ["rule", "checks"]), "r3": ("new", ["rule"]), "r2": ("gone", ["rule"])}
    assert [(str(words), ids) for words, ids, _ in changed.cases.named] == [
        ("new", ("c3",)),
        ("gone", ("c1",)),
        ("with other inputs", ("c2",)),
        ("with another expected output", ("c2",)),
    ]
    assert [(fact.name, fact.before, fact.after) for fact in changed.facts] == [
        ("judges", "a", "–"),
        ("repeats", "1", "2"),
    ]


def test_other_words_that_a_rule_rests_on_are_no_other_rule() -> None:
    rule = Rule(id="r1", rule="One word.", source="one word")
    before, after, other = (
        tables_of(run(rules=(one,), spec_digest=one.rule + (one.source or "")))
        for one in (rule, rule.replace(source="a single word"), rule.replace(rule="Two words."))
    )
    assert not [note for note in change_notes(before, after, common=1, rows=()) if "specs differ" in note]
    assert [note for note in change_notes(before, other, common=1, rows=()) if "specs differ" in note]


def test_of_many_rules_and_cases_the_first_are_shown() -> None:
    rules = tuple(Rule(id=f"r{number}", rule="x") for number in range(300))
    cases = tuple(Case(id=f"c{number}", inputs={"thing": "x"}) for number in range(300))
    changed = what_changed(run(rules=(), cases=cases[:1]), run(rules=rules, cases=cases))
    assert (len(changed.rules), changed.more_rules) == (200, 100)
    assert [(len(ids), more) for _, ids, more in changed.cases.named] == [(200, 99)]
