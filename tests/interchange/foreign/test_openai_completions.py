"""Requests to OpenAI with their replies: as a run, with the prompt that they come from, and back."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.cli.main import run_cli
from promptpex.core.errors import InputError
from promptpex.core.records import Case, Manifest, Output, Run, Spec, Suite
from promptpex.interchange.format import Project
from promptpex.interchange.openai_completions import write
from promptpex.promptfile import parse, renderer
from promptpex.report import runs
from tests.interchange.foreign.imported import ProjectSource, imported, left_out, read, written

Capture = pytest.CaptureFixture[str]


def _turns(question: str) -> list[dict[str, Any]]:
    return [{"role": "system", "content": "Be brief."}, {"role": "user", "content": f"Say {question} now."}]


def _completion(text: Any, **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {"object": "chat.completion", "model": "gpt-4o", "choices": [{"message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 2}, **more}  # fmt: skip


STORED = {"id": "c1", **_completion("one"), "messages": _turns("a")}
ROWS: list[dict[str, Any]] = [
    STORED,
    {"request": {"model": "m", "messages": _turns("a")}, "response": _completion("two")},
    {"custom_id": "q1", "body": {"model": "m", "messages": _turns("b")}},
    {"custom_id": "q1", "response": {"status_code": 200, "body": _completion("three")}, "error": None},
    {"object": "response", "model": "gpt-5", "instructions": "Be brief.", "input": "Say d now.",
     "output": [{"type": "reasoning", "summary": []},
                {"type": "message", "content": [{"type": "output_text", "text": "five"}]}],
     "usage": {"input_tokens": 3, "output_tokens": 4}},
    {"messages": [*_turns("e"), {"role": "assistant", "content": "six"}]},
    {"messages": _turns("f"), "error": {"message": "rate limit"}, "choices": []},
]  # fmt: skip


def test_all_kinds_of_rows_are_outputs(tmp_path: Path, capsys: Capture) -> None:
    made = imported(capsys, written(tmp_path / "c.jsonl", ROWS), "openai-completions")
    outputs = {(made.suite.case(one.case).inputs["input"], one.model, one.repeat): (one.text, one.finish_reason)  # type: ignore[union-attr]
               for one in made.run().outputs}  # fmt: skip
    assert outputs == {
        ("Say a now.", "gpt-4o", 0): ("one", "stop"),
        ("Say a now.", "gpt-4o", 1): ("two", "stop"),
        ("Say b now.", "gpt-4o", 0): ("three", "stop"),
        ("Say d now.", "gpt-5", 0): ("five", None),
        ("Say e now.", "unknown", 0): ("six", None),
        ("Say f now.", "unknown", 0): (None, None),
    }
    first = made.run().outputs[0]
    assert (first.case, first.tokens_in, first.tokens_out) == ("c1", 7, 2)
    assert made.answer["left_out"] == []


def test_with_their_prompt_the_inputs_are_told(tmp_path: Path, capsys: Capture) -> None:
    written(tmp_path / "say.md", "---\nname: say\n---\nsystem:\nBe brief.\n\nuser:\nSay {{word}} now.\n")
    rule = "rules: [{id: r1, rule: It is one., checks: [{kind: equals, value: one}]}]\n"
    written(tmp_path / "say.spec.yaml", f"prompt: say.md\n{rule}")
    other = {"messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]}
    path = written(tmp_path / "c.jsonl", [*ROWS, other])
    made = imported(capsys, path, "openai-completions", "--prompt", str(tmp_path / "say.md"))
    assert [case.inputs for case in made.suite.cases] == [{"word": letter} for letter in "abdef"]
    assert [(note["name"], note["line"]) for note in made.answer["left_out"]] == [("[7]", 8)]
    run = made.run()
    folder = next(made.folder.glob("*/*/manifest.json")).parent
    assert run_cli(["judge", str(folder), "--judge", "none", "-q"]) == 0
    assert [verdict.status for verdict in runs.read(folder).verdicts if verdict.case == run.outputs[0].case] == [
        "pass", "fail"
    ]  # fmt: skip


def test_texts_that_are_json_stay_the_texts_that_they_are(tmp_path: Path) -> None:
    sent, text = '{"word":"fox"}', '{"tag":"NN"}'
    answer = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    rows = [{"object": "response", "model": "m", "input": sent, "instructions": '["x"]', "output": [answer]}]
    made = read("openai-completions", written(tmp_path / "c.jsonl", rows))
    assert made.suite is not None
    assert [case.inputs for case in made.suite.cases] == [{"input": sent}]
    assert [output.text for output in made.outputs] == [text]
    row = {
        "id": "o",
        "traceId": "t",
        "type": "GENERATION",
        "input": [{"role": "user", "content": sent}],
        "output": text,
    }
    assert [output.text for output in read("langfuse", written(tmp_path / "l.jsonl", [row])).outputs] == [text]


def test_requests_of_a_batch_may_lie_in_a_file_of_their_own(tmp_path: Path) -> None:
    asked = written(tmp_path / "in.jsonl", [ROWS[2], {**ROWS[2], "custom_id": "q2"}])
    path = written(tmp_path / "c.jsonl", [ROWS[3]])
    with pytest.raises(InputError, match="--requests FILE"):
        read("openai-completions", path)
    made = read("openai-completions", path, requests=str(asked))
    assert [output.text for output in made.outputs] == ["three"]


def test_what_is_no_text_is_named(tmp_path: Path) -> None:
    rows = [
        STORED,
        {"messages": _turns("a"), "choices": [{"message": {"tool_calls": [{}]}}]},
        {"messages": _turns("a")},
        {"messages": _turns("a"), "choices": 3},
        {"request": {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "response": _completion("x")},
        {"custom_id": "q9", "body": {"messages": _turns("b")}},
        {"messages": _turns("a"), "choices": [{"message": {"content": [{"type": "audio"}]}}]},
    ]
    made = read("openai-completions", written(tmp_path / "c.jsonl", rows))
    assert left_out(made) == [(f"[{n}]", n + 1) for n in (1, 2, 3, 4, 6, 5)]


_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(_TEXTS.filter(str.strip), st.sampled_from(["m", "n x"]), st.none() | _TEXTS), min_size=1, max_size=5
    )
)
def test_outputs_come_back_as_they_were(rows: list[tuple[str, str, str | None]]) -> None:
    prompt = parse('---\nname: p\n---\nsystem:\nBe {{ "brief" }}.\n\nuser:\n{{input}}\n')
    inputs = list(dict.fromkeys(text for text, _, _ in rows))
    cases = tuple(Case(id=f"c{n}", inputs={"input": text}, origin="added") for n, text in enumerate(inputs))
    repeats: dict[tuple[str, str], int] = {}
    outputs = []
    for text, model, answer in rows:
        key = (f"c{inputs.index(text)}", model)
        repeats[key] = repeats.get(key, -1) + 1
        error = None if answer is not None else "error"
        outputs.append(Output(case=key[0], model=model, repeat=repeats[key], text=answer, error=error, tokens_in=3))
    manifest = Manifest(run="a", prompt="p", prompt_fingerprint="f", spec_digest="s", suite_digest="u", models=("m",))
    suite = Suite(cases=cases)
    run = Run(manifest=manifest, prompt=prompt, spec=Spec(), suite=suite, outputs=tuple(outputs))
    exported = write(ProjectSource(Project(prompt, Spec(), suite, rendered=renderer(prompt)), run))
    with tempfile.TemporaryDirectory() as folder:
        made = read("openai-completions", written(Path(folder) / "c.jsonl", exported.text))
    assert made.suite is not None
    assert [(case.id, case.inputs) for case in made.suite.cases] == [(case.id, case.inputs) for case in cases]
    assert [(one.key, one.text, one.tokens_in) for one in made.outputs] == [
        (one.key, one.text, one.tokens_in) for one in outputs
    ]
