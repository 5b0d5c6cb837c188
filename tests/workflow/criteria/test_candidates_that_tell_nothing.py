"""Which candidates the page of criteria counts: those of one criterion, for its present words."""

from __future__ import annotations

from tests.workflow.criteria.criteria_bench import CAPITALS, Bench, candidate, criterion

TEXT = "The colour is written in capitals."


def test_candidates_are_held_against_those_of_their_own_criterion_alone(bench: Bench) -> None:
    bench.project.add(TEXT, "Capitals")
    bench.project.add("Nothing is whispered.", "Loud")
    for name in ("capitals", "loud"):
        bench.project.add_candidate(name, "yaml", "kind: regex\nvalue: '^[A-Z ]+$'")
    bench.project.add_candidate("loud", "yaml", "kind: regex\nvalue: '^[A-Z][A-Z ]*$'")
    board = bench.settled()
    states = {one.id: [row.state for row in one.candidates] for one in board.criteria}
    assert states == {"capitals": ["kept"], "loud": ["kept", "culled"]}
    assert candidate(board, "checks_loud_2").why == "checks_loud_2 passes and fails the same examples as checks_loud"


def test_a_candidate_for_other_words_is_none_that_agrees(bench: Bench) -> None:
    bench.project.add(TEXT, "Capitals")
    bench.project.add_candidate("capitals", "python", "def breaks(example, prompt, response):\n    return 1 / 0")
    bench.project.add_candidate("capitals", "yaml", "kind: regex\nvalue: '^[A-Z ]+$'")
    bench.project.reword("capitals", "The colour is in capitals.")
    bench.project.keep_candidate("breaks")
    board = bench.settled()
    assert criterion(board, "capitals").verdict.startswith(
        "Each of its candidates errs on every output. Ask for others"
    )


def test_code_that_was_never_run_is_run_from_the_first_look_on(ruled: Bench) -> None:
    board = ruled.settled()
    assert [(row.id, row.passes, row.waiting) for one in board.criteria for row in one.candidates] == [
        ("r1_is_one_word", 21, 0)
    ]
    assert ruled.client.requests == []


def test_work_names_the_criterion_that_it_is_for(bench: Bench) -> None:
    bench.replies["candidates"] = CAPITALS[:1]
    bench.project.add(TEXT, "Capitals")
    bench.project.make()
    assert [(one.what, one.criterion) for one in bench.settled().work] == [("candidates", "capitals")]
