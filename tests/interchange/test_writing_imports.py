"""What an import writes, what it refuses to replace, and what it prints of a file that it cannot take as it is."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.cases.file import read_suite, write_suite
from promptpex.cli.main import run_cli
from promptpex.core.errors import InputError
from promptpex.core.records import Case, Message, Rule, Spec, Suite
from promptpex.interchange.format import Imported, ImportedPrompt
from promptpex.interchange.notes import Log, shown
from promptpex.promptfile import read as read_prompt
from promptpex.specs.file import read_spec
from promptpex.workflow.importing.write_import import toml, write_imported
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
