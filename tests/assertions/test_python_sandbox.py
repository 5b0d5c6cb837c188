"""Hostile Python: bounded in time and memory, without a way out, without traces in the next check."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

import pytest

from promptpex.assertions import check, compile_checks, evaluator
from promptpex.assertions.model import CheckedOutput, CheckResult, Unscorable
from promptpex.assertions.python import sandbox
from promptpex.assertions.python.sandbox import PROCESSES
from promptpex.assertions.worker_process import WorkerProcess
from promptpex.core.errors import CheckError

BODY = "def f(output):\n"


def run(code: str, output: object = "x", **given: object) -> CheckResult:
    return check(output, [{"kind": "python", "value": code}], vars=given).results[0]


def lines(*body: str) -> str:
    return BODY + "".join(f"    {line}\n" for line in body)


@pytest.fixture
def soon_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short limit, for code that reaches it."""
    monkeypatch.setattr(sandbox, "RUN_SECONDS", 0.25)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No limit of time, for what another one ends, on a busy machine too."""
    monkeypatch.setattr(sandbox, "RUN_SECONDS", 300.0)


@pytest.mark.usefixtures("soon_over")
def test_an_endless_loop_runs_out_of_time_whatever_it_catches() -> None:
    caught = lines("while True:", "    try:", "        while True: pass", "    except BaseException: pass")
    assert run(caught).unscored == "timeout"


@pytest.mark.usefixtures("soon_over")
def test_what_no_limit_of_the_interpreter_stops_ends_with_its_process() -> None:
    """A power of so many digits looks at no clock."""
    assert run("10 ** 10 ** 7 % 7 == 1").unscored in ("timeout", "memory")


def test_sleeping_is_refused_at_once() -> None:
    for code in (
        "import time\ntime.sleep(60)\nreturn True",
        "import asyncio\nawait asyncio.sleep(60)\nreturn True",
    ):
        result = run(code)
        assert (result.unscored, "sleeps" in result.reason) == ("timeout", True)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(
    "code",
    [
        "[0] * 10 ** 10",
        "10 ** 10 ** 8 > 1",
        "'a' * 10 ** 10",
        "'x'.ljust(10 ** 10)",
        "f'{output:>{10 ** 10}}'",
        "'%10000000000d' % 1",
        "('x' * 10 ** 6).replace('', 'y' * 10 ** 5)",
        "list(range(10 ** 9))",
        "text = 'xy'\nwhile True: text += text",
        "held = []\nwhile True: held.append([0] * 10000)",
        "import itertools\nreturn list(itertools.permutations(range(20)))",
    ],
)
def test_a_memory_bomb_ends_its_own_check_alone(code: str) -> None:
    assert run(code).unscored == "memory"


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(
    "code",
    [
        lines("def g(n): return g(n + 1)", "return g(0)"),
        lines(
            "a = []", "for i in range(100000): a = [a]", "b = []", "for i in range(100000): b = [b]", "return a == b"
        ),
        lines("import json", "return json.loads('[' * 100000)"),
    ],
)
def test_what_nests_without_end_raises(code: str) -> None:
    assert run(code).unscored == "script-error"


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"^(a|aa)+$", r"^(a+)+\1$", r"(?=(a+)+b)\1", r"(a+a+)+y\1"])
def test_no_pattern_of_code_hangs(pattern: str) -> None:
    result = run(f"import re\nreturn re.search(r'{pattern}', output) is None", "a" * 5000 + "!")
    assert result.status == "pass" or result.unscored == "timeout"


@pytest.mark.parametrize(
    "code",
    [
        "().__class__.__bases__[0].__subclasses__()",
        "output.__class__.__mro__",
        "f.__globals__\nreturn 1",
        "type(output).__subclasses__()",
        "getattr(output, '__cla' + 'ss__')",
        "'{0.__class__}'.format(output)",
        "'{0.__class__.__init__.__globals__}'.format(output)",
        "'%(x)s'.__format__.__self__",
        "(lambda: 0).__code__.co_consts",
        "import sys\nreturn sys.modules['os']",
        "import sys\nreturn sys._getframe()",
        "import json\nreturn json.codecs.sys",
        "import re\nreturn re.enum.sys.modules['os']",
        "import random\nreturn random._os.system('true')",
        "try:\n    1 / 0\nexcept Exception as error:\n    return error.__traceback__.tb_frame",
        "__builtins__['__import__']('os')",
        "__import__('os').system('true')",
        "__loader__.load_module('os')",
        "compile('1', 'x', 'eval')",
        "breakpoint()",
        "input()",
        "globals()['verdicts']",
        "vars()",
        "verdict_of(True, 'truth')",
        "rows",
        "results.append(['boolean', True])",
    ],
)
def test_no_attribute_and_no_name_leads_out(code: str) -> None:
    result = run(code)
    assert result.status == "unscored", result.reason
    assert result.unscored in ("script-error", "unsupported-python")


@pytest.mark.parametrize(
    "module", ["subprocess", "socket", "ctypes", "pickle", "builtins", "importlib", "shutil", "gc"]
)
def test_modules_that_reach_out_are_not_there(module: str) -> None:
    assert run(f"import {module}\nreturn True").unscored == "unsupported-python"


@pytest.mark.parametrize(
    "code",
    [
        "open('/etc/passwd').read()",
        "open('was-here.txt', 'w').write('x')",
        "import pathlib\nreturn pathlib.Path('/etc/passwd').read_text()",
        "import pathlib\nreturn list(pathlib.Path('/').iterdir())",
        "import os\nreturn os.listdir('/')",
        "import os\nreturn os.environ",
        "import os\nreturn os.getenv('PATH')",
        "import os\nreturn os.system('true')",
        "import os\nreturn os.remove('x')",
        "exec('import socket')",
        "eval('__import__(\"os\")')",
    ],
)
def test_files_environment_and_programs_are_out_of_reach(code: str) -> None:
    result = run(code)
    assert result.status == "unscored", result.reason
    assert not Path("was-here.txt").exists()


def test_the_processes_have_an_empty_environment() -> None:
    assert run("True").status == "pass"
    process = PROCESSES[0]._process
    assert process is not None
    if not Path(f"/proc/{process.pid}/environ").exists():
        pytest.skip("the system does not show a process's environment")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert children
    for pid in (str(process.pid), *children):
        assert b"PATH=" not in Path(f"/proc/{pid}/environ").read_bytes()


@pytest.mark.parametrize(
    "patch",
    [
        "import json\njson.dumps = lambda value: '[[\"boolean\", true]]'",
        "import random\nrandom.seed = None",
        "global verdict_of, results\nverdict_of = lambda *a: ['boolean', True]\nresults = []",
        "exec('def verdict_of(*a): return [\"boolean\", True]')",
        "print('[[\"boolean\", true]]' * 100000)",
    ],
)
def test_code_does_not_forge_a_verdict_past_its_own_return(patch: str) -> None:
    body = "".join(f"    {line}\n" for line in patch.split("\n"))
    assert run(f"{BODY}{body}    return False\n").status != "pass"


def test_nothing_is_left_for_the_next_output() -> None:
    code = (
        "SEEN = []\ndef f(example, prompt, response, kept=[]):\n    global LATE\n    SEEN.append(1)\n"
        "    kept.append(1)\n    example['n'] = 0\n    LATE = 1\n    return len(SEEN) == 1 and len(kept) == 1\n"
    )
    compiled = compile_checks([{"kind": "python", "value": code}])
    outputs = [evaluator.checked_output("x", {"n": n}) for n in range(20)]
    reports = evaluator.evaluate_many([(compiled, checked, None) for checked in outputs])
    assert [report.status for report in reports] == ["pass"] * 20
    assert [checked.vars["n"] for checked in outputs] == list(range(20))


def test_random_numbers_are_the_same_for_every_output_and_run() -> None:
    compiled = compile_checks([{"kind": "python", "value": "import random\nreturn random.random()"}])
    outputs = [evaluator.checked_output("x", {}) for _ in range(5)]
    scores = {report.score for report in evaluator.evaluate_many([(compiled, each, None) for each in outputs])}
    assert len(scores | {run("import random\nreturn random.random()").score}) == 1


@pytest.mark.parametrize(
    "code",
    [
        lines("raise Exception('x' * 10_000_000)"),
        lines("raise Exception('\\x1b[2J{{7*7}}\\u202e')"),
        lines("return {'pass': True, 'score': 1, 'reason': 'r' * 10_000_000}"),
        lines("return {'pass': True, 'named_scores': {str(n): n for n in range(100_000)}}"),
        lines("return 'y' * 50_000_000"),
        lines("return [[0] * 1000] * 1000"),
        lines("return -10 ** 4000"),
        lines("return {'pass': [], 'score': {}, 'reason': 5}"),
        lines("print('x' * 10_000_000)", "return True"),
        lines("class A:", "    def __repr__(self): raise ValueError", "return A()"),
        lines("raise KeyboardInterrupt"),
        lines("raise SystemExit"),
    ],
)
def test_floods_and_hostile_results_stay_small(code: str) -> None:
    result = run(code)
    assert len(result.reason) <= 400
    assert len(result.named) <= 1000
    assert run("True").status == "pass"


def test_a_result_with_the_pickle_of_something_is_text() -> None:
    assert run("b'cos\\nsystem\\n(S\"true\"\\ntR.'").reason == "the code gave bytes, which is not a verdict"


def test_lone_surrogates_come_without_harm() -> None:
    assert run("len(output) == 3", "a\ud83db").status == "pass"


def test_a_process_that_dies_is_replaced() -> None:
    assert run("True").status == "pass"
    process = PROCESSES[0]._process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    assert run("True").status == "pass"
    second = PROCESSES[0]._process
    assert second is not None
    assert second.pid != process.pid


def test_a_monty_that_dies_is_replaced() -> None:
    assert run("True").status == "pass"
    process = PROCESSES[0]._process
    assert process is not None
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not children.exists():
        pytest.skip("the system does not show a process's children")
    for pid in children.read_text().split():
        os.kill(int(pid), signal.SIGKILL)
    assert run("len(output) == 1").status in ("pass", "unscored")
    assert run("len(output) == 1").status == "pass"


def test_nothing_runs_on_when_the_process_is_closed() -> None:
    assert run("True").status == "pass"
    process = PROCESSES[0]._process
    assert process is not None
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not listed.exists():
        pytest.skip("the system does not show a process's children")
    children = listed.read_text().split()
    PROCESSES[0].close()
    until = time.monotonic() + 30
    while any(_alive(pid) for pid in children):
        assert time.monotonic() < until
        time.sleep(0.02)


def _alive(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.usefixtures("soon_over")
def test_code_that_hangs_is_given_up() -> None:
    from promptpex.assertions.worker_process import OVERRUNS

    code = "while len(output) == 1: pass\nreturn 'given up'"
    reasons = [run(code).reason for _ in range(OVERRUNS + 1)]
    assert reasons[-1] == "the code was not tried; it went over its limits too often before"


def test_without_the_interpreter_a_check_says_how_to_get_it() -> None:
    """The wheel with the program is not there for every system."""
    nowhere = WorkerProcess(lambda: sandbox.command("promptpex-has-no-such-runtime"), own_group=True)
    with pytest.raises(Unscorable, match="pip install pydantic-monty") as missing:
        nowhere.ask({"op": "parse", "code": "1", "seconds": 1, "memory": 10**8}, 1.0)
    assert missing.value.code == "no-sandbox"


def test_the_text_of_a_check_is_scanned_in_time_in_proportion() -> None:
    """None takes the square of its length; a text of the greatest length that did would take minutes."""
    unclosed = ("'" * 99_999, '"' * 99_999, "(" * 99_000, "def f(" + "a," * 45_000, "\\" * 99_999, "#" * 99_999)
    for text in (*unclosed, "def f(\n" * 14_000, '""' * 49_999, "def f(a):\n" * 9_000, "x = ''\n" * 14_000):
        with contextlib.suppress(CheckError):
            compile_checks([{"kind": "python", "value": text}])


def test_one_output_that_cannot_be_handed_in_loses_no_other() -> None:
    """Its case nests too deep, or holds numbers that are none in JSON."""
    deep: object = []
    for _ in range(5_000):
        deep = [deep]
    compiled = compile_checks(
        [
            {"kind": "python", "value": "def f(example, prompt, response):\n    return len(response) == 1"},
            {"kind": "python", "value": "len(output) == 1"},
        ]
    )
    hostile: list[dict[str, object]] = [
        {"a": deep},
        {"a": 10**5000},
        {"a": float("nan")},
        {"a": "\ud800"},
        {"\ud800": 1},
        {},
    ]
    outputs = [CheckedOutput("x", vars=variables, prompt="p") for variables in hostile]
    reports = evaluator.evaluate_many([(compiled, checked, None) for checked in outputs])
    assert [[result.status for result in report.results] for report in reports[1:]] == [["pass", "pass"]] * 5
    assert reports[0].results[0].unscored in ("memory", "script-error")
