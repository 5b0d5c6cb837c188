"""A synthesis folder becomes a selection problem: screens, implications, choices, and ``promptpex select`` on it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pytest

from promptpex.cli.main import run_cli
from promptpex.codecs import jsonl
from promptpex.core.records import Candidate, Check, Example, Implication, Synthesis
from promptpex.promptfile import read
from promptpex.synthesis.choice.problem_of_folder import implied, problem_of
from promptpex.synthesis.choice.screens import indistinct, indistinct_sentences
from promptpex.synthesis.folder import SynthesisFolder, write_candidates
from promptpex.synthesis.results.matrix import Matrix, MatrixCell, MatrixFile
from promptpex.synthesis.selection.problem import SelectionLimits, SelectionProblem

LIMITS = SelectionLimits()
STATUS = {"p": "pass", "f": "fail", "e": "error"}


def candidate(name: str, kind: str = "contains", **more: object) -> Candidate:
    value = f"'{name}' in output" if kind == "python" else name
    return Candidate.model_validate({"id": name, "check": Check(kind=kind, value=value), **more})


def example(number: int, label: str | None, version: str = "") -> Example:
    return Example(id=f"{number:032x}", output=f"text {number}", case=f"c{number}", label=label, version=version)


def matrix_of(columns: dict[str, str], labels: str, candidates: Sequence[Candidate] = ()) -> Matrix:
    """A matrix whose columns have a sign per example: pass, fail or error; labels are good, bad or ``-``."""
    made = candidates or [candidate(name) for name in columns]
    kinds = {"g": "good", "b": "bad", "-": None}
    matrix = Matrix(made, [example(number, kinds[sign]) for number, sign in enumerate(labels)])
    for column, signs in enumerate(columns.values()):
        for row, sign in enumerate(signs):
            matrix.add(MatrixCell(column, row, STATUS[sign], "boom: it broke" if sign == "e" else ""))  # type: ignore[arg-type]
    return matrix


def implication(pair: str, **more: object) -> Implication:
    return Implication.model_validate({"stronger": pair[0], "weaker": pair[1], "evidence": "judge", **more})


def test_candidates_that_tell_nothing_are_named_and_not_chosen_from() -> None:
    columns = {"fine": "ppfp", "errs": "eeee", "fails": "fefe", "passes": "pppp", "again": "ppfp", "other": "pfpp"}
    made = problem_of(matrix_of(columns, "gbb-"), (), LIMITS)
    assert [(one.state, one.sentence) for one in made.screens] == [
        ("always-errs", "errs errs on all 4 examples: boom: it broke"),
        ("never-passes", "fails fails all 4 examples, 2 of them by an error"),
        ("always-passes", "passes passes all 4 examples"),
        ("same-results", "again passes and fails the same examples as fine"),
    ]
    assert [one.id for one in made.candidates] == ["fine", "other"]
    assert [one.case for one in made.examples] == ["c0", "c1", "c2"]
    assert made.problem == SelectionProblem(
        examples=3,
        good=0b001,
        fails=(0b100, 0b010),
        names=("fine", "other"),
        example_names=("c0", "c1", "c2"),
    )


def test_of_equal_columns_code_stands_for_python_and_python_for_questions() -> None:
    kinds = {"q": "question", "asking": "python", "py": "python", "code": "contains"}
    made = [candidate(name, kind) for name, kind in kinds.items()]
    screens = problem_of(matrix_of(dict.fromkeys(kinds, "pf"), "gb", made), (), LIMITS).screens
    assert {made[one.candidate].id: made[one.kept or 0].id for one in screens} == {
        "q": "code",
        "asking": "code",
        "py": "code",
    }
    without_code = problem_of(matrix_of(dict.fromkeys(list(kinds)[:3], "pf"), "gb", made[:3]), (), LIMITS)
    assert [one.id for one in without_code.candidates] == ["py"]


def test_what_a_person_decided_is_kept_and_stands_for_others() -> None:
    made = [
        candidate("code"),
        candidate("wanted", "question", choice="must"),
        candidate("refused", choice="never"),
        candidate("constant", choice="must"),
    ]
    given = problem_of(
        matrix_of({"code": "pf", "wanted": "pf", "refused": "pf", "constant": "ff"}, "gb", made), (), LIMITS
    )
    assert [one.sentence for one in given.screens] == ["code passes and fails the same examples as wanted"]
    assert given.notices == ("chosen since you said `choice: must`, though constant fails all 2 examples",)
    assert given.problem.names == ("wanted", "refused", "constant")
    assert (given.problem.must, given.problem.must_not) == (frozenset({0, 2}), frozenset({1}))
    assert sorted(range(3), key=given.order)[0] in (0, 2)


def test_without_examples_nothing_is_screened() -> None:
    given = problem_of(matrix_of({"a": "", "b": ""}, ""), [implication("ab")], LIMITS)
    assert (given.screens, given.problem.fails, given.problem.implications) == ((), (0, 0), ((0, 1),))


def test_implications_are_struck_contradicted_pruned_and_closed() -> None:
    # The last example has no label, and its result speaks against c -> d all the same.
    columns = {"a": "ppff-", "b": "ppfpp", "c": "pppfp", "d": "pppff", "e": "fffpp"}
    columns["a"] = "ppfff"
    matrix = matrix_of(columns, "gggb-")
    pairs = [implication(pair) for pair in ("ab", "cd", "ea", "ac", "zz", "aa", "az")]
    assert implied(matrix, pairs, LIMITS)[0] == []
    assert implied(
        matrix_of({"a": "ppff", "b": "pppf"}, "ggbb"), [implication("ab")], SelectionLimits(ffr=Fraction(0))
    )[0] == [(0, 1)]
    generous = SelectionLimits(ffr=Fraction(1, 2))
    assert implied(matrix, pairs, generous)[0] == [(0, 1), (0, 2)]
    chained = matrix_of({"a": "ppff", "b": "pppf", "c": "pppf"}, "ggbb")
    both = [implication("ab"), implication("bc")]
    assert implied(chained, both, LIMITS) == ([(0, 1), (0, 2), (1, 2)], [])
    struck = [*both, implication("ac", accepted=False)]
    assert implied(chained, struck, LIMITS) == (
        [(0, 1), (1, 2)],
        ["1 struck implication would follow from others that were not struck"],
    )
    by_people = [implication("ba", accepted=True), implication("ca", evidence="person")]
    assert implied(chained, by_people, LIMITS) == (
        [],
        ["accepted implications that an example contradicts do not count: b -> a, c -> a"],
    )


def test_examples_that_no_choice_tells_apart() -> None:
    problem = problem_of(matrix_of({"a": "pffp", "b": "pffp", "c": "fppp"}, "ggbb"), (), LIMITS).problem
    assert indistinct(problem) == [((1,), (2,))]
    (line,) = indistinct_sentences(problem)
    names = [problem.example_name(number) for number in (2, 1)]
    assert f"No candidate can tell bad {names[0]} from this good one: {names[1]}." in line
    assert line.endswith(" that can.")


def test_questions_can_weigh() -> None:
    matrix = matrix_of({"a": "pf", "b": "fp"}, "gb")
    matrix.add(MatrixCell(1, 0, "fail", asked=3))
    assert problem_of(matrix, (), LIMITS).problem.weights == ()
    assert problem_of(matrix, (), LIMITS, weigh_questions=True).problem.weights == (Fraction(1), Fraction(5, 2))


class Desk:
    """A prompt with a synthesis folder, on disk."""

    def __init__(self, path: Path) -> None:
        self.prompt = path / "p.md"
        self.prompt.write_text("Say it. {{thing}}", encoding="utf-8")
        self.folder = SynthesisFolder.of(self.prompt)
        self.version = read(self.prompt).fingerprint

    def write(self, columns: dict[str, str], labels: str, *implications: Implication) -> None:
        matrix = matrix_of(columns, labels)
        examples = [one.replace(version=self.version) for one in matrix.examples]
        self.folder.path.mkdir(exist_ok=True)
        self.folder.write_examples(examples)
        write_candidates(
            self.folder.candidates,
            Synthesis(prompt="p.md", candidates=tuple(matrix.candidates), implications=implications),
        )
        lines = [
            jsonl.dump_record(matrix.record(MatrixCell(column, row, STATUS[sign])))  # type: ignore[arg-type]
            for column, signs in enumerate(columns.values())
            for row, sign in enumerate(signs)
        ]
        MatrixFile(self.folder.matrix).add("".join(lines))


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.chdir(tmp_path)
    return Desk(tmp_path)


COLUMNS = {"one": "pppppfff", "two": "ppppfppp", "three": "pppppffp", "all": "ffffffff"}
LABELS = "ggggbbbb"


def test_select_reads_a_folder(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    desk.write(COLUMNS, LABELS, Implication(stronger="one", weaker="three", evidence="judge"))
    assert run_cli(["select", "p.synthesis", "--coverage", "1", "--ffr", "0", "--json"]) == 0
    given = json.loads(capsys.readouterr().out)
    assert (given["candidates"], given["selection"], given["names"]) == (
        ["one", "two"],
        [0, 1],
        ["one", "two", "three"],
    )
    assert (given["coverage"], given["ffr"], given["not_subsumed"]) == (1.0, 0.0, 0)
    assert [(one["candidate"], one["state"], one["kept"]) for one in given["screened"]] == [
        ("all", "never-passes", None)
    ]
    assert [one["state"] for one in given["shortages"]] == ["few-good", "few-bad"]
    assert run_cli(["select", "p.synthesis"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert out.startswith("4 good examples and 4 bad, of 8 examples.\n4 good examples show little: label at least 13")
    assert "Not chosen from: all fails all 8 examples.\n" in out


def test_what_nothing_catches_is_named_by_its_case(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    desk.write({"one": "pppppfff", "two": "fpppfppp"}, LABELS)
    assert run_cli(["select", "p.synthesis", "--coverage", "1", "--ffr", "0"]) == 1
    assert "Only candidates above the FFR limit catch these bad outputs: c4." in capsys.readouterr().out


@pytest.mark.parametrize("method", ["topological", "all"])
def test_a_folder_without_examples_can_be_chosen_from(
    desk: Desk, capsys: pytest.CaptureFixture[str], method: str
) -> None:
    desk.write({"one": "", "two": ""}, "", Implication(stronger="one", weaker="two", evidence="same-code"))
    assert run_cli(["select", "p.synthesis", "--method", method, "--json"]) == 0
    wanted = ["one"] if method == "topological" else ["one", "two"]
    assert json.loads(capsys.readouterr().out)["candidates"] == wanted
    assert run_cli(["select", "p.synthesis", "--method", method]) == 0
    assert "chosen by: ." not in capsys.readouterr().out


def failure(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run_cli(["select", "p.synthesis", *arguments]) == 2
    return capsys.readouterr().err


def test_what_is_missing_is_one_sentence(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    desk.folder.path.mkdir()
    assert "this folder has no candidates.yaml; `promptpex synthesize PROMPT` makes one" in failure(capsys)
    desk.write(COLUMNS, LABELS)
    lines = desk.folder.matrix.read_text(encoding="utf-8").splitlines(keepends=True)
    desk.folder.matrix.write_text("".join(lines[:-1]), encoding="utf-8")
    assert run_cli(["select", "p.synthesis"]) == 0
    named = "Not chosen from: all was not run on 1 of 8 examples; `promptpex synthesize PROMPT` runs what is missing."
    assert named in " ".join(capsys.readouterr().out.split())
    desk.folder.matrix.write_text("".join(lines), encoding="utf-8")
    desk.prompt.write_text("Say it well. {{thing}}", encoding="utf-8")
    assert "all examples are of other versions of p.md; run it, and synthesize with --run" in failure(capsys)
    desk.prompt.unlink()
    assert run_cli(["select", "p.synthesis"]) == 0


@pytest.mark.parametrize("name", ["../outside.md", "/etc/hostname", "p.synthesis", "."])
def test_a_name_that_leads_elsewhere_is_not_read_as_the_prompt(desk: Desk, name: str) -> None:
    desk.write(COLUMNS, LABELS)
    (desk.prompt.parent.parent / "outside.md").write_text("Another prompt.", encoding="utf-8")
    text = desk.folder.candidates.read_text(encoding="utf-8")
    desk.folder.candidates.write_text(text.replace("prompt: p.md", f"prompt: {name}"), encoding="utf-8")
    assert run_cli(["select", "p.synthesis"]) == 0


def test_examples_of_older_versions_are_counted(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    desk.write(COLUMNS, LABELS)
    desk.folder.write_examples([*desk.folder.read_examples(), example(99, "bad", version="older")])
    assert run_cli(["select", "p.synthesis"]) == 0
    assert "1 example of other versions of the prompt not used." in capsys.readouterr().out
