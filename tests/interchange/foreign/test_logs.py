"""Logs of production: recorded completions, spans and traces as runs to judge."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.cases.samples_and_scenarios import read_samples
from promptpex.cli.main import run_cli
from promptpex.core.errors import InputError
from promptpex.core.records import Case, Manifest, Output, Run, Spec, Suite
from promptpex.interchange.format import Project
from promptpex.interchange.openai_completions import write
from promptpex.promptfile import parse, renderer
from promptpex.report import runs
from tests.interchange.foreign.imported import Made, ProjectSource, imported, left_out, read, reads_as, written
from tests.interchange.foreign.sample_files import CHAT, ITEM, OBSERVATION, SPAN, SPANS

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


DATA = Path(__file__).parents[2] / "data" / "foreign"
Capture_of_traces = pytest.CaptureFixture[str]


def _of_data(tmp_path: Path, capsys: Capture_of_traces, name: str, *arguments: str) -> Made:
    path = tmp_path / name
    path.write_bytes((DATA / name).read_bytes())
    return imported(capsys, path, *arguments)


@pytest.mark.parametrize(
    ("name", "arguments", "answers", "tokens"),
    [
        ("langfuse_observations.jsonl", ("langfuse",), ["NN", "NN"], (5, 1)),
        ("langfuse_spans.jsonl", ("otel-genai",), ["NN", "NN"], (5, 1)),
        ("otel_spans.jsonl", ("otel-genai",), ["NN", "NN"], (5, 1)),
    ],
)  # fmt: skip
def test_files_that_the_programs_wrote_are_runs(
    name: str, arguments: tuple[str, ...], answers: list[str], tokens: Any, tmp_path: Path, capsys: Capture_of_traces
) -> None:
    made = _of_data(tmp_path, capsys, name, *arguments)
    assert [(turn.role, turn.content) for turn in made.prompt.messages] == [
        ("system", "Tag the word."), ("user", "{{input}}")
    ]  # fmt: skip
    assert [case.inputs for case in made.suite.cases] == [{"input": "Word: fox"}, {"input": "Word: dog"}]
    outputs = made.run().outputs
    assert [output.text for output in outputs] == answers
    assert (outputs[0].tokens_in, outputs[0].tokens_out) == tokens
    assert made.answer["left_out"] == []
    kept = "".join(path.read_text(encoding="utf-8") for path in made.folder.rglob("*") if path.is_file())
    assert "key-of-test" not in kept


def test_with_their_prompt_traces_are_inputs_and_samples(tmp_path: Path, capsys: Capture_of_traces) -> None:
    text = "---\nname: tag\nsamples: real.jsonl\n---\nsystem:\nTag the {{thing}}.\n\nuser:\nWord: {{word}}\n"
    written(tmp_path / "tag.md", text)
    other = {**OBSERVATION, "id": "o9", "input": "Something else"}
    rows = [*(DATA / "langfuse_observations.jsonl").read_text(encoding="utf-8").splitlines(), json.dumps(other)]
    path = written(tmp_path / "o.jsonl", "\n".join(rows))
    out = tmp_path / "real.jsonl"
    arguments = ["import", str(path), "--prompt", str(tmp_path / "tag.md"), "--cases-only", "--out", str(out), "--json"]
    assert run_cli(arguments) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["cases"], [(note["name"], note["line"]) for note in answer["left_out"]]) == (2, [("[2]", 3)])
    samples = read_samples("real.jsonl", variables=("thing", "word"), path=tmp_path / "tag.md")
    assert sorted(samples) == ["thing: word\nword: dog", "thing: word\nword: fox"]
    written(tmp_path / "other.md", "Translate {{text}}\n")
    assert run_cli(["import", str(path), "--prompt", str(tmp_path / "other.md"), "--out", str(tmp_path / "x")]) == 2
    assert "no request of the file comes from this prompt" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "sent", "inputs"),
    [
        ("Say {{a}} to {{b}}.", "Say hi to Ann.", {"a": "hi", "b": "Ann"}),
        ("Say {{a}} to {{b}}.", "Say hi to you to Ann.", None),
        ("Say {{a}}{{b}}.", "Say hi.", None),
        ("{{a}}, {{a}}", "x, x", {"a": "x"}),
        ("{{a}}, {{a}}", "x, y", None),
        ('{{ "{{" }} {{a}}', "{{ {{a}}", {"a": "{{a}}"}),
        ("No variable.", "anything", {"input": "anything"}),
        ("Say {{a}}.", "Say  {% if %} \n.", {"a": " {% if %} \n"}),
        ("Say {{a}}.", "Tell x.", None),
    ],
)
def test_inputs_are_told_where_there_is_one_way_to(
    text: str, sent: str, inputs: dict[str, str] | None, tmp_path: Path, capsys: Capture_of_traces
) -> None:
    turns = [{"role": "user", "content": sent}]
    if text == "No variable.":
        turns.insert(0, {"role": "system", "content": text})
    path = written(tmp_path / "o.jsonl", [{**OBSERVATION, "input": turns}])
    role = "system" if text == "No variable." else "user"
    written(tmp_path / "p.md", f"---\nname: p\n---\n{role}:\n{text}\n")
    code = run_cli(["import", str(path), "--prompt", str(tmp_path / "p.md"), "--cases-only"])
    captured = capsys.readouterr()
    assert code == (0 if inputs is not None else 2), captured.err
    if inputs is not None:
        assert json.loads(captured.out.splitlines()[-1])["inputs"] == inputs


def test_a_template_with_tags_tells_nothing(tmp_path: Path, capsys: Capture_of_traces) -> None:
    path = written(tmp_path / "o.jsonl", [OBSERVATION])
    written(tmp_path / "p.md", "{% for x in y %}{{x}}{% endfor %}\n")
    assert run_cli(["import", str(path), "--prompt", str(tmp_path / "p.md"), "--cases-only"]) == 2
    assert "tags or filters" in capsys.readouterr().err


def test_traces_without_observations_are_requests(tmp_path: Path, capsys: Capture_of_traces) -> None:
    cells = io.StringIO()
    writer = csv.writer(cells)
    writer.writerow(["id", "timestamp", "session_id", "input", "output", "level", "status_message"])
    writer.writerow(
        [
            "t1",
            "2026",
            "s",
            json.dumps({"messages": CHAT}),
            json.dumps([{"role": "assistant", "content": "NN"}]),
            "",
            "",
        ]
    )
    writer.writerow(["t2", "2026", "s", json.dumps(CHAT), "", "ERROR", "too slow"])
    writer.writerow(["t3", "2026", "s", "", "x", "", ""])
    made = imported(capsys, written(tmp_path / "t.csv", cells.getvalue()), "langfuse")
    outputs = [(output.case, output.text, output.message) for output in made.run().outputs]
    assert outputs == [("t1", "NN", None), ("t1", None, "too slow")]
    assert [(note["name"], note["line"]) for note in made.answer["left_out"]] == [("session_id", None), ("[2]", 4)]


def test_only_requests_of_a_trace_come_over(tmp_path: Path) -> None:
    tools = {**OBSERVATION, "id": "o2", "output": {"role": "assistant", "tool_calls": [{"id": "x"}]}}
    trace = {"trace": {"id": "t"}, "observations": [{"id": "s", "type": "SPAN", "input": "x"}, OBSERVATION, tools]}
    made = read("langfuse", written(tmp_path / "t.json", json.dumps(trace, indent=1)))
    assert [(output.text, output.cost_usd, output.latency_ms) for output in made.outputs] == [("NN", 0.01, 500.0)]
    assert left_out(made) == [("[0].observations[0]", 1), ("[0].observations[2]", 1)]


def test_items_of_a_data_set_are_cases(tmp_path: Path) -> None:
    rows = [ITEM, {**ITEM, "id": "i2", "status": "ARCHIVED"}, {**ITEM, "id": "i3", "input": "dog"},
            {**ITEM, "id": "i4", "expectedOutput": {"tag": "NN"}, "metadata": None}]  # fmt: skip
    made = read("langfuse", written(tmp_path / "i.jsonl", rows))
    assert made.is_suite
    assert made.suite is not None
    assert [(case.id, case.inputs, case.expected) for case in made.suite.cases] == [
        ("i1", {"word": "fox"}, "NN"), ("i3", {"input": "dog"}, "NN"), ("i4", {"word": "fox"}, '{"tag": "NN"}')
    ]  # fmt: skip
    assert left_out(made) == [("[0].metadata", 1), ("[1]", 2), ("[2].metadata", 3)]
    assert read("langfuse", DATA / "langfuse_items.json").suite is not None


EXPORTED: dict[str, Any] = {
    "id": "o1", "traceId": "t1", "projectId": "p", "type": "GENERATION", "environment": "default",
    "parentObservationId": "r", "startTime": "2026-01-01T00:00:00.000Z", "endTime": "2026-01-01T00:00:01.250Z",
    "name": "tag", "metadata": {}, "level": "DEFAULT", "statusMessage": None, "version": None, "input": CHAT,
    "output": {"role": "assistant", "content": "NN"}, "modelParameters": {"temperature": 0.2},
    "completionStartTime": None, "promptId": None, "usageDetails": {"input": 3, "input_cached": 4, "output": 1,
                                                                    "total": 8},
    "costDetails": {"input": 0.1, "total": 0.3}, "providedCostDetails": {}, "model": "gpt-4o", "internalModelId": "x",
    "latency": 1250, "timeToFirstToken": None, "totalCost": None, "inputUsage": 7, "outputUsage": 1, "totalUsage": 8,
    "traceName": "t", "traceTags": [], "userId": None, "modelId": None, "comments": [{"content": "look"}],
    "quality": [0.5],
}  # fmt: skip
"""A row of the page's export of observations: its columns in their order, with a score as the last."""
TRACE: dict[str, Any] = {
    "id": "t1", "timestamp": "2026-01-01T00:00:00.000Z", "name": "chat", "userId": None, "sessionId": None,
    "release": None, "version": None, "environment": "default", "tags": [], "bookmarked": False, "public": False,
    "input": "Tag: fox", "output": "NN", "metadata": {}, "latency": 1.5,
    "usage": {"promptTokens": 3, "completionTokens": 1, "totalTokens": 4}, "inputCost": None, "outputCost": None,
    "totalCost": "0.25", "level": "DEFAULT", "observationCount": 1, "inputTokens": 3, "outputTokens": 1,
    "totalTokens": 4, "comments": [],
}  # fmt: skip
EVENT: dict[str, Any] = {
    "id": "e1", "traceId": "t1", "traceName": "t", "type": "GENERATION", "name": "tag",
    "startTime": "2026-01-01 00:00:00.000", "endTime": None, "input": json.dumps(CHAT), "output": "NN",
    "providedModelName": "gpt-4o", "modelId": "m", "usageDetails": {"input": 3, "output": 1}, "totalCost": 0.1,
    "latencyMs": 40, "timeToFirstTokenMs": None, "parentObservationId": None,
}  # fmt: skip


def _as_csv(row: Mapping[str, Any]) -> str:
    """A row as Langfuse's page writes it: texts as they are, nothing for null, all else as JSON."""
    held = io.StringIO()
    writer = csv.writer(held, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(row)
    writer.writerow([value if isinstance(value, str) else "" if value is None else json.dumps(value)
                     for value in row.values()])  # fmt: skip
    return held.getvalue()


@pytest.mark.parametrize("ending", ["jsonl", "json", "csv"])
@pytest.mark.parametrize(
    ("row", "answer"),
    [
        (EXPORTED, ("NN", "gpt-4o", 7, 1, 0.3, 1250.0)),
        (TRACE, ("NN", "unknown", 3, 1, 0.25, 1500.0)),
        (EVENT, ("NN", "gpt-4o", 3, 1, 0.1, 40.0)),
    ],
    ids=["observation", "trace", "event"],
)
def test_rows_of_the_pages_exports_are_answers(
    row: dict[str, Any], answer: tuple[Any, ...], ending: str, tmp_path: Path
) -> None:
    text = _as_csv(row) if ending == "csv" else json.dumps([row] if ending == "json" else row)
    path = written(tmp_path / f"x.{ending}", text)
    assert reads_as(path)[0] == "langfuse"
    made = read("langfuse", path)
    assert [(one.text, one.model, one.tokens_in, one.tokens_out, one.cost_usd, one.latency_ms)
            for one in made.outputs] == [answer]  # fmt: skip
    named = [("modelParameters", None), ("comments", None)] if row is EXPORTED else []
    assert sorted(left_out(made)) == sorted((_in_words(name), line) for name, line in named)


def _in_words(name: str) -> str:
    return {"modelParameters": "model_parameters"}.get(name, name)


def test_numbers_are_inputs_and_times_that_are_none_say_nothing(tmp_path: Path) -> None:
    odd = {**OBSERVATION, "input": 12, "startTime": "soon", "endTime": "2026-01-01T00:00:00Z", "latency": None,
           "usageDetails": {"input": "many"}, "usage": {"promptTokens": -1}}  # fmt: skip
    made = read("langfuse", written(tmp_path / "x.jsonl", [odd]))
    assert made.suite is not None
    assert [case.inputs for case in made.suite.cases] == [{"input": "12"}]
    assert [(one.latency_ms, one.tokens_in) for one in made.outputs] == [(None, None)]


def _span(**attributes: str) -> dict[str, Any]:
    values = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
    span = {**SPAN, "spanId": str(attributes), "attributes": values, "events": []}
    return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}


def test_older_forms_of_spans_are_read(tmp_path: Path) -> None:
    older = {"gen_ai.prompt.1.role": "user", "gen_ai.prompt.1.content": "Word: fox", "gen_ai.prompt.0.role": "system",
             "gen_ai.prompt.0.content": "Tag it.", "gen_ai.completion.0.content": "NN",
             "gen_ai.completion.0.finish_reason": "stop"}  # fmt: skip
    oldest = {
        "gen_ai.prompt": json.dumps(CHAT),
        "gen_ai.completion": json.dumps([{"role": "assistant", "content": "VB"}]),
    }
    failed = {"gen_ai.prompt": json.dumps(CHAT), "error.type": "timeout"}
    rows = [SPANS, _span(**older), _span(**oldest), _span(**failed)]
    made = read("otel-genai", written(tmp_path / "s.jsonl", rows))
    parts = [made, *made.further]
    outputs = [(output.text, output.message, output.finish_reason) for part in parts for output in part.outputs]
    assert outputs == [("NN", None, "stop"), ("NN", None, "stop"), ("VB", None, None), (None, "timeout", None)]
    assert made.outputs[0].latency_ms == 250


def test_spans_that_are_no_requests_are_named(tmp_path: Path) -> None:
    rows = [SPANS, _span(**{"http.method": "GET"}), _span(**{"gen_ai.operation.name": "execute_tool"}),
            _span(**{"gen_ai.request.model": "m"}),
            _span(**{"gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "blob"}]}]'})]  # fmt: skip
    made = read("otel-genai", written(tmp_path / "s.jsonl", rows))
    place = "resourceSpans[0].scopeSpans[0].spans[0]"
    assert left_out(made) == [(f"[{n}].{place}", n + 1) for n in range(1, 5)]
    with pytest.raises(InputError, match="nothing in this file can be imported"):
        read("otel-genai", written(tmp_path / "s.jsonl", rows[1:]))


def test_many_shapes_of_chats_are_so_many_prompts(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]
    rows = [{**OBSERVATION, "input": turns * n + turns[:1]} for n in range(25)]
    made = read("langfuse", written(tmp_path / "o.jsonl", rows))
    assert len(made.further) == 19
    assert len(left_out(made)) == 5
