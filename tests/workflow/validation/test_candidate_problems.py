"""``validate`` names what is wrong with a prompt's candidates, by file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptpex.core.records import Criterion
from promptpex.workflow.validation.validate import validate

GOOD = """prompt: prompt.md
criteria:
  - {id: c1, text: It makes no excuses., category: exclusion}
candidates:
  - id: no_excuses
    criteria: [c1]
    check: {kind: not-word-any, value: [I am sorry, sadly]}
  - id: asked
    criteria: [c1]
    check: {kind: question, value: Does it avoid excuses?}
"""


@pytest.fixture
def prompt(tmp_path: Path) -> Path:
    (tmp_path / "prompt.synthesis").mkdir()
    path = tmp_path / "prompt.md"
    path.write_text("Answer {{question}}.", encoding="utf-8")
    return path


def problems(prompt: Path, text: str, *, by_itself: bool = False) -> list[tuple[str, int | None, str]]:
    """Severity, line and message of each problem of this file of candidates."""
    file = prompt.with_name("prompt.synthesis") / "candidates.yaml"
    file.write_text(text, encoding="utf-8")
    return [(one.severity, one.line, one.message) for one in validate([file if by_itself else prompt])]


@pytest.mark.parametrize("by_itself", [True, False])
def test_a_list_of_phrases_is_hinted_at(prompt: Path, by_itself: bool) -> None:
    assert problems(prompt, GOOD, by_itself=by_itself) == [
        ("info", 5, "the candidate 'no_excuses' looks for fixed phrases to decide what an answer must not do")
    ]


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("kind: question", "kind: quiz", 10, "quiz"),
        ("criteria: [c1]", "criteria: [c2]", 6, "there is no criterion 'c2'"),
        ("id: asked", "id: no_excuses", 8, "is on line 5 too"),
        ("id: asked", "ide: asked", 8, "'ide' is not known"),
    ],
)
def test_mistakes_are_named(prompt: Path, old: str, new: str, line: int, message: str) -> None:
    places = [(at, text) for _, at, text in problems(prompt, GOOD.replace(old, new, 1)) if "phrases" not in text]
    assert any(at == line and message in text for at, text in places), places


def test_a_candidate_for_other_words_is_hinted_at(prompt: Path) -> None:
    older = Criterion(id="c1", text="It apologises.").wording
    text = GOOD.replace("excuses?}", f"excuses?}}\n    wordings: {{c1: '{older}'}}")
    hint = ("info", 8, "the candidate 'asked' was written for another wording of c1")
    assert hint in problems(prompt, text)
    assert hint not in problems(prompt, text.replace("It makes no excuses.", "It apologises."))


def test_a_folder_that_a_link_leads_away_is_named(tmp_path: Path, prompt: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    project = tmp_path / "project"
    project.mkdir()
    (project / "prompt.md").write_text("Answer.", encoding="utf-8")
    (project / "prompt.synthesis").symlink_to(tmp_path / "elsewhere")
    (only,) = [one for one in validate([project / "prompt.md"]) if one.severity == "error"]
    assert "leads this folder out" in only.message
