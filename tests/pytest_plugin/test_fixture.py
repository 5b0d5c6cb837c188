"""The fixture ``promptpex``: an input or a case, sent to a model and judged, in a test of one's own."""

from __future__ import annotations

import pytest

from tests.pytest_plugin.project import outcomes, with_plugin, write_project

pytest_plugins = ["pytester"]


def result_of(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess(*with_plugin("-p", "no:xdist", *arguments))


def test_a_test_asks_with_inputs_or_a_case_and_looks_at_the_verdicts(pytester: pytest.Pytester) -> None:
    prompts = write_project(pytester.path)
    pytester.makepyfile(
        """
        import asyncio

        def test_inputs(promptpex):
            answer = promptpex("prompts/colour.md", {"thing": "moss"})
            assert answer.passed, answer
            assert answer.text == "RED"
            assert answer.status("r1") == "pass"

        def test_case(promptpex):
            assert promptpex("prompts/colour.md", case="t1").text == "RED"

        def test_broken(promptpex):
            answer = promptpex("prompts/colour.md", case="t1", model="fake/red")
            assert (answer.status("r1"), answer.status("r2")) == ("fail", "pass")
            assert answer.passed, answer

        def test_unscored(promptpex):
            answer = promptpex("prompts/colour.md", {"things": "moss"})
            assert answer.output.error == "bad-input"
            assert not answer.passed
            assert answer.status("r1") == "unscored"
            assert "'thing'" in repr(answer)

        async def ask(promptpex):
            return promptpex("prompts/colour.md", case="t2").text

        def test_in_a_loop(promptpex):
            assert asyncio.run(ask(promptpex)) == "RED"
        """
    )
    result = result_of(pytester)
    assert outcomes(result) == {"passed": 4, "failed": 1}
    result.stdout.fnmatch_lines(["*fake/red breaks a rule on the case t1", "*r1: The answer is in capitals.", "*brick"])
    (prompts / "colour.cases.yaml").unlink()
    assert outcomes(result_of(pytester, "-k", "test_inputs")) == {"passed": 1, "deselected": 4}


def test_what_cannot_be_asked_says_what_to_do(pytester: pytest.Pytester) -> None:
    write_project(pytester.path, models=("fake/RED", "fake/red"))
    pytester.makepyfile(
        """
        import pytest
        from promptpex.core.errors import InputError

        PROMPT = "prompts/colour.md"

        @pytest.mark.parametrize(("given", "named", "match"), [
            ((PROMPT, {"thing": "x"}), {}, "several models.*model='fake/RED'"),
            ((PROMPT,), {"model": "fake/RED"}, "give the inputs of the prompt, or case="),
            ((PROMPT,), {"model": "fake/RED", "case": "t9"}, "no case 't9'"),
            (("prompts/other.md", {}), {"model": "fake/RED"}, "other.md"),
        ])
        def test_refused(promptpex, given, named, match):
            with pytest.raises(InputError, match=match):
                promptpex(*given, **named)

        def test_rule(promptpex):
            with pytest.raises(InputError, match="no rule 'r9'; the rules are r1, r2"):
                promptpex(PROMPT, case="t1", model="fake/RED").status("r9")
        """
    )
    assert outcomes(result_of(pytester)) == {"passed": 5}
