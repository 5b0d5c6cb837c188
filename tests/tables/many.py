"""Runs of many cases: a function says what each model passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from promptpex.core.records import Case, Rule, Run
from tests.tables.by_hand import output, run, verdict

RULES = (Rule(id="r1", rule="one"), Rule(id="r2", rule="two"))


def cases(count: int, *, rules: int = 0) -> tuple[Case, ...]:
    """``count`` cases, aimed at ``rules`` rules in turn; at none by default, so that each stands for itself."""
    return tuple(
        Case(id=f"c{n}", rule=f"r{n % rules + 1}" if rules else None, inputs={"thing": f"t{n}"}) for n in range(count)
    )


def many(
    count: int,
    passes: dict[str, Callable[[int], bool | None]],
    *,
    repeats: int = 1,
    rules: int = 0,
    asked: Callable[[str, int], bool] = lambda model, n: True,
    **manifest: Any,
) -> Run:
    """A run in which ``passes[model](n)`` is whether case ``n`` passes, fails or is unscored (None)."""
    outputs, verdicts = [], []
    for model, passed in passes.items():
        for repeat in range(repeats):
            for n in range(count):
                if not asked(model, n):
                    continue
                status = {True: "pass", False: "fail", None: "unscored"}[passed(n)]
                text = f"{model} {n}" if status == "pass" else f"{model} {n} {status}"
                outputs.append(output(f"c{n}", model, text, repeat=repeat))
                more = {"unscored": "judge-empty"} if status == "unscored" else {}
                verdicts.append(verdict(status, "r1", f"c{n}", model, repeat=repeat, **more))
    made = cases(count, rules=rules)
    return run(outputs, verdicts, models=tuple(passes), rules=RULES, cases=made, **manifest)
