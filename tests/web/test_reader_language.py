"""Local pages in another language have no English sentence left."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path

import pytest

from promptpex.core.records import Criterion
from promptpex.core.records.criteria_board import CriteriaBoard, ShownCandidate, ShownCriterion, ShownWork
from promptpex.core.translation import reading_in
from promptpex.report.html_page import environment
from promptpex.web.interfaces import GradingPort
from promptpex.web.pages.criteria import WISHES
from promptpex.web.pages.grading import live_page
from promptpex.web.pages.grading_views import progress_view
from promptpex.web.script_texts import script_texts
from promptpex.web.shared_by_pages import TEMPLATES, Tab
from promptpex.workflow.criteria.state import verdict_of
from tests.marked_language import Marked, ReadPage, data_of, unmarked
from tests.web.grading_pool import desk_of, texts

CHECKED = ShownCandidate(
    id="is_short",
    description="At most ten words.",
    form="python",
    text="def f(): ...",
    choice="must",
    outdated=True,
    yours=True,
    state="kept",
    passes=3,
    fails=2,
    errors=1,
    waiting=2,
    caught=1,
    bad=2,
    flagged=1,
    good=3,
)
CANDIDATES = (
    CHECKED,
    CHECKED.replace(id="asked", form="question", state="culled", bad=0, good=0, choice="never"),
    CHECKED.replace(id="new", form="yaml", state="waiting", arriving=True),
    CHECKED.replace(id="away", state="aside", why="the criterion is set aside"),
)
BOARD = CriteriaBoard(
    prompt="museum.md",
    outputs=9,
    graded=3,
    noted=2,
    made=4,
    tried=8,
    to_try=2,
    culled=1,
    to_ask=3,
    price="$1",
    work=tuple(
        ShownWork(what="candidates", criterion="short", state=state, sentence="Planted sentence.")
        for state in ("waiting", "running", "done", "failed", "dropped")
    ),
    criteria=(
        ShownCriterion(
            id="short",
            text="Planted words.",
            comes_from="rule r1 of the spec",
            rule="r1",
            must=True,
            good=1,
            bad=2,
            unsure=1,
            stale=1,
            candidates=CANDIDATES,
            refused={"odd": "Planted reason."},
        ),
        ShownCriterion(id="other", text="Other words.", comes_from="from 2 notes", selected=False),
    ),
)
EXAMPLE = "def is_short(example, prompt, response):\n    return len(response.split()) <= 20"
SAME = ("Python", "promptpex", "promptpex grade RUN --terminal", EXAMPLE, "odd", "other")
"""Names, commands and code, and the id of a proposal and of a criterion."""


def foreign(page: str, *data: object) -> list[str]:
    """The texts of a page that are neither marked nor data."""
    known = {text for text in data_of(*data) if Marked().stored(text) == text} | set(SAME)
    return sorted({rest for text in ReadPage(page).texts if (rest := unmarked(text, known))})


def rendered(template: str, **values: object) -> str:
    return environment(TEMPLATES).get_template(template).render(tabs=(), **values)


@pytest.mark.parametrize("board", [BOARD, CriteriaBoard(prompt="museum.md")])
def test_every_text_of_the_page_of_criteria_is_of_the_catalogue(board: CriteriaBoard) -> None:
    versions = {"whole": "1", "criterion short": "1", "criterion other": "1"}
    with reading_in(Marked()):
        page = rendered("criteria.html.jinja", board=board, versions=versions, wishes=WISHES, texts=script_texts())
    assert "\N{MATHEMATICAL LEFT WHITE SQUARE BRACKET}" in page
    assert not foreign(page, board)


def test_every_text_of_the_grading_page_is_of_the_catalogue(tmp_path: Path) -> None:
    port = GradingPort(desk_of(tmp_path / "pos.grades.jsonl", texts(3)), "pos")
    with reading_in(Marked()):
        page = rendered("grading.html.jinja", **live_page(port, (Tab("museum", "/criteria"),)))
        sentences = [line for lines in _lists(progress_view(port.desk, "ada")) for line in lines]
    policies = ("alternating", "highest", "lowest", "random")
    known = {"prompt": "pos", "tab": "museum", "policies": policies}
    assert not foreign(page, known)
    assert len(sentences) > 3
    assert not [line for line in sentences if unmarked(line, {"promptpex grade --on"})]


def _lists(view: dict[str, object]) -> list[list[str]]:
    return [value for value in view.values() if isinstance(value, list)]


def test_a_page_brings_the_texts_of_its_scripts(tmp_path: Path) -> None:
    port = GradingPort(desk_of(tmp_path / "pos.grades.jsonl", texts(3)), "pos")
    with reading_in("vi"):
        page = rendered("grading.html.jinja", **live_page(port, ()))
    brought = page.partition("data-texts='")[2].partition("'")[0]
    assert json.loads(unescape(brought))["A new output"] == "Một đầu ra mới"
    assert 'lang="vi"' in page


def _verdicts() -> list[str]:
    plain = Criterion(id="short", text="Short.", origin="added")
    boards = (
        (plain.replace(selected=False), ()),
        (plain, ()),
        (plain, (CHECKED.replace(choice="never"),)),
        (plain.replace(by="code"), (CHECKED.replace(state="aside"),)),
        (plain.replace(by="judge"), (CHECKED.replace(state="aside"),)),
        (plain, (CHECKED.replace(choice=None),)),
        (plain, (CHECKED.replace(outdated=False, state="culled"),)),
        (plain, (CHECKED.replace(outdated=False, waiting=2),)),
        (plain, (CHECKED.replace(waiting=0, good=0, bad=0),)),
        (plain, (CHECKED.replace(waiting=0, flagged=0),)),
        (plain, (CHECKED.replace(waiting=0, flagged=0, bad=0),)),
        (plain, (CHECKED.replace(waiting=0, flagged=3),)),
    )
    return [verdict_of(one, rows, was_asked=asked)[0] for one, rows in boards for asked in (False, True)]


def test_what_is_known_of_the_candidates_of_a_criterion_is_of_the_catalogue() -> None:
    with reading_in("en"):
        english = _verdicts()
    with reading_in(Marked()):
        marked = _verdicts()
    assert len(set(english)) == 13
    assert not [text for text in marked if unmarked(text, ())]
