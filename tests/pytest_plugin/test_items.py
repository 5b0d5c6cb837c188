"""Prompts as tests: each case on each model is an item, and the items say what the run's verdicts say."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from promptpex.core.outcomes import outcome_of
from promptpex.core.records import Run
from promptpex.report import runs
from tests.pytest_plugin.project import CASES, colours, outcomes, with_plugin, write_project
from tests.repository.test_startup import HEAVY
from tests.servers import ScriptedServer
from tests.stream_server import in_thread

pytest_plugins = ["pytester"]

MODELS = ("fake/RED", "fake/red")


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """Answers in capitals, but for the sea, and nothing for the cloud."""
    served = colours({"sea": "deep blue", "cloud": ""})
    with in_thread(served):
        yield served


def of_server(server: ScriptedServer, *names: str) -> tuple[str, ...]:
    return tuple(f"openai/{name}?api_base={server.url}/v1" for name in names)


def result_of(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """The result of pytest in this process."""
    return pytester.runpytest_inprocess(*with_plugin("--promptpex", "-p", "no:xdist", *arguments))


def only_run(folder: Path) -> Run:
    (results,) = folder.glob("results/*/*")
    return runs.read(results)


def test_the_plugin_loads_nothing_until_prompts_are_asked_for() -> None:
    code = "import sys, promptpex.pytest_plugin; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert "pytest" in done.stdout.split()
    assert not HEAVY & set(done.stdout.split())


def test_each_case_on_each_model_is_a_test_whose_failure_says_rule_reason_input_and_output(
    pytester: pytest.Pytester,
) -> None:
    write_project(pytester.path, models=MODELS)
    result = result_of(pytester, "prompts", "-v")
    assert outcomes(result) == {"passed": 3, "failed": 3}
    result.stdout.fnmatch_lines(
        ["prompts/colour.md::t1[[]fake/RED[]] PASSED*", "prompts/colour.md::t1[[]fake/red[]] FAILED*"]
    )
    result.stdout.fnmatch_lines(
        [
            "fake/red breaks a rule on the case t1",
            "  r1: The answer is in capitals.",
            "    * (check:regex)",
            "Inputs:",
            "  thing: brick",
            "Output:",
            "  red",
        ],
        consecutive=True,
    )
    result.stdout.fnmatch_lines(["promptpex: tests that are asked for together: 6 of colour.md"])
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.fnmatch_lines(["colour: results/colour/*/report.html (6 answers from models, 0 from the store)"])


def test_failures_and_the_closing_lines_are_in_the_language_of_the_settings(pytester: pytest.Pytester) -> None:
    write_project(pytester.path, models=("fake/red",), report_language="vi")
    result = result_of(pytester, "prompts")
    result.stdout.fnmatch_lines(
        [
            "fake/red vi phạm 1 quy tắc ở ca kiểm thử t1",
            "    regex: biểu thức chính quy *",
            "Đầu vào:",
            "Đầu ra:",
            "colour: results/colour/*/report.html (3 câu trả lời từ mô hình, 0 từ kho lưu)",
        ]
    )
    (page,) = pytester.path.glob("results/*/*/report.html")
    assert '<html lang="vi">' in page.read_text(encoding="utf-8")


def test_the_items_match_the_verdicts_of_the_run_that_is_left(
    pytester: pytest.Pytester, server: ScriptedServer
) -> None:
    write_project(pytester.path, models=(*MODELS, *of_server(server, "x")), api_base=server.url)
    items, _ = pytester.inline_genitems(*with_plugin("--promptpex", "-p", "no:xdist", "prompts"))
    recorded = pytester.inline_run(
        *with_plugin("--promptpex", "-p", "no:xdist", "--promptpex-unscored=skip", "prompts")
    )
    passed, skipped, failed = ({report.nodeid for report in group} for group in recorded.listoutcomes())
    run = only_run(pytester.path)
    by_pair: dict[str, list[str]] = {"pass": [], "fail": [], "unscored": []}
    for output in run.outputs:
        status = outcome_of(verdict for verdict in run.verdicts if verdict.key == output.key).status
        by_pair[status].append(f"prompts/colour.md::{output.case}[{output.model}]")
    assert passed == set(by_pair["pass"])
    assert failed == set(by_pair["fail"])
    assert skipped == set(by_pair["unscored"])
    assert (len(passed), len(skipped)) == (4, 1)
    assert [item.nodeid for item in items] == [
        f"prompts/colour.md::{case}[{model}]" for case in ("t1", "t2", "t3") for model in run.manifest.models
    ]


def test_the_run_is_the_one_that_the_command_makes(pytester: pytest.Pytester) -> None:
    from tests.e2e.command import in_process

    write_project(pytester.path, models=MODELS)
    result_of(pytester, "prompts")
    (folder,) = pytester.path.glob("results/colour/*")
    by_plugin = runs.read(folder)
    done = in_process("run", "prompts/colour.md", cwd=pytester.path)
    assert done.code == 0
    assert [path.name for path in pytester.path.glob("results/colour/*")] == [by_plugin.manifest.run]
    by_command = runs.read(folder)
    assert by_command.verdicts == by_plugin.verdicts
    assert by_command.prompt == by_plugin.prompt
    assert (folder / "report.html").exists()


@pytest.mark.parametrize(
    ("how", "tally"),
    [
        ("skip", {"passed": 1, "failed": 1, "skipped": 1}),
        ("fail", {"passed": 1, "failed": 2}),
        ("error", {"passed": 1, "failed": 1, "errors": 1}),
    ],
)
def test_what_has_no_verdict_is_skipped_or_fails_as_the_user_chose(
    pytester: pytest.Pytester, server: ScriptedServer, how: str, tally: dict[str, int]
) -> None:
    write_project(pytester.path, models=of_server(server, "x"))
    result = result_of(pytester, "prompts", "-rs", f"--promptpex-unscored={how}")
    assert outcomes(result) == tally
    if how == "skip":
        result.stdout.fnmatch_lines(["SKIPPED*unscored: empty*"])
    else:
        result.stdout.fnmatch_lines(["openai/x?api_base=* has no verdict on the case t3: empty"])


def test_only_what_is_selected_is_asked(pytester: pytest.Pytester, server: ScriptedServer) -> None:
    write_project(pytester.path, models=of_server(server, "x", "y"))
    assert outcomes(result_of(pytester, "prompts", "-k", "t1 and openai/x")) == {"passed": 1, "deselected": 5}
    assert server.count == 1
    run = only_run(pytester.path)
    assert [case.id for case in run.suite.cases] == ["t1"]
    assert len(run.manifest.models) == 1
    assert run.manifest.subset is not None
    assert run.manifest.subset.in_words == "1 of 3 cases: 1 of 6 pairs of case and model"
    assert outcomes(result_of(pytester, "prompts", "--collect-only"))
    assert server.count == 1


def test_after_a_failure_that_ends_the_session_nothing_more_is_asked(
    pytester: pytest.Pytester, server: ScriptedServer
) -> None:
    write_project(pytester.path, models=of_server(server, "x"))
    result = result_of(pytester, "prompts", "-x")
    assert outcomes(result) == {"passed": 1, "failed": 1}
    assert server.count == 2
    assert {output.case for output in only_run(pytester.path).outputs} == {"t1", "t2"}


@pytest.mark.long
@pytest.mark.parametrize("ending", [(), ("--maxfail=9",)], ids=["all at once", "one by one"])
def test_workers_ask_everything_once_between_them(
    pytester: pytest.Pytester, server: ScriptedServer, ending: tuple[str, ...]
) -> None:
    write_project(pytester.path, models=of_server(server, "x", "y"))
    arguments = with_plugin("--promptpex", "-n", "2", "--promptpex-unscored=skip", "prompts", *ending)
    result = pytester.runpytest_inprocess(*arguments)
    assert outcomes(result) == {"passed": 2, "failed": 2, "skipped": 2}
    assert server.count == 6
    assert len(only_run(pytester.path).outputs) == 6
    result.stdout.fnmatch_lines(["colour: results/colour/*/report.html (6 answers from models, 0 from the store)"])


def test_hostile_names_and_outputs_do_nothing_to_the_terminal(pytester: pytest.Pytester) -> None:
    served = colours({"brick": "\x1b[2Jred " + "x" * 5000})
    with in_thread(served):
        prompts = write_project(pytester.path, models=of_server(served, "x"))
        cases = CASES.replace("thing: brick", 'thing: "brick\\e[31m"')
        (prompts / "colour.cases.yaml").write_text(cases, encoding="utf-8")
        result = result_of(pytester, "prompts", "-k", "t1", "--color=no")
    assert "\x1b" not in result.stdout.str()
    assert "x" * 1900 in result.stdout.str()
    assert "x" * 2100 not in result.stdout.str()


def test_what_cannot_be_asked_is_one_sentence(pytester: pytest.Pytester) -> None:
    prompts = write_project(pytester.path, models=())
    result = result_of(pytester, "prompts")
    assert outcomes(result) == {"errors": 1}
    result.stdout.fnmatch_lines(["*no model under test is named*"])
    (prompts / "colour.cases.yaml").unlink()
    result_of(pytester, "prompts").stdout.fnmatch_lines(["*there are no cases; write some*"])
    (prompts / "colour.spec.yaml").unlink()
    assert result_of(pytester, "prompts").ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result_of(pytester, "prompts/colour.md").stdout.fnmatch_lines(["*there is no spec*"])


def test_a_folder_that_cannot_be_written_fails_the_session(pytester: pytest.Pytester) -> None:
    write_project(pytester.path, models=("fake/RED",))
    (pytester.path / "results").write_text("in the way", encoding="utf-8")
    result = result_of(pytester, "prompts")
    assert outcomes(result) == {"passed": 3}
    assert result.ret == pytest.ExitCode.INTERNAL_ERROR
    result.stdout.fnmatch_lines(["colour: *cannot write*"])


def test_tests_that_leave_the_working_folder_move_neither_store_nor_results(pytester: pytest.Pytester) -> None:
    write_project(pytester.path)
    pytester.makepyfile(
        test_a="""
        import os, pytest

        @pytest.fixture(scope="session", autouse=True)
        def elsewhere(tmp_path_factory):
            os.chdir(tmp_path_factory.mktemp("elsewhere"))

        def test_fixture(promptpex):
            assert promptpex("prompts/colour.md", case="t1").passed
        """
    )
    result = result_of(pytester, "test_a.py", "prompts")
    os.chdir(pytester.path)
    assert outcomes(result) == {"passed": 4}
    assert len(only_run(pytester.path).outputs) == 3
    assert (pytester.path / ".promptpex" / "store.db").exists()


def test_an_interruption_keeps_what_was_answered(pytester: pytest.Pytester, server: ScriptedServer) -> None:
    write_project(pytester.path, models=of_server(server, "x"))
    pytester.makeconftest(
        """
        def pytest_runtest_logreport(report):
            if report.when == "call" and "t1" in report.nodeid:
                raise KeyboardInterrupt
        """
    )
    arguments = with_plugin("--promptpex", "-p", "no:xdist", "prompts")
    assert pytester.inline_run(*arguments, no_reraise_ctrlc=True).ret == pytest.ExitCode.INTERRUPTED
    assert len(only_run(pytester.path).outputs) == 3


@pytest.mark.parametrize("more", [(), ("-x",)])
def test_a_budget_is_one_for_all_prompts_of_a_session(
    pytester: pytest.Pytester, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    prompts = write_project(pytester.path, models=of_server(server, "any"))
    for kind in ("md", "spec.yaml", "cases.yaml"):
        text = (prompts / f"colour.{kind}").read_text(encoding="utf-8").replace("colour.md", "shade.md")
        (prompts / f"shade.{kind}").write_text(text.replace("Name the", "Name a shade of the"), encoding="utf-8")
    monkeypatch.setenv("PROMPTPEX_MAX_REQUESTS", "3")
    result = result_of(pytester, "prompts", "-k", "t1 or t3", "--promptpex-unscored", "skip", *more)
    assert "failed" not in outcomes(result)
    assert len(server.requests) == 3


def test_a_word_that_is_none_of_the_three_ends_the_session_before_anything_is_asked(
    pytester: pytest.Pytester, server: ScriptedServer
) -> None:
    write_project(pytester.path, models=of_server(server, "x"))
    result = result_of(pytester, "prompts", "-o", "promptpex_unscored=maybe")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "promptpex_unscored is 'maybe': write error, fail or skip" in result.stderr.str()
    assert server.count == 0
