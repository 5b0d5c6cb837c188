"""Reading prompt files: every format, every mistake with its sentence and line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.core.errors import ConfigError, PromptFileError
from promptpex.core.records import Message
from promptpex.promptfile import examine, parse, read, read_with_warnings, required
from promptpex.promptfile.front_matter import STAGES, in_our_words

SYSTEM_USER = (Message(role="system", content="Tag {{word}}."), Message(role="user", content="Now {{ sentence }}"))


def _write(tmp_path: Path, name: str, text: str | bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.md", "---\nname: tagger\n---\nsystem:\nTag {{word}}.\n\nuser:\nNow {{ sentence }}\n"),
        ("a.md", "---\r\nname: tagger\r\n---\r\nTag {{word}}.\r\nuser:\r\nNow {{ sentence }}\r\n"),
        ("a.txt", "\ufeff---\nname: tagger\n---\nTag {{word}}.\nuser:  \nNow {{ sentence }}"),
        ("a.j2", "---\nname: tagger\n---\nsystem:\nTag {{word}}.\nuser:\nNow {{ sentence }}"),
        ("a.jinja", "---\nname: tagger\n---\nTag {{word}}.\nuser:\nNow {{ sentence }}"),
        ("a.prompty", "---\nname: tagger\n---\n# System:\nTag {{word}}.\nUser:\nNow {{ sentence }}"),
        (
            "a.prompt.yml",
            "name: tagger\nmessages:\n  - role: system\n    content: Tag {{word}}.\n"
            "  - {role: user, content: 'Now {{ sentence }}'}\n",
        ),
        (
            "a.json",
            json.dumps(
                {
                    "name": "tagger",
                    "messages": [
                        {"role": "developer", "content": "Tag {{word}}."},
                        {"role": "user", "content": [{"type": "text", "text": "Now {{ sentence }}"}]},
                    ],
                }
            ),
        ),
    ],
)
def test_every_format_says_the_same(tmp_path: Path, name: str, text: str) -> None:
    prompt, warnings = read_with_warnings(_write(tmp_path, name, text))
    assert prompt.messages == SYSTEM_USER
    assert (prompt.name, prompt.variables, prompt.implicit_input) == ("tagger", ("word", "sentence"), False)
    assert prompt.fingerprint == parse("Tag {{word}}.\nuser:\nNow {{ sentence }}").fingerprint
    assert warnings == []


def test_a_list_of_messages_and_a_name_from_the_file(tmp_path: Path) -> None:
    prompt = read(_write(tmp_path, "my.tagger.json", '[{"role": "user", "content": "Hi"}]'))
    assert (prompt.name, prompt.variables, prompt.implicit_input) == ("my.tagger", ("input",), True)


def test_prompty_of_both_versions(tmp_path: Path) -> None:
    one = _write(tmp_path, "1.prompty", "---\nname: x\nmodel:\n  api: chat\n  parameters: {max_tokens: 5}\n"
                 "inputs:\n  q: {type: string, default: why}\nsample: {q: how}\n---\nsystem:\n{{q}}\n")  # fmt: skip
    two = _write(tmp_path, "2.prompty", "---\nname: x\nmodel:\n  id: gpt\n  connection: {kind: key}\n"
                 "inputs:\n  - name: q\n    kind: string\n    default: why\n---\nsystem:\n{{q}}\n")  # fmt: skip
    for path in (one, two):
        prompt, warnings = read_with_warnings(path)
        assert prompt.meta["inputs"]["q"]["default"] == "why"
        assert required(prompt) == ()
        assert prompt.variables == ("q",)
        assert warnings == []
    assert read(one).meta["samples"] == [{"q": "how"}]


def test_prompty_that_is_no_jinja_warns(tmp_path: Path) -> None:
    body = "metadata: {tags: [a]}\ndisplayName: X\ntools: []\n---\nsystem:\nHi {{q}}\n"
    for template in ("template: mustache", "template: {type: mustache}", "template: {format: {kind: mustache}}"):
        _, warnings = read_with_warnings(_write(tmp_path, "m.prompty", f"---\n{template}\n{body}"))
        assert len(warnings) == 1
        assert "'mustache', but read as Jinja" in warnings[0]
    for template in ("template: jinja2", "template: {format: {kind: jinja2}, parser: {kind: prompty}}", "template: 3"):
        assert read_with_warnings(_write(tmp_path, "j.prompty", f"---\n{template}\n{body}"))[1] == []


def test_conversations_and_fences() -> None:
    text = "Intro\n\nuser:\nq1\nassistant:\na1\n\n```yaml\nuser:\n  x: 1\n```\nuser:\n{{q}}\nassistant:\n```json"
    assert [turn.role for turn in parse(text).messages] == ["system", "user", "assistant", "user", "assistant"]
    assert "user:\n  x: 1" in parse(text).messages[2].content


def test_role_words_inside_a_line_do_not_split() -> None:
    assert len(parse("system: be short\nThe user: asks").messages) == 1


def test_unknown_front_matter_is_kept_and_warned_about(tmp_path: Path) -> None:
    path = _write(tmp_path, "a.md", "---\ndescripton: x\nmine: [1]\n---\nHi\n")
    prompt, problems = examine(path)
    assert prompt.unknown == {"descripton": "x", "mine": [1]}
    assert [(problem.line, problem.severity) for problem in problems] == [(2, "warning"), (3, "warning")]
    assert "did you mean 'description'" in problems[0].sentence()


def test_unused_and_undeclared_inputs_are_warned_about(tmp_path: Path) -> None:
    path = _write(tmp_path, "a.md", "---\ninputs: [a, b]\n---\n{{a}} {{c}}\n")
    warnings = read_with_warnings(path)[1]
    assert len(warnings) == 2
    assert "'b' is declared but not used" in warnings[0]
    assert "'c' is used but not declared among the inputs" in warnings[1]


@pytest.mark.parametrize(
    ("name", "text", "line", "problem"),
    [
        ("a.md", "", None, "empty"),
        ("a.md", " \n\n", None, "empty"),
        ("a.md", "---\nname: x\n---\n\n", None, "no text below the front matter"),
        ("a.md", b"ab\0c", None, "NUL at byte 2"),
        ("a.md", b"abc\xff", None, "byte 3"),
        ("a.md", b"\xff\xfea", None, "UTF-16"),
        ("a.md", "---\nname: x\n", 1, "never ends"),
        ("a.md", "---\nname: [x\n---\nHi", 2, "not valid YAML"),
        ("a.md", "---\na: 1\na: 2\n---\nHi", 3, "twice"),
        ("a.md", "---\n- a\n---\nHi", 2, "key: value"),
        ("a.md", "---\ninputs: 5\n---\nHi", 2, "must name the variables"),
        ("a.md", "---\nname: x\n---\n\nuser:\n\nHi {{name\nx}} {{", 8, "template is broken"),
        ("a.md", "Hi\n{% if x %}", 2, "template is broken"),
        ("a.md", "Hi\n{{ x|nofilter }}", 2, "No filter"),
        ("a.md", "{% include 'a' %}", 1, "includes cannot be used"),
        ("a.json", '[{"role": "user",\n}]', 2, "not valid JSON"),
        ("a.json", '[{"role": "user"},\n\n]', 3, "not valid JSON"),
        ("a.json", '[,\n{"role": "user"}]', 1, "not valid JSON"),
        ("a.json", '[{"role": "user",,\n"content": ""}]', 1, "not valid JSON"),
        ("a.json", '[{"role": "tool", "content": "x"}]', None, "'tool'"),
        ("a.json", '[{"role": "user", "content": [{"type": "image_url"}]}]', None, "not text"),
        ("a.json", '"x"', None, "list of messages"),
        ("a.json", "[" * 100_000, None, "JSON"),
        ("a.prompt.yml", "name: x\n", 1, "needs 'messages'"),
        ("a.prompt.yml", "messages:\n  - role: system\n    content: x\n  - role: bot\n    content: x\n", 5, "'bot'"),
    ],
)
def test_mistakes_have_a_sentence_and_a_line(
    tmp_path: Path, name: str, text: str | bytes, line: int | None, problem: str
) -> None:
    path = _write(tmp_path, name, text)
    with pytest.raises(PromptFileError) as caught:
        read(path)
    assert (caught.value.path, caught.value.line) == (path, line)
    assert problem in str(caught.value)


def test_missing_folder_and_huge_files(tmp_path: Path) -> None:
    with pytest.raises(PromptFileError, match="no such prompt file"):
        read(tmp_path / "none.md")
    with pytest.raises(PromptFileError, match="a folder"):
        read(tmp_path)
    path = _write(tmp_path, "a.md", b"x" * 10_000_000)
    with pytest.raises(PromptFileError, match=r"10\.0 MB; the limit is 1 MB"):
        read(path)


@pytest.mark.parametrize("name", ["/dev/zero", "a\0b.md"])
def test_hostile_names(name: str) -> None:
    with pytest.raises(PromptFileError):
        read(name)


def test_utf_16_with_its_mark_is_read(tmp_path: Path) -> None:
    assert read(_write(tmp_path, "a.md", "\ufeffTiếng Việt {{x}}".encode("utf-16-le"))).variables == ("x",)


def test_fingerprint_follows_the_messages_alone() -> None:
    first = parse("---\nname: a\n---\nHi {{x}}\n")
    assert first.fingerprint == parse("\n\nHi {{x}}\r\n").fingerprint
    assert first.fingerprint != parse("Hi {{y}}").fingerprint
    assert first.fingerprint != parse("user:\nHi {{x}}").fingerprint


@given(st.text(), st.sampled_from(["a.md", "a.prompty", "a.prompt.yml", "a.json", "a.txt"]))
def test_any_text_is_a_prompt_or_a_named_error(text: str, name: str) -> None:
    try:
        prompt = parse(text, name)
    except PromptFileError:
        return
    assert prompt.messages
    assert prompt.variables


def test_letters_that_only_look_like_a_role_in_some_case_begin_no_message(tmp_path: Path) -> None:
    """The long s is an s to a pattern that ignores case."""
    path = tmp_path / "p.prompty"
    path.write_text("---\nname: p\n---\nSYSTEM:\nSay it.\nsy\u017ftem:\nAnd more.\n", encoding="utf-8")
    (message,) = read(path).messages
    assert "And more." in message.content


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("prompts/triage/prompt.md", "triage"),
        ("prompts/triage/prompt.prompt.yml", "triage"),
        ("prompts/triage.md", "triage"),
        ("/prompt.md", "prompt"),
        ("prompts/triage/prompts.md", "prompts"),
    ],
)
def test_a_prompt_of_a_folder_of_its_own_is_called_after_it(path: str, name: str) -> None:
    text = "messages:\n- role: user\n  content: Hello.\n" if path.endswith(".yml") else "Hello."
    assert parse(text, path).name == name


def test_the_name_is_the_same_from_wherever_a_prompt_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "triage").mkdir()
    (tmp_path / "triage" / "prompt.md").write_text("Hello.", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "triage")
    assert read("prompt.md").name == read(tmp_path / "triage" / "prompt.md").name == "triage"


WORDS = {
    "scenarios": [{"name": "angry", "instructions": "The customer is angry.", "parameters": {"tier": "gold"}}],
    "instructions": {"inputSpec": "Short.", "outputRules": "Form only.", "inverseOutputRules": "One.",
                     "testExpansion": "Longer.", "intent": "One sentence."},
    "testSamples": [{"joke": "a horse"}, "real.json"],
}  # fmt: skip


def test_scenarios_instructions_and_samples_get_our_names() -> None:
    done = in_our_words(WORDS, ("joke", "tier"))
    assert done.odd == []
    assert done.meta == {
        "scenarios": [{"name": "angry", "constraints": "The customer is angry.", "fixed": {"tier": "gold"}}],
        "instructions": {
            "inputs": "Short.",
            "rules": "Form only.",
            "inverse": "One.",
            "expand": "Longer.",
            "intent": "One sentence.",
        },
        "samples": [{"joke": "a horse"}, {"file": "real.json"}],
    }


def test_our_own_words_win_and_what_is_passed_over_is_said() -> None:
    done = in_our_words({"instructions": {"inputSpec": "theirs", "inputs": "ours"}}, ("joke",))
    assert done.meta["instructions"] == {"inputs": "ours"}
    assert done.odd == [("instructions", "'inputSpec' is not used; 'inputs' says the same")]


def test_scenarios_by_name_may_use_either_words() -> None:
    done = in_our_words({"scenarios": {"a": {"instructions": "x"}, "b": "y", "c": {"fixed": {"joke": 1}}}}, ("joke",))
    assert done.meta["scenarios"] == {"a": {"constraints": "x"}, "b": "y", "c": {"fixed": {"joke": 1}}}


def test_rows_are_cut_to_what_the_prompt_names(tmp_path: Path) -> None:
    file = tmp_path / "s.prompt.yml"
    file.write_text(
        "messages:\n- {role: user, content: 'Sum up {{input}}'}\n"
        "testData:\n- {input: A text., expected: T, tone: dry}\n- 3\n",
        encoding="utf-8",
    )
    prompt, problems = examine(file)
    assert prompt.meta["samples"] == [{"input": "A text."}]
    assert [(one.line, one.message) for one in problems] == [
        (3, "'testData': only mappings of variables are used"),
        (3, "'testData': the prompt does not name tone, and is not given it"),
    ]


@pytest.mark.parametrize(
    ("short", "declared"),
    [
        ("a default joke", {"default": "a default joke", "sample": "a default joke"}),
        ("string", {"type": "string"}),
        ("strng", {"type": "strng"}),
        ("3", {"type": "number", "default": 3, "sample": 3}),
        ("true", {"type": "boolean", "default": True, "sample": True}),
    ],
)
def test_a_short_declaration_is_a_type_or_else_a_default(short: str, declared: dict[str, object]) -> None:
    prompt = parse(f"---\ninputs:\n  joke: {short}\n---\nRate {{{{joke}}}}.\n")
    assert prompt.meta["inputs"] == {"joke": declared}
    has_default = "default" in declared
    assert required(prompt) == (() if has_default else ("joke",))
    assert prompt.meta.get("samples") == ([{"joke": declared["default"]}] if has_default else None)


def test_samples_join_those_that_are_there() -> None:
    text = "---\nsamples: real.csv\ntestSamples: [{joke: b}]\ninputs: {joke: {type: text, sample: c}}\n---\n{{joke}}\n"
    assert parse(text).meta["samples"] == [{"file": "real.csv"}, {"joke": "b"}, {"joke": "c"}]


def test_samples_of_another_shape_are_refused_by_their_reader() -> None:
    from promptpex.cases.samples_and_scenarios import read_samples

    prompt = parse("---\nsamples: 3\ntestSamples: [{joke: b}]\n---\n{{joke}}\n")
    with pytest.raises(ConfigError, match="'samples' must be a list"):
        read_samples(prompt.meta["samples"], variables=prompt.variables)


YAML = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "instructions", "parameters", "joke", *STAGES, "x"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(
    st.dictionaries(
        st.sampled_from(["scenarios", "instructions", "testSamples", "testData", "samples", "inputs"]), YAML, max_size=5
    )
)
def test_any_front_matter_is_translated_once_and_stays(meta: dict[str, Any]) -> None:
    once = in_our_words(meta, ("joke",))
    assert "testSamples" not in once.meta
    rest = {key: value for key, value in once.meta.items() if key not in ("testData", "inputs")}
    assert in_our_words(rest, ("joke",)).meta == rest
