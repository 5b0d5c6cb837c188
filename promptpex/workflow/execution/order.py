"""The order of a run's requests: whenever a budget, a deadline or a stop ends it, what was asked is a fair sample.

Cases come in a seeded order that is fair to every rule and inverse (``fair_order``), and models take turns at each
case. Only the models of a server that loads one model at a time are asked one after the other, so that each is loaded
once; all servers advance in proportion.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from promptpex.core.records import Case, ModelName, OutputKey
from promptpex.llm.resolve_model import resolve
from promptpex.workflow.execution.collect import Cell

SerialServer = Callable[[ModelName], str | None]
"""The server that has to load the model before it answers, and loads one model at a time; None for all others."""

Place = tuple[int, ...]
"""When a question is due: the lower, the sooner."""

Questions = Sequence[tuple[Place, int, str | None]]
"""For each question its place, the number of the model that is asked, and that model's serial server."""


AskedJudge = tuple[int, int, int]
"""A judge, an output and a turn by their numbers."""


def fair_order(cases: Sequence[Case], seed: int) -> list[Case]:
    """The cases in an order that the seed decides, each of whose beginnings has the same share of every target.

    A target is a rule or an inverse; the cases without a rule are one more target. The order within a target is random.
    The j-th of its m cases stands at (j + u) / m of the way, with one random u for each target, so that at any point of
    the way all targets are, to within one case, equally far: systematic sampling within strata (Cochran 1977, Sampling
    Techniques, chapter 8).
    """
    targets: dict[tuple[str | None, bool], list[Case]] = defaultdict(list)
    for case in cases:
        targets[case.rule, case.rule is not None and case.inverse].append(case)
    rng = random.Random(seed)
    positions: list[tuple[float, int, Case]] = []
    for number, target in enumerate(targets.values()):
        start = rng.random()
        rng.shuffle(target)
        positions += [((place + start) / len(target), number, case) for place, case in enumerate(target)]
    return [case for _, _, case in sorted(positions, key=lambda item: item[:2])]


def serial_server(model: ModelName) -> str | None:
    """The server on which the model takes turns with others, loaded one at a time; None where it need not."""
    server = resolve(model.name, model.api_base).server
    return server.key if server.one_model_at_a_time else None


def cell_order(cells: Sequence[Cell], cases: Sequence[Case], seed: int, serial: SerialServer) -> list[int]:
    """The numbers of the cells in the order in which to ask them: repeat by repeat, case by case, models in turn.

    Args:
        cells: what is asked.
        cases: the whole suite, of which the cells may be a part.
        seed: of the order of the cases.
        serial: which server a model shares with others, one at a time.
    """
    rank, models = _ranks(cases, seed), _numbers([cell.model.label for cell in cells])
    servers = {cell.model.label: serial(cell.model) for cell in cells}
    places = [((cell.repeat, rank.get(cell.case.id, len(rank))), cell.model.label) for cell in cells]
    return ask_order([(place, models[label], servers[label]) for place, label in places])


def judging_order(
    outputs: Sequence[OutputKey],
    cases: Sequence[Case],
    judges: Sequence[ModelName],
    *,
    seed: int,
    turns: int = 1,
    serial: SerialServer = serial_server,
) -> list[AskedJudge]:
    """Which judge is asked about which output, in which turn, in the order in which to ask.

    Outputs come in the order in which they were asked for, judges in turn; a second turn begins when all outputs have
    had their first.

    Args:
        outputs: the keys of what is judged.
        cases: the whole suite.
        judges: who judges.
        seed: of the order of the cases.
        turns: how often each judges an output.
        serial: which server a judge shares with others, one at a time.
    """
    rank, models = _ranks(cases, seed), _numbers([model for _, model, _ in outputs])
    places = [(repeat, rank.get(case, len(rank)), models[model]) for case, model, repeat in outputs]
    servers = [serial(judge) for judge in judges]
    judge_turns = [
        (judge, at, turn) for judge in range(len(judges)) for turn in range(turns) for at in range(len(outputs))
    ]
    order = ask_order([((turn, *places[at]), judge, servers[judge]) for judge, at, turn in judge_turns])
    return [judge_turns[number] for number in order]


def questions_before(
    order: Sequence[AskedJudge], has_question: Callable[[AskedJudge], bool]
) -> dict[AskedJudge, AskedJudge | None]:
    """By what has no question, in its order, the question to the same judge that comes last before it, else first after
    it; None where there is none."""
    before: dict[AskedJudge, AskedJudge | None] = {}
    last: dict[int, AskedJudge] = {}
    waiting: dict[int, list[AskedJudge]] = defaultdict(list)
    for asked in order:
        if not has_question(asked):
            before[asked] = last.get(asked[0])
            if asked[0] not in last:
                waiting[asked[0]].append(asked)
            continue
        last[asked[0]] = asked
        before |= dict.fromkeys(waiting.pop(asked[0], ()), asked)
    return before


def ask_order(questions: Questions) -> list[int]:
    """The numbers of the questions in the order in which to ask them."""
    waiting: dict[str | None, list[tuple[Place, int]]] = defaultdict(list)
    for number, (place, model, server) in enumerate(questions):
        waiting[server].append(((*place, model) if server is None else (model, *place), number))
    due: list[tuple[float, int]] = []
    for queue in waiting.values():
        due += [((at + 0.5) / len(queue), number) for at, (_, number) in enumerate(sorted(queue))]
    return [number for _, number in sorted(due)]


def _ranks(cases: Sequence[Case], seed: int) -> Mapping[str, int]:
    """The place of each case, by its id."""
    return {case.id: place for place, case in enumerate(fair_order(cases, seed))}


def _numbers(labels: Sequence[str]) -> Mapping[str, int]:
    return {label: number for number, label in enumerate(dict.fromkeys(labels))}
