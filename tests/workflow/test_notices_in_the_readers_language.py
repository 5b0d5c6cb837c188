"""Notices of a run are events in English, as logs keep them, and are said in the reader's language."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptpex.cli.progress import json_log, notices
from promptpex.core.events import Event, Notice
from promptpex.core.translation import from_data, reading_in, tr, tr_n
from promptpex.judging.judge import self_preference_warnings
from promptpex.specs.source_quotes import notices as drift_notices
from promptpex.specs.source_quotes import ungrounded
from promptpex.workflow.roles import warn_about_small_model
from tests.samples import prompt, spec


def small_model(role: str) -> str:
    heard: list[Event] = []
    warn_about_small_model(role, "embedded/smollm2-135m", heard.append)
    assert isinstance(heard[0], Notice)
    return heard[0].message


def test_notices_are_said_in_vietnamese_and_logged_in_english(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    event = Notice(self_preference_warnings(["gpt-4o"], ["o3"])[0], "warning")
    with reading_in("vi"), json_log(tmp_path / "log") as log:
        assert log is not None
        for listen in (notices(verbose=False), log):
            listen(event)
    printed = capsys.readouterr().err
    assert printed.startswith("cảnh báo: mô hình chấm gpt-4o cùng nhà cung cấp với o3 (OpenAI)")
    logged = json.loads((tmp_path / "log").read_text(encoding="utf-8"))
    assert logged["message"].startswith("the judge gpt-4o comes from the same vendor as o3")


def test_words_that_are_made_in_both_languages_are_logged_in_english() -> None:
    with reading_in("vi"):
        notice = Notice.of(lambda: tr("to ask: {requests}", requests=tr_n("{count} request", "{count} requests", 2)))
    assert notice.to_dict() == {"event": "Notice", "message": "to ask: 2 requests", "level": "info"}
    assert notice.text() == "sẽ hỏi: 2 yêu cầu"


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        (small_model("author"), "embedded/smollm2-135m là một mô hình rất nhỏ: bản đặc tả"),
        (small_model("judge"), "embedded/smollm2-135m là một mô hình rất nhỏ: kết quả chấm"),
        (
            self_preference_warnings(["gpt-4o"], ["o3"], "gpt-4")[1],
            "mô hình chấm gpt-4o cùng nhà cung cấp với mô hình soạn gpt-4",
        ),
        (drift_notices(prompt("Name it: in other words."), spec())[0], "quy tắc r1 trích những từ ngữ không còn nữa"),
        (drift_notices(prompt("Name it: in other words."), spec())[-1], "không quy tắc nào trích: “"),
        (ungrounded(prompt("Say it."), spec().rules)[0], "quy tắc r1 trích những từ ngữ không có trong prompt"),
        ("2 of 9 cases: rule r1; the first 5", "2/9 ca kiểm thử: "),
        (
            "checks ask j 2 questions about each output: about 60 requests",
            "phép kiểm tra đặt 2 câu hỏi về mỗi đầu ra cho j: khoảng 60 yêu cầu",
        ),
        (
            "judges are shown 3 graded outputs on 2 rules of 7",
            "mô hình chấm được xem 3 đầu ra đã được đánh giá về 2 quy tắc trong 7",
        ),
        (
            "run r: 3 examples; 1 output that cannot be used",
            "lần chạy r: 3 ví dụ; 1 đầu ra không dùng được",
        ),
        (
            "m gave nothing usable before and is not asked again; name another --author, or use --fresh; waiting: 1 "
            "new sentence; 2 criteria without a candidate",
            "trước đây m không cho gì dùng được nên không được hỏi lại; hãy nêu --author khác, hoặc dùng --fresh; còn "
            "chờ: 1 câu mới; 2 tiêu chí chưa có ứng viên",
        ),
        (
            "m: no answer within 2.5 s; raise --timeout, or lower max_tokens. Tried 3 times.",
            "m: không có câu trả lời trong 2,5 giây; hãy tăng --timeout, hoặc giảm max_tokens. Đã thử 3 lần.",
        ),
        (
            "r.jsonl: what it holds was asked otherwise: temperature is 0.7, recorded without it; the stage's template "
            "is another (stage output); record the run again with --record.",
            "r.jsonl: những gì có trong bản ghi đã được hỏi khác đi: temperature là 0.7, bản ghi không có; mẫu của",
        ),
        (
            "m did not answer in the form that was asked for, nor after being shown why. First: The reply is empty. "
            "Then: The reply is not JSON. A larger model may keep to the form.",
            "m không trả lời đúng dạng được yêu cầu, kể cả sau khi được chỉ ra chỗ sai. Lần đầu: Câu trả lời trống. "
            "Lần sau: Câu trả lời không phải là JSON.",
        ),
    ],
)
def test_what_a_notice_says_is_recognised(message: str, wanted: str) -> None:
    with reading_in("vi"):
        assert from_data(message).startswith(wanted)
