"""What an import writes, what it refuses to replace, and what it prints of a file that it cannot take as it is."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex import promptfile
from promptpex.cases.file import read_suite, write_suite
from promptpex.cli.main import run_cli
from promptpex.core.errors import InputError
from promptpex.core.records import Case, Message, Prompt, Rule, Spec, Suite
from promptpex.core.translation import reading_in
from promptpex.interchange.format import Imported, ImportedPrompt
from promptpex.interchange.notes import Log, shown
from promptpex.promptfile import read as read_prompt
from promptpex.specs.file import read_spec
from promptpex.workflow.importing.write_import import toml, write_imported
from tests.marked_language import Marked, unmarked
from tests.reproduce import recordings
from tests.samples import suite


def _imported(stem: str = "prompt") -> Imported:
    prompt = ImportedPrompt("shop", (Message(role="user", content="{{a}} {{b}}"),), "A shop.", stem)
    cases = (Case(id="c1", inputs={"a": "1", "mark": "x"}), Case(id="c2", inputs={"a": "2", "b": "3"}))
    spec = Spec(rules=(Rule(id="r1", rule="It is short."),))
    return Imported(prompt=prompt, spec=spec, suite=Suite(cases=cases))


def test_cases_are_made_to_fit_their_prompt(tmp_path: Path) -> None:
    assert write_imported(_imported(), tmp_path) == f"the prompt, 1 rule, 2 cases in {tmp_path}"
    prompt = read_prompt(tmp_path / "prompt.md")
    assert (prompt.name, prompt.description, prompt.checks_only) == ("shop", "A shop.", ("mark",))
    made = read_suite(tmp_path / "prompt.cases.yaml", read_spec(tmp_path / "prompt.spec.yaml"), prompt)
    assert [case.inputs for case in made.cases] == [{"a": "1", "mark": "x", "b": ""}, {"a": "2", "b": "3"}]


def test_several_prompts_share_a_folder(tmp_path: Path) -> None:
    several = Imported(further=(_imported("one"), _imported("two")), settings={"repeats": 2})
    write_imported(several, tmp_path)
    assert sorted(path.name for path in tmp_path.glob("[a-z]*")) == [
        "one.cases.yaml", "one.md", "one.spec.yaml", "promptpex.toml", "two.cases.yaml", "two.md", "two.spec.yaml"
    ]  # fmt: skip
    assert read_spec(tmp_path / "two.spec.yaml").prompt == "two.md"


def test_nothing_is_replaced_unless_that_is_asked_for(tmp_path: Path) -> None:
    write_imported(_imported(), tmp_path)
    (tmp_path / "prompt.md").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="--force"):
        write_imported(_imported(), tmp_path)
    assert (tmp_path / "prompt.md").read_text(encoding="utf-8") == "mine"
    write_imported(_imported(), tmp_path, force=True)
    assert read_prompt(tmp_path / "prompt.md").name == "shop"


def test_a_link_in_the_place_of_a_file_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "mine").write_text("mine", encoding="utf-8")
    (tmp_path / "out" / "prompt.md").symlink_to(tmp_path / "mine")
    with pytest.raises(InputError, match="--force"):
        write_imported(_imported(), tmp_path / "out")
    write_imported(_imported(), tmp_path / "out", force=True)
    assert (tmp_path / "mine").read_text(encoding="utf-8") == "mine"


def _texts(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("failure", [OSError("disk full"), KeyboardInterrupt()])
@pytest.mark.parametrize("is_there", [False, True])
def test_where_an_import_fails_half_way_everything_is_as_it_was(
    tmp_path: Path, failure: BaseException, is_there: bool
) -> None:
    out, kept = tmp_path / "a" / "out", {}
    if is_there:
        write_imported(_imported(), out)
        (out / "prompt.md").write_text("mine", encoding="utf-8")
        (out / "mine.txt").write_text("mine", encoding="utf-8")
        kept = _texts(out)

    class Breaks(dict[str, object]):
        def items(self) -> NoReturn:
            raise failure

    settings = Breaks(repeats=2)
    with pytest.raises((InputError, KeyboardInterrupt)):
        write_imported(replace(_imported(), settings=settings), out, force=True)
    assert _texts(tmp_path / "a" / "out") == kept
    assert (tmp_path / "a").exists() is is_there


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be written"):
        write_imported(_imported(), tmp_path / "file")
    assert _texts(tmp_path) == {"file": "mine"}
    assert read_prompt(_replaced(tmp_path / "out") / "prompt.md").name == "shop"


def _replaced(out: Path) -> Path:
    """A folder that is imported into twice, of which nothing but the second import is left."""
    write_imported(_imported(), out)
    write_imported(_imported(), out, force=True)
    assert [path.name for path in out.iterdir() if path.name.startswith(".replaced")] == []
    return out


_VALUES = st.text(st.characters(exclude_categories=["Cs"])) | st.integers(-(2**62), 2**62) | st.booleans()


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), _VALUES))
def test_settings_are_toml_whatever_stands_in_them(table: dict[str, object]) -> None:
    settings = {"repeats": 2, "models": {"under_test": ["a", "b"], **{f"m-{name}": {"x": table} for name in table}}}
    assert tomllib.loads(toml(settings)) == {
        **settings, "models": {name: {"x": each["x"]} if isinstance(each, dict) else each
                               for name, each in settings["models"].items()}  # type: ignore[attr-defined]
    }  # fmt: skip


def test_equal_notes_share_a_line() -> None:
    log = Log()
    log.came("tests", 2)
    for number in range(14):
        log.left_out(f"tests[{number}].provider", "one model is asked for all", "c.yaml", number)
    log.changed("tests[0].assert[0]", "a judge says yes or no", "c.yaml", 3)
    assert list(shown(log.over, log.notes)) == [
        "came over: tests (2)",
        "changed in meaning:",
        "  c.yaml:3: tests[0].assert[0]: a judge says yes or no",
        "left out:",
        f"  {'; '.join(f'c.yaml:{n}: tests[{n}].provider' for n in range(12))}, and 2 more: one model is asked for all",
    ]


def test_the_format_is_told_by_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_suite(tmp_path / "a.cases.yaml", suite())
    for name in ("csv", "jsonl"):
        file = tmp_path / f"x.{name}"
        assert run_cli(["export", name, str(tmp_path / "a.cases.yaml"), "--out", str(file), "-q"]) == 0
        capsys.readouterr()
        assert run_cli(["import", str(file)]) == 0
        assert '"id":"c1"' in capsys.readouterr().out.replace(" ", "")
    (tmp_path / "tests.csv").write_text("ruleid, testid, testinput, expectedoutput, reasoning\n1, 1, a, b, c\n")
    assert run_cli(["import", str(tmp_path / "tests.csv")]) == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("a.txt",), "it looks like none that is known"),
        (("nothing",), "there is no such file"),
        (("csv",), "name the file or folder"),
        ((), "name the file or folder"),
    ],
)
def test_what_no_format_is_told_by_is_said(
    tmp_path: Path,
    arguments: tuple[str, ...],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("words", encoding="utf-8")
    assert run_cli(["import", *arguments]) == 2
    assert says in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("number", [float("nan"), float("inf"), [{"a": -float("inf")}]])
def test_a_number_that_no_file_holds_is_refused(tmp_path: Path, number: object) -> None:
    suite = Suite(cases=(Case(id="odd", inputs={"x": number}),))
    prompt = ImportedPrompt("p", (Message(role="user", content="x"),), front={"samples": [{"x": number}]})
    with pytest.raises(InputError, match="the front matter contains a number that is not finite"):
        write_imported(Imported(prompt=prompt), tmp_path / "out")
    with pytest.raises(InputError, match="the case 'odd' contains a number that is not finite"):
        write_imported(Imported(suite=suite), tmp_path / "out.cases.yaml")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    recordings.write(tmp_path / "clone")
    return tmp_path / "clone"


@pytest.mark.parametrize(
    "content",
    ["user: not a role", "user:\nis a role line", "```\nuser:\n```", "{{ thing }} and {% raw %}{{x}}{% endraw %}"],
)
def test_a_prompt_file_reads_back_as_the_prompt(content: str) -> None:
    messages = (Message(role="system", content=content), Message(role="user", content="{{thing}}"))
    prompt = Prompt(name="a: b", messages=messages, variables=("thing",), fingerprint="x")
    name, text = promptfile.file_of(prompt.name, prompt.messages)
    again = promptfile.parse(text, name)
    assert again.messages == messages
    assert again.name == "a: b"


def test_cases_alone_go_into_a_folder_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "faq.csv").write_text("q,a\nWhy?,So.\n", encoding="utf-8")
    command = [
        "import",
        str(tmp_path / "faq.csv"),
        "--columns",
        "q=inputs.q,a=expected",
        "--out",
        str(tmp_path / "out"),
    ]
    assert run_cli(command) == 0
    suite = read_suite(tmp_path / "out" / "prompt.cases.yaml")
    assert [(case.inputs, case.expected) for case in suite.cases] == [({"q": "Why?"}, "So.")]
    assert run_cli(command) == 2
    assert "is there already" in capsys.readouterr().err
    assert run_cli([*command, "--force"]) == 0


@pytest.mark.parametrize("shape", ["csv", "jsonl"])
def test_cases_go_out_and_come_back(shape: str, tmp_path: Path) -> None:
    path, out, again = tmp_path / "tests.csv", tmp_path / "a.cases.yaml", tmp_path / "b.cases.yaml"
    path.write_text(recordings.TESTS, encoding="utf-8")
    run_cli(["import", "promptpex-tests", str(path), "--rule-count", "2", "--out", str(out)])
    assert run_cli(["export", shape, str(out), "--out", str(tmp_path / f"x.{shape}")]) == 0
    assert run_cli(["import", shape, str(tmp_path / f"x.{shape}"), "--out", str(again)]) == 0
    assert read_suite(again).cases == read_suite(out).cases


def test_a_file_that_does_not_end_as_its_format_says_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cases.txt"
    path.write_text("x", encoding="utf-8")
    assert run_cli(["import", "csv", str(path)]) == 2


CONFIG = """
prompts: ["Sort: {{ticket}}", "exec:make.sh"]
providers:
  - openai:responses:gpt-4o-mini
  - id: openai:gpt-4o
    label: two words
    config: {apiKey: sk-1, passthrough: {}}
  - exec:run.sh
  - echo
env: {A: b}
redteam: {}
evaluateOptions: {delay: 3}
scenarios:
  - config: [{vars: {a: b}}]
tests:
  - vars: {ticket: one}
    options: {transform: "file://t.js", rubricPrompt: mine, prefix: Hey}
    metadata: {owner: me}
    provider: openai:gpt-4o
    assert:
      - {type: similar, value: sorted}
      - {type: moderation}
      - {type: llm-rubric, value: It is kind., threshold: 0.5, provider: x}
      - {type: contains, value: "file://words.pdf"}
      - {type: contains, value: sorted, rare: 1}
      - {type: assert-set, assert: [{type: similar, value: x}]}
  - vars: {ticket: one}
    assert: [{type: is-json}]
"""

NAMES = {
    *("similar", "moderation", "llm-rubric", "openai", "assert-set", "words.pdf", "contains", "meteor", "echo", "exec"),
    *("prompts", "providers", "tests", "is-json", "promptfooconfig.yaml", "out", "t.js"),
}


def config(folder: Path) -> Path:
    path = folder / "promptfooconfig.yaml"
    path.write_text(CONFIG, encoding="utf-8")
    (folder / "words.pdf").write_bytes(b"%PDF")
    (folder / "t.js").write_text("output", encoding="utf-8")
    return path


def test_every_sentence_is_of_the_catalogue(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with reading_in(Marked()):
        assert run_cli(["import", "promptfoo", str(config(tmp_path)), "--out", str(tmp_path / "out")]) == 0
    lines = capsys.readouterr().out.splitlines()
    reasons = [line.rpartition(": ⟦")[1:] for line in lines if line.startswith("  ")]
    assert len(reasons) > 10
    left = [unmarked("".join(reason), {*NAMES, str(tmp_path)}) for reason in reasons]
    assert not any(left), left
    rest = [unmarked(line, {*NAMES, str(tmp_path)}) for line in lines if not line.startswith("  ")]
    assert not any(rest), rest


def test_in_vietnamese_and_for_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = str(config(tmp_path)), str(tmp_path / "out")
    assert run_cli(["import", path, "--out", out, "--report-language", "vi"]) == 0
    printed = capsys.readouterr().out
    assert "bị bỏ:" in printed
    assert "không hỏi dịch vụ nào" in printed
    assert run_cli(["import", path, "--out", out, "--force", "--json", "--report-language", "vi"]) == 0
    notes = json.loads(capsys.readouterr().out)["left_out"]
    assert any("no service is called" in note["why"] for note in notes)
