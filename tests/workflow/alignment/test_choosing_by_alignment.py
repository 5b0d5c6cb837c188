"""``promptpex select --method aligned``: from a folder to a choice, and what becomes of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from promptpex.alignment.choose import Contender, GradedOutputs, Wanted, choose
from promptpex.alignment.cross_fit import as_bits
from promptpex.cli.main import run_cli
from promptpex.core.records import Criterion, Rule, Spec
from promptpex.specs.file import read_spec
from promptpex.synthesis.choice.saved_choice import CHOICE
from promptpex.workflow.choice_report import report_of_folder
from promptpex.workflow.choosing import choose_by_grades
from tests.alignment.folders import AlignedFolder

LABELS = "g" * 12 + "b" * 8
COLUMNS = {
    "calm": "p" * 12 + "ffffpppp",
    "ask_calm": "p" * 12 + "ffffpppp",
    "loud": "f" * 6 + "p" * 6 + "f" * 8,
    "city": "p" * 12 + "ppppfffp",
    "ask_city": "f" + "p" * 11 + "ppppffff",
    "ask_tone": "f" * 6 + "p" * 6 + "ffpppppp",
    "idle": "p" * 20,
}
CRITERIA = {"calm": "c1", "ask_calm": "c1", "loud": "c1", "city": "c2", "ask_city": "c2", "ask_tone": "c3"}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AlignedFolder:
    monkeypatch.chdir(tmp_path)
    return AlignedFolder(tmp_path, LABELS, COLUMNS, CRITERIA)


def chosen(path: Path, ffr: str = "0.2") -> dict[str, tuple[str, ...]]:
    made = choose_by_grades(path, Fraction(ffr)).by_grades
    assert made is not None
    return {one.wanted.id: one.chosen for one in made.criteria}


def test_each_criterion_gets_its_best_aligned_candidate_code_before_a_judge(world: AlignedFolder) -> None:
    world.write()
    choice = choose_by_grades(world.folder.path, Fraction(1, 5))
    made, selection = choice.by_grades, choice.selection
    assert made is not None
    # By hand: calm and ask_calm 2(.5)(1)/1.5 = .667; ask_city 2(.5)(.917)/1.417 = .647, city 2(.375)/1.375 = .545.
    assert {one.wanted.id: one.chosen for one in made.criteria} == {
        "c1": ("calm",),
        "c2": ("ask_city",),
        "c3": (),
        "idle": (),
    }
    assert [rated.state for rated in made.criteria[0].rated] == ["chosen", "above-limit", "worse"]
    assert selection.figures is not None
    assert (selection.figures.caught, selection.figures.flagged) == (8, 1)
    kept = CHOICE.read(world.folder.selection)
    assert kept is not None
    assert (kept.method, kept.ffr_limit, set(kept.chosen)) == ("aligned", 0.2, {"calm", "ask_city"})
    assert kept.figures is not None
    assert selection.held_out is not None
    assert selection.held_out.folds == 5


def test_the_terminal_names_the_criteria_without_a_good_candidate(
    world: AlignedFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    world.write()
    assert run_cli(["select", "trip.synthesis", "--method", "aligned"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    text = " ".join(out.split())
    assert "aligned chooses 2 of 7 candidates, for 2 of 4 criteria." in text
    assert "8 of 8 bad outputs caught by the set" in text
    assert "c1 calm 50% 0% 67%" in text
    assert "c3 “It is c3.”: no good candidate within an FFR of 20%" in text
    assert "the nearest, ask_tone, flags 6 of 12 good outputs and catches 2 of 8 bad ones." in text
    assert "idle “idle”: no good candidate: none within an FFR of 20% catches a bad output." in text
    assert "Chosen in the same way without the outputs that it is counted on (5 folds): coverage" in text
    assert run_cli(["report", "trip.synthesis"]) == 0
    assert "The method aligned chooses 2 of 7 candidates" in " ".join(capsys.readouterr().out.split())
    table = (world.folder.path / "candidates.csv").read_text(encoding="utf-8")
    assert "the best aligned within the limit" in table
    assert "as well aligned as calm, which is simpler" in table


def test_json_has_each_criterion_with_its_candidates_and_figures_held_out(
    world: AlignedFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    world.write()
    assert run_cli(["select", "trip.synthesis", "--method", "aligned", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["method"], made["candidates"]) == ("aligned", ["calm", "ask_city"])
    first = made["criteria"][0]
    assert (first["id"], first["chosen"], first["coverage_of"]) == ("c1", ["calm"], "known-and-suspect")
    assert [one["state"] for one in first["candidates"]] == ["chosen", "above-limit", "worse"]
    assert first["held_out"]["coverage"]["n"] == 8
    assert made["held_out_figures"]["counts"]["caught"] + made["held_out_figures"]["counts"]["missed"] == 8


def test_limits_of_single_criteria_must_and_deselection_are_kept(world: AlignedFolder) -> None:
    criteria = (
        Criterion(id="c1", text="Calm.", selected=False),
        Criterion(id="c2", text="City.", max_ffr=0.0),
        Criterion(id="c3", text="Tone.", must=True),
    )
    world.write(criteria)
    assert chosen(world.folder.path) == {"c2": ("city",), "c3": ("ask_tone",), "idle": ()}


def test_what_code_or_a_judge_is_to_decide_is_decided_by_it(world: AlignedFolder) -> None:
    world.write((Criterion(id="c1", text="Calm.", by="judge"), Criterion(id="c2", text="City.", by="code")))
    made = chosen(world.folder.path)
    assert (made["c1"], made["c2"]) == (("ask_calm",), ("city",))


def test_grades_on_a_criterion_or_on_its_rule_say_which_bad_outputs_are_its(world: AlignedFolder) -> None:
    spec = Spec(prompt="trip.md", rules=(Rule(id="r2", rule="City."),))
    world.write((Criterion(id="c1", text="Calm."), Criterion(id="c2", text="City.", rule="r2")), spec=spec)
    assert chosen(world.folder.path)["c2"] == ("ask_city",)
    # The last output has another fault, so that ask_city catches nothing more than city does.
    world.grade("-" * 19 + "b", "c1", "Calm.")
    world.grade("-" * 16 + "bbbg", "r2", "City.")
    assert chosen(world.folder.path)["c2"] == ("city",)


def test_grades_since_the_last_look_count(world: AlignedFolder, capsys: pytest.CaptureFixture[str]) -> None:
    made = AlignedFolder(world.prompt.parent, "-" * 20, COLUMNS, CRITERIA).write()
    assert run_cli(["select", "trip.synthesis", "--method", "aligned"]) == 1
    made.grade(LABELS)
    capsys.readouterr()
    assert run_cli(["select", "trip.synthesis", "--method", "aligned"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Labels: the majority of the graders decides" in text
    assert "12 good examples and 8 bad, of 20 examples." in text
    assert [one.label for one in made.folder.read_examples()].count("bad") == 8
    made.grade("b" * 20, grader="bob")
    assert run_cli(["select", "trip.synthesis", "--method", "aligned", "--graders", "bob"]) == 1
    assert "No output is labelled good" in capsys.readouterr().out


def test_candidates_that_were_not_run_are_left_out_and_named(
    world: AlignedFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    world.write(candidates=[*world.candidates, world.candidate("ask_more", criteria=("c1",))])
    for method in ("cov", "aligned"):
        assert run_cli(["select", "trip.synthesis", "--method", method]) == 0
        text = " ".join(capsys.readouterr().out.split())
        assert "Not chosen from: ask_more was not run on 20 of 20 examples: no judge was named" in text
    assert run_cli(["report", "trip.synthesis"]) == 0


def test_a_person_overrules_the_choice(world: AlignedFolder) -> None:
    candidates = [world.candidate(name, choice={"calm": "never", "idle": "must"}.get(name)) for name in COLUMNS]
    world.write(candidates=candidates)
    made = chosen(world.folder.path)
    assert (made["c1"], made["idle"]) == (("ask_calm",), ("idle",))


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ("g" * 20, "No output is labelled bad"),
        ("b" * 20, "No output is labelled good"),
        ("-" * 20, "There are no labelled outputs"),
    ],
)
def test_outputs_of_one_kind_are_named_and_end_with_1(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    labels: str,
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    AlignedFolder(tmp_path, labels, COLUMNS, CRITERIA).write()
    assert run_cli(["select", "trip.synthesis", "--method", "aligned"]) == 1
    assert sentence in " ".join(capsys.readouterr().out.split())


def test_a_limit_that_nothing_keeps_is_explained(world: AlignedFolder, capsys: pytest.CaptureFixture[str]) -> None:
    columns = {"loud": COLUMNS["loud"]}
    AlignedFolder(world.prompt.parent, LABELS, columns, {"loud": "c1"}).write()
    assert run_cli(["select", "trip.synthesis", "--method", "aligned", "--ffr", "10%"]) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert "the nearest, loud, flags 6 of 12 good outputs and catches 8 of 8 bad ones." in text


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--coverage", ".5"], "--coverage is a limit of sets"),
        (["--ffr", "2"], "'2' is not a share"),
        (["--graders", "nobody"], "no grader is called 'nobody'"),
    ],
)
def test_what_does_not_fit_is_one_sentence(
    world: AlignedFolder, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    world.write()
    world.grade("g")
    assert run_cli(["select", "trip.synthesis", "--method", "aligned", *arguments]) == 2
    assert sentence in capsys.readouterr().err


def test_a_file_with_a_matrix_has_no_criteria(world: AlignedFolder, capsys: pytest.CaptureFixture[str]) -> None:
    Path("problem.json").write_text("{}", encoding="utf-8")
    assert run_cli(["select", "problem.json", "--method", "aligned"]) == 2
    assert "aligned needs the folder that `promptpex synthesize` wrote" in capsys.readouterr().err


def test_the_choice_goes_into_the_spec_and_into_files(world: AlignedFolder, capsys: pytest.CaptureFixture[str]) -> None:
    world.write()
    aligned = ["select", "trip.synthesis", "--method", "aligned"]
    assert run_cli([*aligned, "--into-spec", "--out", "checks.py"]) == 0
    rules = read_spec(world.prompt.with_name("trip.spec.yaml")).rules
    assert [[check.metric for check in rule.checks] for rule in rules] == [["calm"], ["ask_city"]]
    assert Path("test_checks.py").exists()
    assert run_cli([*aligned, "--out", "promptfooconfig.yaml"]) == 0
    text = Path("promptfooconfig.yaml").read_text(encoding="utf-8")
    assert text.startswith("# Assertions chosen by promptpex\n# yaml-language-server:")
    config = YAML(typ="safe").load(text)
    assert "promptpex: wrote promptfooconfig.yaml" in capsys.readouterr().err
    asserts = config["defaultTest"]["assert"]
    assert [(one["type"], one["metric"]) for one in asserts] == [("contains", "calm"), ("llm-rubric", "ask_city")]
    assert len(config["tests"]) == 20
    assert config["tests"][3]["vars"] == {"city": "Hue 3"}
    assert not any(":" in test["description"] for test in config["tests"]), "what the cases aim at is not known"
    name, other = (test["description"] for test in config["tests"][3:5])
    aims = [
        {"id": name, "rule": "r7", "inputs": {"city": "Hue 3"}},
        {"id": other, "rule": "r8", "inputs": {"city": "x"}},
    ]
    cases = json.dumps({"prompt": "trip.md", "cases": aims})
    world.prompt.with_name("trip.cases.yaml").write_text(cases, encoding="utf-8")
    assert run_cli([*aligned, "--out", "promptfooconfig.yaml"]) == 0
    config = YAML(typ="safe").load(Path("promptfooconfig.yaml").read_text(encoding="utf-8"))
    assert [test["description"] for test in config["tests"][3:5]] == [f"{name}: aims at r7", other]
    assert run_cli([*aligned, "--out", "promptfooconfig.yaml"]) == 0
    Path("promptfooconfig.yaml").write_text("# yaml-language-server: own\n", encoding="utf-8")
    assert run_cli([*aligned, "--out", "promptfooconfig.yaml"]) == 2


def not_run(world: AlignedFolder, *names: str) -> None:
    """Takes all results but the first of these candidates out of the matrix."""
    gone = {one.fingerprint for one in world.candidates if one.id in names}
    lines = world.folder.matrix.read_text(encoding="utf-8").splitlines(keepends=True)
    first = world.examples[0].id
    kept = [line for line in lines if first in line or not any(name in line for name in gone)]
    world.folder.matrix.write_text("".join(kept), encoding="utf-8")


@pytest.mark.parametrize("method", ["aligned", "cov", "sub", "baseline", "topological", "all"])
def test_what_no_judge_was_asked_about_is_named_and_the_rest_is_chosen_from(
    world: AlignedFolder, capsys: pytest.CaptureFixture[str], method: str
) -> None:
    world.write()
    not_run(world, "ask_city")
    assert run_cli(["select", "trip.synthesis", "--method", method, "--ffr", "50%", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    left_out = {one["candidate"]: one for one in made["screened"]}
    assert left_out["ask_city"]["state"] == "not-run"
    assert "ask_city was not run on 19 of 20 examples: no judge was named" in left_out["ask_city"]["sentence"]
    assert "ask_city" not in made["candidates"]
    assert made["candidates"]
    assert "ask_city was not run on 19 of 20" in (world.folder.path / "candidates.csv").read_text(encoding="utf-8")
    assert run_cli(["select", "trip.synthesis", "--method", method, "--ffr", "50%"]) == 0
    assert "Not chosen from: ask_city was not run on 19 of 20" in " ".join(capsys.readouterr().out.split())


def test_what_a_person_wants_has_to_be_run(world: AlignedFolder, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = [world.candidate(name, choice="must" if name == "ask_city" else None) for name in COLUMNS]
    world.write(candidates=wanted)
    not_run(world, "ask_city", "ask_tone")
    for method in ("aligned", "sub"):
        assert run_cli(["select", "trip.synthesis", "--method", method]) == 2
        refused = " ".join(capsys.readouterr().err.split())
        assert "1 candidate (ask_city) was not run on all examples (19 results missing)" in refused
        assert "you said `choice: must` of ask_city" in refused
        assert "--judge" in refused


def test_where_nothing_was_run_there_is_nothing_to_choose_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    asking = {name: signs for name, signs in COLUMNS.items() if name.startswith("ask")}
    AlignedFolder(tmp_path, LABELS, asking, CRITERIA).write().folder.matrix.unlink()
    assert run_cli(["select", "trip.synthesis", "--method", "aligned"]) == 2
    assert "3 candidates (ask_calm, ask_city, ask_tone) were not run" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("method", ["aligned", "all"])
def test_what_was_written_for_other_words_is_not_chosen_from(
    world: AlignedFolder, capsys: pytest.CaptureFixture[str], method: str
) -> None:
    before = [Criterion(id=name, text=f"It was {name}.") for name in ("c1", "c2")]
    wishes = {"calm": None, "city": "must"}
    written = [
        world.candidate(name, choice=wishes[name]).written_for(before) if name in wishes else world.candidate(name)
        for name in COLUMNS
    ]
    world.write(candidates=written)
    assert run_cli(["select", "trip.synthesis", "--method", method, "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    left_out = {one["candidate"]: one for one in made["screened"]}
    assert left_out["calm"]["state"] == "outdated"
    assert left_out["calm"]["sentence"].startswith("calm was written for another wording of c1; replace it, or keep")
    assert {"ask_calm", "city"} <= set(made["candidates"]), "what stood for calm, and what a person wants"
    assert "calm" not in made["candidates"]
    table = (world.folder.path / "candidates.csv").read_text(encoding="utf-8")
    assert "calm was written for another wording of c1" in table
    now = [Criterion(id=name, text=f"It is {name}.") for name in ("c1", "c2")]
    world.write(candidates=[one.written_for(now) if one.wordings else one for one in written])
    assert run_cli(["select", "trip.synthesis", "--method", method, "--json"]) == 0
    assert "calm" in json.loads(capsys.readouterr().out)["candidates"], "a person kept it"


def test_a_chosen_candidate_that_is_reworded_makes_the_report_of_the_choice_old(world: AlignedFolder) -> None:
    world.write()
    choose_by_grades(world.folder.path, Fraction(1, 5))
    old = Criterion(id="c1", text="It was c1.")
    world.write(candidates=[one.written_for([old]) if one.id == "calm" else one for one in world.candidates])
    page = report_of_folder(world.folder.path)
    assert any("have changed since this choice" in one for one in page.notices)


OWN = (Criterion(id="c1", text="Calm."), Criterion(id="c2", text="City."))


def test_a_kept_choice_can_be_made_again_from_what_is_kept(
    world: AlignedFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    made = AlignedFolder(world.prompt.parent, "-" * 20, COLUMNS, CRITERIA).write(OWN)
    made.grade(LABELS)
    made.grade("-" * 12 + "bbbbgggg", "c1", "Calm.")
    made.grade("-" * 16 + "bbbg", "c2", "City.")
    made.grade("g" * 20, grader="bob")
    assert run_cli(["select", "trip.synthesis", "--method", "aligned", "--graders", "ada", "--ffr", "30%"]) == 0
    kept = CHOICE.read(made.folder.selection)
    assert kept is not None
    assert kept.label_rules is not None
    assert (kept.label_rules.graders, kept.label_rules.unsure) == ("ada", "no-vote")
    assert {name: len(labels) for name, labels in kept.rule_labels.items()} == {"c1": 8, "c2": 4}
    assert (kept.criteria["c1"].max_ffr, kept.criteria["c1"].chosen) == (0.3, ("calm",))
    # Again, from the kept file and the matrix alone.
    ids = [one.id for one in made.examples]

    def bits(labels: Mapping[str, str], wanted: str) -> int:
        return as_bits(number for number, one in enumerate(ids) if labels.get(one) == wanted)

    own = {name: (bits(labels, "bad"), bits(labels, "good")) for name, labels in kept.rule_labels.items()}
    graded = GradedOutputs(bits(kept.labels, "bad"), bits(kept.labels, "good"), own)
    again = choose(
        [Wanted(name, Fraction(str(one.max_ffr)), one.must) for name, one in kept.criteria.items()],
        [
            Contender(name, (CRITERIA.get(name, name),), as_bits(n for n, sign in enumerate(signs) if sign != "p"))
            for name, signs in COLUMNS.items()
        ],
        graded,
    )
    assert {one.wanted.id: one.chosen for one in again} == {name: one.chosen for name, one in kept.criteria.items()}


def test_the_page_gives_reasons_by_the_labels_that_chose(
    world: AlignedFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    made = AlignedFolder(world.prompt.parent, "-" * 20, COLUMNS, CRITERIA).write(OWN)
    made.grade(LABELS)
    made.grade("b" * 6, grader="bob")
    assert run_cli(["select", "trip.synthesis", "--method", "aligned", "--graders", "ada"]) == 0
    capsys.readouterr()
    page = report_of_folder(made.folder.path)
    # By the majority ada and bob disagree on the six good ones that loud flags, and it would be chosen.
    assert next(one["why"] for one in page.candidates if one["candidate"] == "loud").startswith(
        "flags 6 of 12 good outputs"
    )
    assert page.labels.startswith("Labels: ada alone decides; without a grade on the whole output")
    assert run_cli(["report", "trip.synthesis"]) == 0
    assert "Labels: ada alone decides" in capsys.readouterr().out
    # Grades on a criterion since then had no part in it.
    assert not any("choose again" in one for one in page.notices)
    made.grade("-" * 12 + "bbbbgggg", "c1", "Calm.")
    assert any("choose again" in one for one in report_of_folder(made.folder.path).notices)


@pytest.mark.parametrize("method", ["aligned", "cov", "sub"])
def test_outputs_put_up_since_do_not_stop_a_choice(
    world: AlignedFolder, capsys: pytest.CaptureFixture[str], method: str
) -> None:
    """Examples without a label and without results, as ``check --put-up`` leaves them."""
    world.write()
    arguments = ["select", "trip.synthesis", "--method", method, "--ffr", "50%", "--json"]
    assert run_cli(arguments) == 0
    before = json.loads(capsys.readouterr().out)
    new = [one.replace(id=f"{number:032x}", label=None, output="New.") for number, one in enumerate(world.examples[:5])]
    world.folder.write_examples([*world.folder.read_examples(), *new])
    assert run_cli(arguments) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["candidates"] == before["candidates"]
    assert made["screened"] == before["screened"]
    assert made["ffr_of_all_outputs"] == before["ffr_of_all_outputs"]
    assert "5 examples without a label wait for results of some candidates" in made["notices"][0]
    assert run_cli(["report", "trip.synthesis"]) == 0
    assert "5 examples without a label wait" in " ".join(capsys.readouterr().out.split())


def test_what_is_graded_on_a_criterion_alone_has_to_be_run(
    world: AlignedFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    made = AlignedFolder(world.prompt.parent, "-" + LABELS[1:], COLUMNS, CRITERIA).write()
    made.grade(LABELS[1:].rjust(20, "-"))
    made.grade("g", "c1", "It is c1.")
    lines = made.folder.matrix.read_text(encoding="utf-8").splitlines(keepends=True)
    first = made.examples[0].id
    made.folder.matrix.write_text("".join(one for one in lines if first not in one), encoding="utf-8")
    assert run_cli(["select", "trip.synthesis", "--method", "aligned"]) == 2
    assert "were not run on all examples" in " ".join(capsys.readouterr().err.split())
    assert run_cli(["select", "trip.synthesis", "--method", "cov", "--ffr", "50%"]) == 0
