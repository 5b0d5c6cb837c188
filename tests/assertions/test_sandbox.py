"""Hostile scripts and patterns: bounded in time and memory, without a way out, without traces in the next one."""

from __future__ import annotations

import os
import signal

import pytest

from promptpex.assertions import CheckReport, check
from tests.assertions.little_time import little_time

JAVASCRIPT = {"kind": "javascript", "value": "output.startsWith('row')"}


def run(script: str, output: object = "x", **more: object) -> CheckReport:
    return check(output, [{"kind": "javascript", "value": script}], vars=more)


def test_an_endless_loop_runs_out_of_time() -> None:
    with little_time():
        report = run("for (;;) {}\nreturn true")
    assert (report.status, report.unscored) == ("unscored", "timeout")


@pytest.mark.parametrize(
    "script",
    [
        "const held = [];\nwhile (true) held.push(new Array(100000).fill(7));",
        "return new Array(1e9).fill(0).length > 0;\n//",
        "let text = 'é'; const held = [];\nwhile (true) { text += text; held.push(text.split('')); }",
        "return 'a'.repeat(1e7).replace(/a/g, '$&'.repeat(28)).length > 0;\n//",
    ],
)
def test_a_memory_bomb_ends_its_own_check_alone(script: str) -> None:
    with little_time():
        report = run(script)
    assert report.status == "unscored"
    assert report.unscored in ("memory", "timeout", "script-error")
    assert run("output === 'x'").status == "pass"


def test_a_patched_prototype_does_not_reach_the_next_script() -> None:
    assert (
        run("String.prototype.includes = () => true;\nglobalThis.left = 1;\nreturn output.includes('nothing')").status
        == "pass"
    )
    assert run("output.includes('nothing') || typeof left !== 'undefined'").status == "fail"


@pytest.mark.parametrize(
    "patch",
    [
        'JSON.stringify = () => \'{"kind":"boolean","pass":true}\'',
        "Object.prototype.toJSON = () => ({kind: 'boolean', pass: true})",
        "Promise.prototype.then = function () { return this }",
        "Function.prototype.call = Function.prototype.apply = () => true",
        "Array.prototype.push = () => { throw 1 }",
        "Object.defineProperty(Object.prototype, 'pass', {value: true})",
    ],
)
def test_a_patched_engine_does_not_turn_the_verdict(patch: str) -> None:
    assert run(f"{patch};\nreturn false").status == "fail"


@pytest.mark.parametrize(
    "script",
    [
        "typeof require !== 'undefined'",
        "typeof process !== 'undefined'",
        "typeof fetch !== 'undefined'",
        "typeof XMLHttpRequest !== 'undefined'",
        "typeof WebSocket !== 'undefined'",
        "typeof Deno !== 'undefined' || typeof Bun !== 'undefined' || typeof module !== 'undefined'",
        "typeof WebAssembly !== 'undefined' || typeof SharedArrayBuffer !== 'undefined'",
        "typeof Atomics !== 'undefined' || typeof ArrayBuffer !== 'undefined'",
        "typeof (function () { return this })().process !== 'undefined'",
        "typeof output.constructor.constructor('return this')().process !== 'undefined'",
        "typeof context.constructor.constructor('return typeof require')() !== 'string'",
        "new Function('return typeof process')() !== 'undefined'",
        "(0, eval)('typeof require') !== 'undefined'",
        "Object.getOwnPropertyNames(globalThis).some((name) => /file|net|env|exec|spawn|read|write/i.test(name))",
        "new Error().stack.includes('/')",
    ],
)
def test_nothing_of_the_host_can_be_reached(script: str) -> None:
    assert run(script).status == "fail"


@pytest.mark.parametrize("module", ["fs", "node:fs", "child_process", "file:///etc/passwd", "./v8.py"])
def test_modules_cannot_be_imported(module: str) -> None:
    report = run(f"return import('{module}').then(() => true);\n//")
    assert (report.status, report.unscored) == ("unscored", "script-error")


def test_the_process_that_holds_v8_has_an_empty_environment() -> None:
    from promptpex.assertions.javascript import v8

    v8.PROCESS.start()
    process = v8.PROCESS._process
    assert process is not None
    shown = f"/proc/{process.pid}/environ"
    if not os.path.exists(shown):
        pytest.skip("the system does not show a process's environment")
    run("true")
    with open(shown, "rb") as file:
        assert b"PATH=" not in file.read()


def test_the_script_gets_its_own_copy() -> None:
    output = {"a": [1]}
    run("output.a.push(2);\ncontext.vars.list.push(3);\nreturn true", output, list=[1])
    assert output == {"a": [1]}


def test_promises_and_timers_settle_without_waiting() -> None:
    report = run("return new Promise((settle) => {\n  setTimeout(() => settle(0.25), 60000);\n});")
    assert (report.status, report.score) == ("pass", 0.25)


def test_an_endless_chain_of_timers_runs_out_of_time() -> None:
    with little_time():
        assert run("setInterval(() => {}, 1);\nreturn new Promise(() => {});").unscored == "timeout"


def test_lone_surrogates_come_and_go() -> None:
    assert run("output.charCodeAt(0) === 0xd83d", "\ud83d").status == "pass"
    report = run("(() => { throw new Error('\\ud83d') })()")
    assert report.unscored == "script-error"


@pytest.mark.parametrize("dialect", ["ecmascript", "python"])
@pytest.mark.parametrize("pattern", [r"^(a+)+$", r"^(a+)+\1$", r"^(a|aa)+$", r"(x+x+)+y"])
def test_no_pattern_hangs(pattern: str, dialect: str) -> None:
    with little_time():
        report = check("a" * 40 + "x" * 40 + "!", [{"kind": "regex", "value": pattern, "dialect": dialect}])
    assert report.status in ("fail", "unscored")
    assert report.unscored in (None, "timeout")


def test_a_hanging_pattern_does_not_take_its_neighbours_along() -> None:
    from promptpex.assertions.javascript import v8

    slow = (r"^(a+)+\1$", "", "a" * 40 + "!")
    regexes = v8.Regexes(seconds=0.5)
    regexes.prefetch([("b", "", "abc"), slow, ("c$", "", "abc")])
    assert regexes.test("b", "abc")
    assert regexes.test("c$", "abc")


def test_patterns_too_large_for_v8_are_refused() -> None:
    report = check("x", [{"kind": "regex", "value": "(" * 100_000 + ")" * 100_000}])
    assert (report.status, report.unscored) == ("unscored", "bad-pattern")


def test_a_v8_that_is_killed_from_outside_costs_no_verdict() -> None:
    from promptpex.assertions.javascript import v8

    for turn in range(2):
        v8.PROCESS.start()
        assert v8.PROCESS._process is not None
        os.kill(v8.PROCESS._process.pid, signal.SIGKILL)
        report = check(f"row {turn}", [JAVASCRIPT, {"kind": "regex", "value": f"^row {turn}$"}])
        assert report.status == "pass"


def test_some_bad_outputs_do_not_lose_the_others() -> None:
    """Three overruns give a script up, but for one that mostly judges."""
    from promptpex.assertions.worker_process import OVERRUNS, TRIES_PER_OVERRUN, StrikeCounter

    strikes = StrikeCounter()
    for _ in range(OVERRUNS):
        assert not strikes.struck_out("slow")
        strikes.record("slow", overran=True)
    assert strikes.struck_out("slow")
    for _ in range(20):
        for turn in range(TRIES_PER_OVERRUN):
            strikes.record("odd", overran=turn == 0)
    assert not strikes.struck_out("odd")


def test_many_different_scripts_that_hang_are_not_all_tried() -> None:
    """Those that have judged something still are."""
    from promptpex.assertions.worker_process import OVERRUNS_IN_ALL, WINDOW_SECONDS, ProcessStrikes, StrikeCounter

    now = [0.0]
    together = ProcessStrikes(lambda: now[0])
    strikes, others = StrikeCounter(together), StrikeCounter(together)
    strikes.record("good", overran=False)
    for number in range(OVERRUNS_IN_ALL):
        assert not others.struck_out(f"bad {number}")
        strikes.record(f"bad {number}", overran=True)
    assert strikes.struck_out("new")
    assert others.struck_out("new")
    assert not strikes.struck_out("good")
    now[0] = WINDOW_SECONDS + 1
    assert not others.struck_out("new")


def test_a_script_that_blocks_v8_takes_its_own_limit_and_no_start() -> None:
    """Each took ten seconds more: the time for V8 to come up was given to the script."""
    from promptpex.assertions.javascript import v8

    given: list[float] = []

    class Watched(v8.V8Process):
        def _exchange(self, request: dict[str, object], seconds: float) -> dict[str, object]:
            given.append(seconds)
            return super()._exchange(request, seconds)

    v8_process = Watched()
    packed = '{"output": "x", "context": {}}'
    request = {"op": "run", "body": "return true", "mode": "verdict", "packed": packed, "seconds": 2, "memory": 10**8}
    assert v8_process.ask(request, 2.0)["kind"] == "boolean"
    v8_process.close()
    assert v8_process.ask(request, 2.0)["kind"] == "boolean"
    v8_process.close()
    assert [seconds for seconds in given if seconds > 4] == [given[0], given[2]]
    assert given[1] == given[3] < 4


def test_a_pattern_that_always_takes_too_long_is_given_up() -> None:
    from promptpex.assertions.worker_process import OVERRUNS

    pattern = {"kind": "regex", "value": r"^(b|bb)+$", "dialect": "python"}
    with little_time():
        reports = [check("b" * 200 + f"!{turn}", [pattern]) for turn in range(OVERRUNS + 2)]
    assert {report.unscored for report in reports} == {"timeout"}
    assert ["not tried" in report.reason for report in reports] == [False] * OVERRUNS + [True] * 2
    slow = {"kind": "regex", "value": "(" * 30_000 + ")" * 30_000, "dialect": "python"}
    assert check("x", [slow]).unscored == "bad-pattern"


@pytest.mark.parametrize("pattern", ["(?:a{60000}){60000}", "(?R)"])
def test_a_python_pattern_that_cannot_be_compiled_or_searched_in_bounds_is_unscored(pattern: str) -> None:
    """The first was compiled for ever, in one call that nothing can stop; the second took half a gigabyte."""
    report = check("a" * 1000, [{"kind": "regex", "value": pattern, "dialect": "python"}, JAVASCRIPT])
    assert report.results[0].unscored in ("timeout", "memory", "bad-pattern")
    assert report.results[1].status == "fail"
