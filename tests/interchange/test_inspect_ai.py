"""Datasets of Inspect in, tasks out, and logs of real runs judged again with the verdicts that Inspect gave."""

from __future__ import annotations

import ast
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import promptpex
from promptpex.cli.main import run_cli
from promptpex.codecs.files.packed import opened_zip
from promptpex.core.errors import InputError
from promptpex.core.records import Case, Check, InputCheck, Message, Prompt, Rule, Spec, Suite
from promptpex.interchange import inspect_log
from promptpex.interchange.format import Project
from promptpex.interchange.inspect_ai import read, write
from promptpex.interchange.pytest_module import literal
from promptpex.promptfile import renderer

LOGS = Path(__file__).parents[1] / "data" / "inspect"
HOSTILE = '"""\n\'\'\'\nimport os; os.system("x")\n# \\ {{q}} \u202e\u2028 {%raw%}'
VALUES = {"pass": "kept", "fail": "broken", 1: "kept", 0: "broken"}


class _Project:
    """A source of a project alone."""

    def __init__(self, project: Project) -> None:
        self._project = project

    def project(self) -> Project:
        return self._project

    def suite(self) -> Suite:
        return self._project.suite

    def run(self) -> Any:
        raise AssertionError


def _written(text: str, *rules: Rule, **inputs: Any) -> tuple[str, tuple[str, ...]]:
    prompt = Prompt(name="a b", messages=(Message(role="system", content=text),), variables=("q",), fingerprint="f")
    suite = Suite(prompt="p.md", cases=(Case(id="c", inputs=inputs, expected=HOSTILE, also_right=("x",)),))
    made = write(_Project(Project(prompt, Spec(intent=HOSTILE, rules=rules), suite, rendered=renderer(prompt))))
    return made.text, made.left_out


def _data(text: str) -> dict[str, Any]:
    """The constants of a task."""
    assigned = [node for node in ast.parse(text).body if isinstance(node, ast.Assign)]
    names = {"NAME", "INTENT", "PROMPT", "RULES", "CASES"}
    return {
        target.id: ast.literal_eval(node.value)
        for node in assigned
        for target in node.targets
        if isinstance(target, ast.Name) and target.id in names
    }


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(JSON)
def test_any_value_is_a_literal_that_means_it(value: Any) -> None:
    assert ast.literal_eval(f"[{literal(value)}]") == [value]
    assert literal(value).isprintable() or "\n" in literal(value)


def test_hostile_texts_stand_in_a_task_as_texts() -> None:
    rule = Rule(id="r", rule=HOSTILE, checks=(Check(kind="contains", value=HOSTILE),))
    plain, _ = _written("Say it.", q="x")
    text, notes = _written("Say {{q}}.", rule, Rule(id="j", rule="It is kind."), q=f"{HOSTILE}\ud800")
    kinds = [[type(node).__name__ for node in ast.parse(made).body] for made in (plain, text)]
    assert kinds[0] == kinds[1]
    data = _data(text)
    assert (data["NAME"], data["INTENT"], data["CASES"][0]["inputs"]) == ("a-b", HOSTILE, {"q": f"{HOSTILE}\ud800"})
    assert data["RULES"][0]["checks"] == [{"kind": "contains", "value": HOSTILE}]
    assert data["CASES"][0]["expected"] == HOSTILE
    assert notes == ("rules that code does not decide need -T grader=MODEL",)


def test_a_prompt_with_tags_brings_its_messages_along() -> None:
    data = _data(_written("{% for one in q %}<{{one}}>{% endfor %}", q=["a", "b"])[0])
    assert data["CASES"][0]["messages"] == [{"role": "system", "content": "<a><b>"}]
    assert "messages" not in _data(_written("Say {{ q }}.", q="x")[0])["CASES"][0]
    text, notes = _written("{{q.nothing.there}}", q="x")
    assert _data(text)["CASES"] == []
    assert notes == ("case c is left out: the prompt cannot be rendered with it",)


ROWS: list[dict[str, Any]] = [
    {"input": "2+2?", "target": "4", "id": 1, "metadata": {"topic": "sums"}, "files": {"a": "b"}},
    {"input": "Which?", "target": ["B", "b"], "choices": ["x", "y"]},
]


@pytest.mark.parametrize("ending", ["json", "jsonl", "csv"])
def test_a_dataset_becomes_cases_and_names_what_it_has_more(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    lines = "".join(json.dumps(row) + "\n" for row in ROWS)
    table = 'input,target,id,choices,files\n2+2?,4,1,,"{""a"": ""b""}"\nWhich?,B,,"x, y",\n'
    path.write_text({"json": json.dumps(ROWS), "jsonl": lines, "csv": table}[ending], encoding="utf-8")
    made = read(path)
    assert made.suite is not None
    first, second = made.suite.cases
    assert (first.id, first.inputs, first.expected) == ("1", {"input": "2+2?"}, "4")
    assert (second.inputs, second.expected) == ({"input": "Which?", "choices": ["x", "y"]}, "B")
    assert second.also_right == (() if ending == "csv" else ("b",))
    assert "files" in {note.name for note in made.notes}
    assert all(note.line is not None for note in made.notes)


def _cases(path: Path) -> tuple[Case, ...]:
    suite = read(path).suite
    assert suite is not None
    return suite.cases


def test_choices_that_are_no_csv_are_read_or_refused_with_their_line(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text('input,target,choices\nWhich?,A,"x\ny, z"\nWhich?,A,"a ""b, c"\n', "utf-8")
    cases = _cases(data)
    assert [case.inputs["choices"] for case in cases] == [["x", "y", "z"], ['a "b', "c"]]
    data.write_text(f'input,target,choices\nWhich?,A,"x,{"y" * 200_000}"\n', "utf-8")
    assert len(_cases(data)[0].inputs["choices"][1]) == 200_000
    data.write_text("input,target,choices\nWhich?,A,x\0y\n", "utf-8")
    with pytest.raises(InputError, match="binary"):
        read(data)


def test_a_dataset_of_chats_brings_the_prompt_that_they_share(tmp_path: Path) -> None:
    chats = [
        {"input": [{"role": "system", "content": "Add."}, {"role": "user", "content": text}], "target": "x"}
        for text in ("1", "2")
    ]
    tools = {"input": [{"role": "tool", "content": "x"}], "target": "x"}
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*chats, tools]), encoding="utf-8")
    made = read(tmp_path / "a.jsonl")
    assert made.prompt is not None
    assert made.suite is not None
    assert [turn.content for turn in made.prompt.messages] == ["Add.", "{{input}}"]
    assert [case.inputs for case in made.suite.cases] == [{"input": "1"}, {"input": "2"}]
    assert [(note.became, note.line) for note in made.notes] == [("left out", 3)]


def _scores(log: Path) -> dict[tuple[str, str], str]:
    """What Inspect's scorer said of each case and rule."""
    if log.suffix == ".json":
        samples = json.loads(log.read_text(encoding="utf-8"))["samples"]
    else:
        with opened_zip(log, what="log") as parts:
            samples = [json.loads(parts.read(name)) for name in parts.names if name.startswith("samples/")]
    return {
        (str(sample["id"]), rule): VALUES.get(value, "neither")
        for sample in samples
        for rule, value in sample["scores"]["checks"]["value"].items()
    }


@pytest.mark.parametrize("name", ["haiku.eval", "haiku.json"])
def test_a_log_of_a_task_of_ours_is_judged_as_inspect_did(tmp_path: Path, name: str) -> None:
    if name.endswith(".eval"):
        pytest.importorskip("pyarrow", reason="pyarrow is not installed (the extra parquet)")
    log = LOGS / name
    scores = _scores(log)
    assert {"kept", "broken"} <= set(scores.values())
    assert run_cli(["import", str(log), "--out", str(tmp_path / "out")]) == 0
    (folder,) = (path.parent for path in (tmp_path / "out").rglob("manifest.json"))
    run_cli(["judge", str(folder), "--judge", "none", "--results", str(tmp_path / "out"), "-q"])
    run = promptpex.read_run(folder)
    verdicts = {
        (verdict.case, verdict.rule): VALUES.get(verdict.status, "neither")
        for verdict in run.verdicts
        if verdict.counts and (verdict.case, verdict.rule) in scores
    }
    assert verdicts == scores


SAMPLE = {
    "id": "a/b",
    "epoch": 1,
    "input": "hi",
    "target": "x",
    "messages": [
        {"role": "system", "content": "Be kind. {{x}}"},
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {"role": "assistant", "content": "ho"},
    ],
    "output": {
        "choices": [{"message": {"role": "assistant", "content": "ho"}, "stop_reason": "max_tokens"}],
        "usage": {"input_tokens": 3, "output_tokens": 2},
        "time": 0.5,
    },
    "scores": {"match": {"value": float("nan")}},
}


def _log(**changes: Any) -> dict[str, Any]:
    return {"version": 2, "eval": {"model": "openai/x", "task": "t", "task_id": "1", "run_id": "2"},
            "samples": [{**SAMPLE, **changes}]}  # fmt: skip


def test_a_log_of_any_task_becomes_a_run(tmp_path: Path) -> None:
    data = _log()
    data["samples"] += [{**SAMPLE, "epoch": 2}, {**SAMPLE, "id": "c", "output": {"choices": []}, "messages": [],
                                               "error": {"message": "down"}}]  # fmt: skip
    (tmp_path / "a.json").write_text(json.dumps(data), encoding="utf-8")
    assert inspect_log.recognise(tmp_path / "a.json")
    made = inspect_log.read(tmp_path / "a.json")
    assert made.prompt is not None
    answers = [(one.case, one.repeat, one.text, one.error, one.finish_reason, one.latency_ms) for one in made.outputs]
    assert answers == [("a-b", 0, "ho", None, "length", 500.0), ("a-b", 1, "ho", None, "length", 500.0)]
    (other,) = made.further
    assert [(one.model, one.error, one.message) for one in other.outputs] == [("openai/x", "error", "down")]
    assert "scores" in {note.name for note in made.notes}


def test_a_log_is_called_by_its_task_and_names_what_it_leaves_out(tmp_path: Path) -> None:
    data = _log(metadata={"level": 3}, scores={"includes": {"value": "C"}})
    data["eval"] |= {"task": "capitals", "scorers": [{"name": "includes"}], "model_generate_config": {"temperature": 1}}
    (tmp_path / "2026-01-01_capitals_x.json").write_text(json.dumps(data), encoding="utf-8")
    made = inspect_log.read(tmp_path / "2026-01-01_capitals_x.json")
    assert made.prompt is not None
    assert made.prompt.name == "capitals"
    names = ["scores (includes)", "model_generate_config.temperature", "metadata.level"]
    assert [note.name for note in made.notes] == names


def _zip(**parts: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        for name, text in parts.items():
            file.writestr(name.replace("__", "/").replace("_json", ".json"), text)
    return made.getvalue()


IMAGE = {"message": {"role": "assistant", "content": [{"type": "image"}]}}
HEADER = json.dumps({key: value for key, value in _log().items() if key != "samples"})


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("a.eval", b"PK\x03\x04", "the log cannot be read"),
        ("a.eval", _zip(x_json="{}"), "no header.json"),
        ("a.eval", _zip(header_json="[1]"), "must be a mapping"),
        ("a.eval", _zip(header_json=HEADER), "holds no samples"),
        ("a.eval", _zip(header_json=HEADER, samples__a_json="[" * 9_000), "not valid JSON"),
        ("a.eval", _zip(header_json=HEADER, samples__a_json="\0"), "binary"),
        ("a.eval", _zip(header_json=HEADER, samples__a_json="3"), "must be a mapping"),
        ("a.json", b"{", "not valid JSON"),
        ("a.json", json.dumps(_log(messages=[{"role": "tool"}])).encode(), "nothing in this file can be imported"),
        ("a.json", json.dumps(_log(output={"choices": [IMAGE]})).encode(), "parts that are not text"),
    ],
)
def test_broken_logs_are_one_sentence(tmp_path: Path, name: str, data: bytes, says: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError) as failure:
        inspect_log.read(tmp_path / name)
    assert says in str(failure.value)
    assert len(str(failure.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("kept", "says"),
    [
        ({"prompt": []}, "no prompt"),
        ({"prompt": [{"role": "x", "content": "y"}]}, "the prompt in its metadata is invalid"),
        ({"prompt": [{"role": "user", "content": "y"}], "rules": [3]}, "the rules in its metadata are invalid"),
        (
            {"prompt": [{"role": "user", "content": "y"}], "rules": [{"id": "../x", "rule": "y"}]},
            "rules in its metadata",
        ),
    ],
)
def test_what_a_log_says_of_a_task_of_ours_is_not_trusted(tmp_path: Path, kept: Any, says: str) -> None:
    data = _log(metadata={"promptpex": {"id": "a", "inputs": {}}})
    data["eval"]["metadata"] = {"promptpex": kept}
    (tmp_path / "a.json").write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(InputError, match=says):
        inspect_log.read(tmp_path / "a.json")


def test_entries_that_lead_out_are_read_and_written_nowhere(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    parts = {"header_json": HEADER, "samples__..__..__evil_json": json.dumps(SAMPLE)}
    (tmp_path / "in" / "a.eval").write_bytes(_zip(**parts))
    assert len(inspect_log.read(tmp_path / "in" / "a.eval").outputs) == 1
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["a.eval"]


def test_further_right_outputs_of_a_sample_are_right_for_its_checks() -> None:
    checks = promptpex.RuleChecks([{"id": "r", "rule": "It is right.", "checks": [{"kind": "expected"}]}])
    assert [checks(text, expected="a", also_right=("b",))["r"].status for text in "abc"] == ["pass", "pass", "fail"]


def test_rules_that_do_not_concern_a_case_are_named_with_it() -> None:
    prompt = Prompt(name="a", messages=(Message(role="user", content="{{q}}"),), variables=("q",), fingerprint="f")
    suite = Suite(prompt="p.md", cases=tuple(Case(id=name, inputs={"q": name}) for name in "ab"))
    rule = Rule(id="r", rule="It thanks.", when=(InputCheck(variable="q", kind="equals", value="a"),))
    project = Project(prompt, Spec(rules=(rule,)), suite, concerned={"r": frozenset("a")})
    cases = _data(write(_Project(project)).text)["CASES"]
    assert [case.get("unconcerned") for case in cases] == [None, ["r"]]
