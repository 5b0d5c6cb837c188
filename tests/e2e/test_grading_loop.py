"""The loop of grading on a very small model: every step runs, says what it could not do, and breaks no file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptpex.grading.random_sample import in_order
from promptpex.workflow.grading_desk import GradingWishes, open_desk
from promptpex.workflow.validation.validate import validate
from tests.e2e.command import Done, in_process

MODEL, SMALL = "embedded/smollm2-135m", "embedded/smollm2-135m?max_tokens=24"
PROMPT = "Answer in one word: what colour is a {{thing}}?\n"
SPEC = """\
prompt: prompt.md
rules:
  - {id: r1, rule: The output has at most five words., checks: [{kind: word-count, value: {max: 5}}]}
  - {id: r2, rule: The output has no digit., checks: [{kind: not-regex, value: '[0-9]'}]}
"""
THINGS = ("cherry", "lemon", "leaf")


@pytest.mark.long
@pytest.mark.embedded
def test_every_step_of_the_loop_runs_on_a_very_small_model(
    tmp_path: Path, shallow: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prompt.md").write_text(PROMPT, encoding="utf-8")
    (tmp_path / "prompt.spec.yaml").write_text(SPEC, encoding="utf-8")
    cases = [f"  - {{id: c{n}, rule: r1, inputs: {{thing: {thing}}}}}\n" for n, thing in enumerate(THINGS)]
    (tmp_path / "prompt.cases.yaml").write_text("prompt: prompt.md\ncases:\n" + "".join(cases), encoding="utf-8")

    def step(*arguments: str) -> Done:
        done = in_process(*arguments, cwd=tmp_path)
        assert done.code in (0, 1, 3), done.err
        assert "Traceback" not in done.err
        assert not [problem.text() for problem in validate([tmp_path / "prompt.md"]) if problem.severity == "error"]
        return done

    step("run", "prompt.md", "--models", MODEL, "--judge", "none")
    (place,) = tmp_path.glob("results/*/*")
    graded = _grade(tmp_path, place)
    assert graded > 1
    monkeypatch.setenv("PROMPTPEX_EMBEDDED_MODEL", str(shallow))  # from here on its words do not matter
    step("synthesize", "prompt.md", "--from-notes", "--author", SMALL, "--judge", SMALL)
    chosen = step("select", "prompt.synthesis", "--method", "aligned", "--into-spec")
    assert "candidate" in chosen.out + chosen.err
    step("judge", str(place), "--spec", "prompt.spec.yaml", "--judge", "none")
    card = json.loads(step("align", str(place), "--json").out)
    assert card["labels"][0]["sampled"] == graded
    assert step("report", str(place)).code == 0


def _grade(folder: Path, place: Path) -> int:
    """A person calls the first output good and the others bad."""
    desk = open_desk([place], folder / "results", GradingWishes(prompt=folder / "prompt.md"), lambda event: None).desk
    first = in_order(item.id for item in desk.pool)[0]
    graded = 0
    while (assignment := desk.next("ada")) is not None:
        good = assignment.item.id == first
        desk.give(
            "ada", assignment.item.id, "output", "good" if good else "bad", "" if good else "no colour", assignment
        )
        graded += 1
    return graded
