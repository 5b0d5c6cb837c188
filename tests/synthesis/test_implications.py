"""Which candidate implies which: by code, by a judge in batches, and never by what they do on the examples alone."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from promptpex.core.events import Event, Notice
from promptpex.core.records import Candidate, Check, Implication, Request
from promptpex.synthesis.results.implications import (
    PAIRS_PER_REQUEST,
    JudgedPairs,
    judge_pairs,
    pair_key,
    plan_implications,
)
from promptpex.synthesis.results.matrix import LONGEST, normal_form, python_tree, same_code
from tests.samples import asked, role_model
from tests.synthesis.test_problem_of_folder import implication, matrix_of


def check(kind: str, value: object, **more: object) -> Check:
    return Check.model_validate({"kind": kind, "value": value, **more})


SHORT = 'def short(example, prompt, response):\n    """It is short."""\n    return len(response) < 9\n'
SAME = "# A comment.\ndef brief(example,prompt,response):\n  'Other words.'\n  return (len(response)  < 9)\n"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (check("python", SHORT), check("python", SAME), True),
        (check("python", SHORT), check("python", SHORT.replace("< 9", "< 10")), False),
        (check("python", SHORT), check("python", f"async {SHORT}"), False),
        (check("python", SHORT), check("not-python", SHORT), False),
        (check("python", "len(output) < 9"), check("python", "len( output )<9"), True),
        (check("python", "def f(:"), check("python", " def f(:\n"), True),
        (check("python", "def f(e, p, r):\n    'Nothing else.'\n"), check("python", "def g(e, p, r): 'Else.'"), True),
        (check("question", "Is it  polite?"), check("question", "Is it polite?"), True),
        (check("contains-any", ["a", "b"]), check("contains-any", ["b", "a", "b"]), True),
        (check("contains-any", ["a", "b"]), check("contains-all", ["b", "a"]), False),
        (check("equals", ["a", "b"]), check("equals", ["b", "a"]), False),
        (check("contains", "a", weight=2, metric="m"), check("contains", "a"), True),
        (check("contains", "a", path="x"), check("contains", "a"), False),
        (
            check("assert-set", None, **{"assert": [{"kind": "python", "value": SHORT}]}),
            check("assert-set", None, **{"assert": [{"kind": "python", "value": SAME, "weight": 3}]}),
            True,
        ),
    ],
)
def test_the_same_code_whatever_it_is_called(one: Check, other: Check, same: bool) -> None:
    assert (normal_form(one) == normal_form(other)) is same
    pairs = same_code([Candidate(id="a", check=one), Candidate(id="b", check=other)])
    assert pairs == ([("a", "b"), ("b", "a")] if same else [])


@pytest.mark.parametrize(
    "code",
    [
        "(" * 5_000 + ")" * 5_000,
        "-" * 40_000 + "1",
        "a\0b",
        "\ud800",
        "x" * (LONGEST + 1),
        "",
        "a." * 20_000 + "b",
        "'\\d'",
    ],
)
def test_hostile_code_is_compared_as_text_or_tree(code: str) -> None:
    assert python_tree(code) == python_tree(code)


COLUMNS = {"a": "ppff", "b": "pppf", "c": "pfff", "d": "ppff"}
"""a and d do the same; b fails less; c flags a good one of two."""


def test_examples_and_code_come_before_the_judge() -> None:
    plan = plan_implications(matrix_of(COLUMNS, "ggbb"), ())
    assert plan.known == ()
    assert plan.to_ask == (("a", "b"), ("a", "d"), ("d", "a"), ("d", "b"))
    assert (plan.contradicted, plan.pruned) == (5, 3)
    same = [Candidate(id=name, check=check("contains", "x" if name in "ad" else name)) for name in COLUMNS]
    plan = plan_implications(matrix_of(COLUMNS, "ggbb", same), ())
    assert [(one.stronger, one.weaker, one.evidence) for one in plan.known] == [
        ("a", "d", "same-code"),
        ("d", "a", "same-code"),
    ]
    assert plan.to_ask == (("a", "b"), ("d", "b"))


def test_without_examples_all_pairs_are_asked_about_but_for_what_is_refused() -> None:
    refused = [
        Candidate(id=name, check=check("contains", name), choice="never" if name == "c" else None) for name in "abc"
    ]
    assert plan_implications(matrix_of(dict.fromkeys("abc", ""), "", refused), ()).to_ask == (("a", "b"), ("b", "a"))


def test_what_was_judged_before_is_not_asked_again_until_a_check_changes() -> None:
    matrix = matrix_of(COLUMNS, "ggbb")
    forms = {one.id: normal_form(one.check) for one in matrix.candidates}
    judged = [pair_key(forms["a"], forms["b"]), pair_key(forms["a"], forms["d"])]
    on_file = [
        implication("ab"),
        implication("db"),
        implication("da", accepted=True),
        implication("ca", accepted=False),
    ]
    plan = plan_implications(matrix, on_file, judged)
    assert plan.known == (on_file[0], on_file[2], on_file[3])
    assert plan.to_ask == (("d", "b"),)
    edited = [one.replace(check=check("contains", "new")) if one.id == "b" else one for one in matrix.candidates]
    plan = plan_implications(matrix_of(COLUMNS, "ggbb", edited), on_file, judged)
    assert plan.to_ask == (("a", "b"), ("d", "b"))


def judged(
    replies: Any, pairs: list[tuple[str, str]], names: str = "abcdef"
) -> tuple[JudgedPairs, list[Request], list[str]]:
    judge, client = role_model(replies, "fake/judge")
    notices: list[str] = []

    def hear(event: Event) -> None:
        notices.extend([event.message] if isinstance(event, Notice) else [])

    candidates = [Candidate(id=name, check=check("contains", f"word {name}")) for name in names]
    made = asyncio.run(judge_pairs(judge, candidates, pairs, instructions="Be strict.", emit=hear))
    return made, client.requests, notices


def numbers(request: Request) -> list[int]:
    return [int(number) for number in re.findall(r"^(\d+): c\d+ implies c\d+$", asked(request), re.MULTILINE)]


def test_pairs_are_judged_in_batches_each_check_shown_once() -> None:
    pairs = [(one, other) for one in "abcdef" for other in "abcdef" if one != other]
    verdicts = ["implied", "not-implied", "unclear"]

    def reply(request: Request) -> Any:
        return {
            "pairs": [
                {"pair": number, "counterexample": "", "verdict": verdicts[number % 3]} for number in numbers(request)
            ]
        }

    made, requests, _ = judged(reply, pairs)
    assert len(requests) == len(pairs) / PAIRS_PER_REQUEST == 2
    assert [(one.stronger, one.weaker) for one in made.implications] == [
        pair for number, pair in enumerate(pairs) if (number % PAIRS_PER_REQUEST + 1) % 3 == 0
    ]
    assert {one.evidence for one in made.implications} == {"judge"}
    assert len(made.judged) == len(set(made.judged)) == 30
    assert asked(requests[0]).count("word a\n") == 1
    assert "Be strict." in asked(requests[0])


def test_a_pair_without_a_readable_answer_stays_open() -> None:
    def reply(request: Request) -> Any:
        return {
            "pairs": [
                {"pair": 2, "counterexample": "", "verdict": "implied"},
                {"pair": 1, "verdict": "certainly"},
                {"pair": 99, "counterexample": "", "verdict": "implied"},
            ]
        }

    made, _, _ = judged(reply, [("a", "b"), ("b", "a"), ("c", "a")])
    assert made.implications == (Implication(stronger="b", weaker="a", evidence="judge"),)
    assert len(made.judged) == 1


def test_a_batch_that_cannot_be_read_is_asked_pair_by_pair_and_a_failure_is_said() -> None:
    def reply(request: Request) -> Any:
        if len(numbers(request)) != 1 or "word c" in asked(request):
            return "I would rather not."
        return {"pairs": [{"pair": 1, "counterexample": "", "verdict": "implied"}]}

    made, _, notices = judged(reply, [("a", "b"), ("a", "c")])
    assert [one.id for one in made.implications] == ["a -> b"]
    assert len(made.judged) == 1
    assert any("implications: fake/judge gave no usable reply" in notice for notice in notices)


def test_long_checks_are_cut_and_other_keys_are_shown() -> None:
    long = Candidate(id="a", check=check("not-contains", "x" * 20_000, path="reply"))
    judge, client = role_model(lambda request: {"pairs": []})
    asyncio.run(judge_pairs(judge, [long, long.replace(id="b")], [("a", "b")]))
    text = asked(client.requests[0])
    assert "kind: not-contains\npath: reply\nvalue:\nxxx" in text
    assert len(text) < 12_000
