"""A run in the hands of a program: read by any of its names, shown in a notebook, reported on, compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import promptpex
from promptpex.cli.main import run_cli
from promptpex.core.errors import RunError
from promptpex.core.records import Case, Request, Run, Spec, Suite
from promptpex.llm.fake import FakeClient
from promptpex.report import runs
from promptpex.tables import CHANGED_COLUMNS, COMPARISON_COLUMNS, MODEL_COLUMNS, records
from tests.judging.test_trust import calibration
from tests.samples import prompt, spec
from tests.tables.many import many


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "results"


def keep(results: Path, name: str, made: Run) -> str:
    folder = runs.folder_for(results, made.prompt.name, name)
    runs.finish(folder, made.replace(manifest=made.manifest.replace(run=name)))
    return str(folder)


def two_runs(results: Path) -> tuple[str, str]:
    old = many(60, {"a": lambda n: True, "b": lambda n: n % 2 == 0})
    new = many(60, {"a": lambda n: n >= 20, "b": lambda n: n % 2 == 0})
    return keep(results, "old", old), keep(results, "new", new)


def test_a_run_is_read_by_its_folder_as_text_and_by_its_names(results: Path) -> None:
    old, new = two_runs(results)
    read = promptpex.read_run(old)
    assert isinstance(read, promptpex.RunResult)
    assert read == promptpex.read_run(Path(old)) == promptpex.read_run("old")
    assert promptpex.read_run("old", results=results).manifest.run == "old"
    assert promptpex.read_run("latest") == promptpex.read_run(new)
    assert promptpex.read_run(new, verdicts=False).verdicts == ()
    with pytest.raises(RunError, match="no such run"):
        promptpex.read_run("nowhere")


def test_a_comparison_says_what_the_command_says(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for given, flags in (
        ({}, []),
        ({"confidence": "90%", "regression_margin": 0.6}, ["--confidence=90%", "--regression-margin=0.6"]),
    ):
        old, new = two_runs(results)
        compared = promptpex.compare("old", promptpex.read_run(new), **given)  # type: ignore[arg-type]
        assert run_cli(("compare", old, new, "--json", *flags)) == 0
        printed = json.loads(capsys.readouterr().out)
        assert compared.answer == printed["answer"]
        assert list(compared.regressions) == printed["regressions"] == ([] if flags else ["a"])
        assert json.loads(json.dumps(records(compared.models))) == printed["models"]
        assert json.loads(json.dumps(records(compared.changed))) == printed["changed"]
        assert list(compared.models.columns) == list(COMPARISON_COLUMNS)
        assert list(compared.changed.columns) == list(CHANGED_COLUMNS)
        assert compared.changed["change"].tolist() == ["newly failing"] * 20
        page = compared.report("compared.html").read_text(encoding="utf-8")
        assert "a is clearly worse: 0% before, 33% after" in page


def test_a_run_has_its_figures_and_writes_its_report(results: Path, tmp_path: Path) -> None:
    made = promptpex.RunResult.of(many(60, {"a": lambda n: True, "b": lambda n: n % 2 == 0}))
    assert list(made.models.columns) == list(MODEL_COLUMNS)
    assert made.models["model"].tolist() == ["a", "b"]
    assert made.answer is not None
    assert made.answer.startswith("a is clearly the best")

    page = made.report("out/there")
    assert page == Path("out/there/report.html")
    assert {"report.csv", "results.csv", "verdicts.csv", "report.html"} <= {p.name for p in page.parent.iterdir()}
    alone = made.report(str(tmp_path / "page.html"))
    assert alone.read_bytes() == page.read_bytes()
    assert made.report(tmp_path / "other.html", against="b", tolerance=0.2).read_bytes() != page.read_bytes()
    assert made.report("a/new/folder/page.html").is_file()
    for place in ("page.html/below", "page.html/below.html"):
        with pytest.raises(RunError, match="cannot write the report"):
            made.report(place)


async def test_all_of_it_works_where_an_event_loop_runs(results: Path) -> None:
    old, new = two_runs(results)
    client = promptpex.FakeClient(lambda request: "RED")
    before = promptpex.read_run(old)
    made = promptpex.run(before.prompt, before.spec, before.suite, models="fake/m", judge="none", client=client)
    assert "fake/m" in made._repr_html_()
    assert made.report("page.html").is_file()
    assert "a is clearly worse" in promptpex.compare(old, new)._repr_html_()


def test_trouble_with_peoples_grades_is_a_warning(results: Path) -> None:
    old, _ = two_runs(results)
    made = promptpex.read_run(old)
    Path("p.md").write_text("Name it.", encoding="utf-8")
    Path("p.grades.jsonl").write_text("{]\n", encoding="utf-8")
    made = made.replace(prompt=made.prompt.replace(path="p.md"))
    with pytest.warns(UserWarning, match="the report is made without people's grades"):
        assert made.summary().by_people is None


JUDGE = "fake/judge"


def asked_of_a_judge(request: Request) -> str:
    """`fake/good` names a colour and `fake/bad` does not, says the judge."""
    if request.model != JUDGE:
        return "RED" if request.model == "fake/good" else "SKY"
    if request.stage == "question":
        return json.dumps({"reason": "It is.", "answer": "yes" if "RED" in request.messages[-1].content else "no"})
    verdict = "pass" if "RED" in request.messages[-1].content else "fail"
    return json.dumps({"r2": {"reason": "It is what it is.", "verdict": verdict}})


def judged(given: Spec, judge: str = JUDGE) -> promptpex.RunResult:
    cases = tuple(Case(id=f"c{n}", inputs={"thing": f"t{n}", "place": "here"}) for n in range(20))
    models, client = ["fake/good", "fake/bad"], FakeClient(asked_of_a_judge)
    suite = Suite(prompt="prompt.md", cases=cases)
    return promptpex.run(prompt(), given, suite, models=models, judge=judge, client=client)


def test_the_answer_says_so_where_nobody_has_checked_the_judge(results: Path) -> None:
    run = judged(spec())
    assert (run.answer or "").startswith("fake/good is clearly the best, by this judge: it broke a rule in 0 of 20")
    assert (run.answer or "").count("judge") == 2
    assert "Check this judge with `promptpex grade`." in (run.answer or "")
    alone = spec().replace(rules=spec().rules[:1])
    assert "judge" not in (judged(alone, judge="none").answer or "judge")

    (mark,) = {verdict.fingerprint for verdict in run.verdicts if verdict.source == f"judge:{JUDGE}"}
    r1, r2 = spec().rules
    for known, says in ((calibration(r2, JUDGE, fingerprint=mark), False), (calibration(r2, JUDGE), True)):
        checked = judged(spec().replace(rules=(r1, r2.replace(judge=(known,)))))
        assert ("by this judge" in (checked.answer or "")) is says
