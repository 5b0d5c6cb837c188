"""How a label came about, why a candidate is not chosen from and why a criterion has none: in the reader's language."""

from __future__ import annotations

import pytest

from promptpex.core.records import GradeValue
from promptpex.core.translation import from_data, reading_in
from promptpex.grading.labels import LabelRules, Vote, label_of
from promptpex.report.cards import words


def votes(*values: GradeValue) -> list[Vote]:
    return [Vote(f"person {number}", value, float(number)) for number, value in enumerate(values)]


@pytest.mark.parametrize(
    ("values", "how", "english", "vietnamese"),
    [
        (("unsure",), LabelRules(), "unsure: person 0", "không chắc: person 0"),
        (("good", "good", "bad"), LabelRules(), "2 of 3 graders", "2/3 người đánh giá"),
        (("bad",) * 4, LabelRules(), "4 graders", "4 người đánh giá"),
        (("good",), LabelRules(), "person 0", "person 0"),
        (
            ("good", "bad"),
            LabelRules(),
            "the graders disagree: 1 good, 1 bad",
            "những người đánh giá không thống nhất: 1 tốt, 1 dở",
        ),
        (
            ("good", "bad"),
            LabelRules("adjudicated:ann"),
            "ann has to decide: 1 good, 1 bad",
            "ann cần quyết định: 1 tốt, 1 dở",
        ),
    ],
)
def test_how_a_label_came_about(values: tuple[GradeValue, ...], how: LabelRules, english: str, vietnamese: str) -> None:
    kept = label_of(votes(*values), how)[1]
    with reading_in("vi"):
        shown = from_data(kept)
    assert [kept, shown] == [english, vietnamese]


def test_why_a_criterion_has_no_good_candidate() -> None:
    kept = "short “Says: the output is JSON”: a person refused all candidates."
    with reading_in("vi"):
        assert words.lacking(kept) == "short “Says: the output is JSON”: có người đã từ chối mọi ứng viên."
    assert words.lacking(kept) == kept


@pytest.mark.parametrize(
    ("kept", "shown"),
    [
        (
            "a was not run on 2 of 5 labelled examples; `promptpex synthesize PROMPT` runs what is missing",
            "a chưa được chạy trên 2 trong số 5 ví dụ có nhãn; `promptpex synthesize PROMPT` chạy phần còn thiếu",
        ),
        ("blessed in p.blessed.yaml", "đã chốt trong p.blessed.yaml"),
    ],
)
def test_sentences_of_choices_and_of_old_runs(kept: str, shown: str) -> None:
    with reading_in("vi"):
        assert from_data(kept) == shown
