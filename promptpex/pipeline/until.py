"""A run that asks no more than it takes to decide: rounds of cases, and models that stop once they are settled.

After each round every model is held against the others, or against a limit, by confidence sequences, which are right
at all looks together (``stats.sequential``); so that looking often costs no more errors than looking once. They need
the cases in random order: the suite is shuffled by the run's seed. The same replies give the same rounds, so the same
command again asks nothing new.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from promptpex.errors import ConfigError
from promptpex.events import Notice
from promptpex.judging.decide import by_output, row_status
from promptpex.outputs import cells, collect
from promptpex.pipeline import running
from promptpex.records import Output, Run, Suite, Verdict
from promptpex.session import Session
from promptpex.stats import majority, race, sides

Item = TypeVar("Item")

ROUND = 10
"""Cases of a round: a decision waits for nine more at most, and models are kept busy."""

Repeats = Mapping[str, Mapping[str, Sequence[bool | None]]]
"""Per model and case, whether each repeat passed; None for unscored."""


async def execute(session: Session, begun: Run, *, on_output: Callable[[Output], None] = lambda output: None) -> Run:
    """The whole suite on every model, or with ``until_decided`` as much of it as decides, judged.

    Raises:
        ConfigError: what is asked of the models has no answer, as ``refuse_unanswerable`` says.
    """
    refuse_unanswerable(session)
    if not session.settings.until_decided:
        return await running.execute(session, begun, on_output=on_output)
    return await _in_rounds(session, begun, on_output)


def refuse_unanswerable(session: Session) -> None:
    """Refuses what no number of cases would answer, before anything is paid.

    Raises:
        ConfigError: with what to do.
    """
    settings = session.settings
    if settings.against is not None:
        labels = [model.label for model in session.models()]
        if settings.against not in labels:
            raise ConfigError(f"--against names {settings.against}; name one of the models: {', '.join(labels)}")
        if settings.until_decided:
            raise ConfigError("--until-decided places models among each other, or beside a --limit: drop --against")
    if settings.limit is not None and not settings.until_decided:
        raise ConfigError("--limit says when --until-decided stops: give both, or see --fail-over and `gate`")
    if settings.until_decided and settings.limit is None and len(session.models()) < 2:
        raise ConfigError("--until-decided needs two models to compare, or a --limit to hold one against")


def settled(
    results: Repeats, *, tolerance: float | None = None, limit: float | None = None, alpha: float = 0.05
) -> set[str]:
    """The models that need not be asked any more: their place, or their side of ``limit``, is certain.

    Args:
        results: what is known so far.
        tolerance: the loss that one is ready to accept, as a share.
        limit: a non-compliance that models are held against; None: they are held against each other.
        alpha: the probability of any wrong decision in the whole run.
    """
    if limit is not None:
        found = sides({model: _failed(cases) for model, cases in results.items()}, limit, alpha=alpha)
        return {model for model, (_, side) in found.items() if side != "undecided"}
    values = {model: {case: majority(told) for case, told in cases.items()} for model, cases in results.items()}
    standing = race(values, tolerance=tolerance, alpha=alpha)
    return {model for model, one in standing.items() if one.settled}


def rounds(cases: Sequence[Item], seed: int, size: int = ROUND) -> Iterator[list[Item]]:
    """The cases in a random order that the seed decides, ``size`` at a time."""
    order = list(cases)
    random.Random(seed).shuffle(order)
    for start in range(0, len(order), size):
        yield order[start : start + size]


async def _in_rounds(session: Session, begun: Run, on_output: Callable[[Output], None]) -> Run:
    settings, done = session.settings, begun
    asked = list(session.models())
    for batch in rounds(begun.suite.usable(), settings.seed):
        outputs = await collect(
            session.client,
            begun.prompt,
            cells(batch, asked, settings.repeats),
            defaults=session.output_params(),
            emit=session.emit,
            on_output=on_output,
        )
        judged = await running.judge(session, begun.but(outputs=tuple(outputs)))
        partial = done.manifest.partial or judged.manifest.partial
        done = done.but(
            manifest=judged.manifest.but(partial=partial),
            outputs=(*done.outputs, *judged.outputs),
            verdicts=(*done.verdicts, *judged.verdicts),
        )
        stop = settled(
            outcomes(done),
            tolerance=settings.tolerance,
            limit=settings.limit,
            alpha=round(1.0 - settings.confidence, 12),
        )
        for model in (model for model in asked if model.label in stop):
            session.emit(Notice(f"{model.label} is settled after {_cases(done, model.label)} cases"))
        asked = [model for model in asked if model.label not in stop]
        if not asked:
            break
    ordered = _in_order(done, [model.label for model in session.models()])
    return ordered.but(manifest=running.reported(ordered.manifest, ordered.outputs))


def outcomes(run: Run) -> Repeats:
    """What the outputs of a run say so far."""
    judged = by_output(run.verdicts)
    told = {"pass": True, "fail": False}
    found: dict[str, dict[str, list[bool | None]]] = {label: defaultdict(list) for label in run.manifest.models}
    for output in run.outputs:
        status, _ = row_status(judged.get(output.key, ()))
        found[output.model][output.case].append(told.get(status))
    return found


def _failed(cases: Mapping[str, Sequence[bool | None]]) -> tuple[float, int]:
    """Failed cases, one with repeats by its share of them, of those that are scored."""
    scored = [[passed for passed in told if passed is not None] for told in cases.values()]
    shares = [sum(not passed for passed in told) / len(told) for told in scored if told]
    return sum(shares), len(shares)


def _cases(run: Run, model: str) -> int:
    return len({output.case for output in run.outputs if output.model == model})


def _in_order(run: Run, models: Sequence[str]) -> Run:
    """Outputs and verdicts in the order of a run that asks everything."""
    place = _places(run.suite, models)
    outputs: list[Output] = sorted(run.outputs, key=lambda output: place(output.key))
    verdicts: list[Verdict] = sorted(run.verdicts, key=lambda verdict: place(verdict.key))
    return run.but(outputs=tuple(outputs), verdicts=tuple(verdicts))


def _places(suite: Suite, models: Sequence[str]) -> Callable[[tuple[str, str, int]], tuple[int, int, int]]:
    case_rank = {case.id: index for index, case in enumerate(suite.cases)}
    model_rank = {label: index for index, label in enumerate(models)}
    return lambda key: (model_rank[key[1]], key[2], case_rank[key[0]])
