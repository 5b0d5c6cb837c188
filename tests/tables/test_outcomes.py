"""What the verdicts on an output come to has one definition: tables, progress, JUnit reports and tests say the same."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from promptpex.core.events import Event, OutcomeKnown
from promptpex.core.outcomes import OutputOutcome, decided_rules, not_asked, outcome_of
from promptpex.core.records import Check, OutputKey, Rule, Run, Spec, Verdict
from promptpex.interchange import junit
from promptpex.judging.verdict_precedence import Quorum, Weights, after_broken, closed_by_code, left_open
from promptpex.pytest_plugin.asking import Answers
from promptpex.tables import database_of, outputs
from promptpex.tables.database_sql import JOINED
from promptpex.workflow.execution.outcomes_so_far import OutcomesSoFar
from tests.samples import spec
from tests.tables.by_hand import output, run, verdict

STATUS = st.sampled_from(["pass", "fail", "not_concerned", "unscored"])
REASON = st.sampled_from(["judge-empty", "judge-budget", "judge-deadline", "budget", None])
SOURCE = st.sampled_from(["check:x", "judge:j", "judge:k", "judges:majority", "none"])
KEY = st.tuples(st.sampled_from(["c1", "c11"]), st.sampled_from(["m", "1m"]), st.integers(0, 1))
ERROR = st.sampled_from([None, None, None, "timed-out", "budget"])
JUDGES = ("judge:j", "judge:k", "judge:l")
CHECK = Check(kind="word-count", value=1)


@st.composite
def any_verdict(draw: st.DrawFn) -> Verdict:
    """A verdict of whatever kind, whether judging gives such or not."""
    case, model, repeat = draw(KEY)
    status = draw(STATUS)
    return verdict(
        status,
        draw(st.sampled_from(["r1", "r2", "r11"])),
        case,
        model,
        repeat=repeat,
        source=draw(SOURCE),
        counts=draw(st.booleans()),
        turn=draw(st.integers(0, 1)),
        unscored=draw(REASON) if status == "unscored" else None,
    )


@st.composite
def any_run(draw: st.DrawFn) -> Run:
    """Outputs with verdicts of whatever kind."""
    keys = draw(st.lists(KEY, max_size=4, unique=True))
    made = [output(case, model, repeat=repeat, error=draw(ERROR)) for case, model, repeat in keys]
    drawn = [one for one in draw(st.lists(any_verdict(), max_size=25)) if one.key in keys]
    return run(made, drawn, models=("m", "1m"))


@st.composite
def rules(draw: st.DrawFn) -> tuple[Rule, ...]:
    """Rules that code decides wholly, in part or not at all; some come after another."""
    names = ("r1", "r2", "r3")
    return tuple(
        Rule(
            id=name,
            rule="It is short.",
            inverse="It is long.",
            checks=draw(st.sampled_from([(), (CHECK,)])),
            decides=draw(st.sampled_from(["wholly", "partly"])),
            after=draw(st.sampled_from([None, *names[:place]])),
        )
        for place, name in enumerate(names)
    )


@st.composite
def weighed(draw: st.DrawFn, of: Spec, key: OutputKey, judges: int, turns: int, quorum: Quorum) -> list[Verdict]:
    """The verdicts on an output as a run weighs them, of code and of judges that may stop being asked."""
    in_force, asked = list(of.rules), {rule.id for rule in of.rules if rule.needs_judge or draw(st.booleans())}

    def one(rule: str, source: str, turn: int = 0) -> Verdict:
        status: Any = draw(STATUS)
        code = draw(REASON) or "judge-empty" if status == "unscored" else None
        return Verdict.of(key, rule, status, source, unscored=code, turn=turn)

    checked = [one(rule.id, "check:word-count") for rule in in_force if rule.checks]
    unmet = [Verdict.of(key, rule.id, "not_concerned", "check:x") for rule in in_force if draw(st.integers(0, 4)) == 0]
    checked = [*(each for each in checked if each.rule not in {other.rule for other in unmet}), *unmet]
    checked = left_open([*checked, *closed_by_code(in_force, checked)] if judges else checked, in_force, asked)
    settled = {each.rule for each in [*unmet, *closed_by_code(in_force, checked)]}
    judged = [
        [one(rule, judge, turn) for turn in range(turns) for rule in sorted(asked - settled)]
        for judge in JUDGES[:judges]
    ]
    return after_broken(in_force, Weights(of, quorum=quorum).weigh(checked, judged))


@st.composite
def judged_run(draw: st.DrawFn) -> Run:
    """A run as judging leaves it: several judges and turns, rules after others, preconditions, and judges cut short."""
    of = spec().replace(rules=draw(rules()))
    judges, turns = draw(st.integers(0, 3)), draw(st.integers(1, 2))
    quorum: Quorum = draw(st.sampled_from(["majority", "unanimous"]))
    keys = draw(st.lists(KEY, min_size=1, max_size=3, unique=True))
    made = [output(case, model, repeat=repeat) for case, model, repeat in keys]
    drawn = [each for key in keys for each in draw(weighed(of, key, judges, turns, quorum))]
    return run(made, drawn, models=("m", "1m"), rules=of.rules)


RUNS = st.one_of(any_run(), judged_run())


def by_output(made: Run) -> dict[OutputKey, list[Verdict]]:
    groups: dict[OutputKey, list[Verdict]] = {one.key: [] for one in made.outputs}
    for each in made.verdicts:
        groups[each.key].append(each)
    return groups


def plain(frame: pd.DataFrame, *names: str) -> list[tuple[Any, ...]]:
    columns = (frame[name].astype(object).where(frame[name].notna(), None).tolist() for name in names)
    return list(zip(*columns, strict=True))


def outcomes(made: Run) -> dict[OutputKey, OutputOutcome]:
    errors = {one.key: one.error for one in made.outputs}
    return {key: outcome_of(group, errors[key]) for key, group in by_output(made).items()}


def broken_rules(outcome: OutputOutcome) -> str | None:
    return " ".join(dict.fromkeys(one.rule for one in outcome.deciding)) if outcome.status == "fail" else None


@given(RUNS)
def test_the_table_of_outputs_says_what_the_definition_says(made: Run) -> None:
    rows = outputs(made)
    wanted = [(*key, one.status, one.code or None, one.asked, broken_rules(one)) for key, one in outcomes(made).items()]
    columns = ("case", "model", "repeat", "verdict", "unscored", "asked")
    in_table = zip(plain(rows, *columns), rows["broken_rules"].where(rows["verdict"].eq("fail")), strict=True)
    assert [(*row, None if pd.isna(broken) else broken) for row, broken in in_table] == wanted


@given(RUNS)
def test_the_table_of_rules_says_what_the_definition_says(made: Run) -> None:
    database = database_of(made)
    database.need("ruled")
    columns = "c.id, m.name, n.repeat, r.rule, r.status, v.unscored, r.cut IS NULL"
    rows = f"SELECT {columns} FROM ruled r JOIN verdict v ON v.place = r.place {JOINED.format('r')}"
    unasked = {(one.key, one.rule) for one in not_asked(made.verdicts)}
    wanted = {
        (*key, rule): (one.status, one.unscored, (key, rule) not in unasked)
        for key, group in by_output(made).items()
        for rule, one in decided_rules(group).items()
    }
    in_table = [(*row, bool(asked)) for *row, asked in database.query(rows)]
    assert {row[:4]: row[4:] for row in in_table} == wanted
    assert len(in_table) == len(wanted)


@given(RUNS)
def test_progress_and_reports_for_ci_and_pytest_say_the_same(made: Run) -> None:
    heard: list[Event] = []
    known = OutcomesSoFar(heard.append)
    wanted, groups = outcomes(made), by_output(made)
    for place, one in enumerate(made.outputs):
        known.code(place, [each for each in groups[one.key] if each.source.startswith("check:")])
        known.end(place, one, groups[one.key])
    events = [event for event in heard if isinstance(event, OutcomeKnown)]
    last = {model: [0, 0, 0] for model in ("m", "1m")}
    for event in events:
        last[event.model][KINDS.index(event.outcome)] += 1
        if event.was is not None:
            last[event.model][KINDS.index(event.was)] -= 1
    for model, counts in last.items():
        assert counts == [sum(key[1] == model and one.status == kind for key, one in wanted.items()) for kind in KINDS]
    assert by_junit(made) == sorted((one.model, wanted[one.key].status) for one in made.outputs)
    for one in made.outputs:
        assert Answers([one], groups[one.key]).outcome == wanted[one.key]


KINDS = ("pass", "fail", "unscored")
ELEMENTS = {"failure": "fail", "error": "unscored"}


def by_junit(made: Run) -> list[tuple[str, str]]:
    """Each output of a run's JUnit report as its model and its outcome."""
    root, pairs = ElementTree.fromstring(junit.text(made)), []
    for suite in root.iter("testsuite"):
        for case in suite.iter("testcase"):
            child = next(iter(case), None)
            pairs.append((suite.get("name") or "", "pass" if child is None else ELEMENTS[child.tag]))
    return sorted(pairs)


def test_an_output_that_a_check_fails_does_not_count_where_the_judge_was_not_asked() -> None:
    cut = verdict("unscored", "r2", source="judge:j", unscored="judge-budget")
    outcome = outcome_of([verdict("fail"), cut])
    assert (outcome.status, outcome.code, outcome.asked, outcome.deciding) == (
        "unscored",
        "judge-budget",
        False,
        (cut,),
    )
    beside = [verdict("fail"), cut.replace(counts=False)]
    assert outcome_of(beside).status == "fail", "code decides the rule, and the judge was only to be compared with it"
    assert outcome_of([verdict("fail"), cut.replace(turn=1)]).status == "fail"
    joint = verdict("pass", "r2", source="judges:majority")
    assert outcome_of([*beside, joint]).code == "judge-budget", "one of several judges was not asked"
    assert outcome_of([verdict("fail"), *(one.replace(rule="r3") for one in beside[1:]), joint]).status == "fail"


def test_one_rule_is_decided_by_the_heaviest_of_its_verdicts() -> None:
    every = [verdict(status, reason=status) for status in ("pass", "not_concerned", "unscored", "fail")]
    while every:
        (decided,) = decided_rules([*every, verdict("fail", counts=False)]).values()
        assert decided.status == every.pop().status
    assert decided_rules([]) == {}


def test_what_a_judge_was_not_asked_stays_open_after_a_broken_rule() -> None:
    """Of outputs that are judged half only those would count that fail by the half that was judged."""
    of = [Rule(id="r1", rule="It is JSON.", inverse="It is none."), Rule(id="r2", rule="a", inverse="b", after="r1")]
    cut = verdict("unscored", "r2", source="judge:j", unscored="judge-budget")
    for first, kept in ((cut, "unscored"), (cut.replace(unscored="judge-empty"), "fail")):
        judged = [verdict("fail", "r1", source="judge:j"), first]
        weighed_ = Weights(spec().replace(rules=tuple(of))).weigh([], [judged])
        assert outcome_of(after_broken(of, weighed_)).status == kept
