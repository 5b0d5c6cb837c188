"""Runs that drop what is worse: the suite is asked in parts, and a model that is shown to be worse no further.

The cases come in the fair order that the run's seed gives. The manifest lists which cases a part adds, so that a report
decides as the run did. The same replies give the same parts, so the same command again asks nothing new.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

from promptpex import tables
from promptpex.core.events import Notice
from promptpex.core.records import Case, Manifest, Output, Run, Score, Suite, Verdict
from promptpex.core.translation import stored
from promptpex.report.runs import RunRecords
from promptpex.stats import looks_at
from promptpex.tables import Cells
from promptpex.workflow.execution import run_records
from promptpex.workflow.execution.collect import TakeOutput, cells
from promptpex.workflow.execution.order import fair_order
from promptpex.workflow.preconditions import require_decidable, require_expected, require_ranked_metric
from promptpex.workflow.session import Session


async def execute(session: Session, begun: Run) -> Run:
    """The whole suite, judged, on every model, or with ``drop_worse`` on each until it is shown to be worse.

    Raises:
        InputError: the question cannot be answered (``require_decidable``, ``require_expected``,
            ``require_ranked_metric``), or weights fit no case.
    """
    with records_for(session) as records:
        manifest = await fill(session, begun, records, run_records.keeping(records))
        return records.of_run(begun.replace(manifest=manifest))


def records_for(session: Session, folder: Path | None = None) -> RunRecords:
    """The records of a run, with scores in the order in which it makes them; ``folder`` as for ``RunRecords``."""
    return RunRecords(folder, by_output=session.settings.drop_worse)


async def fill(session: Session, begun: Run, records: RunRecords, on_output: TakeOutput) -> Manifest:
    """As ``execute``, into the records of the run, of which it gives the manifest; see ``running.fill``."""
    require_decidable(session)
    cases = begun.suite.usable()
    if begun.manifest.subset is None:
        tables.check_weights(session.settings.weights, [case.rule for case in cases], [case.inverse for case in cases])
    require_expected(session.settings.rank_by, cases)
    require_ranked_metric(session, begun.metrics)
    if not session.settings.drop_worse:
        return await run_records.fill(session, begun, records, on_output)
    return await _in_parts(session, begun, records, on_output)


def parts_of(cases: Sequence[Case], seed: int) -> list[list[Case]]:
    """The cases that each part of the suite adds."""
    order = fair_order(cases, seed)
    return [order[start:end] for start, end in pairwise((0, *looks_at(len(order))))]


async def _in_parts(session: Session, begun: Run, records: RunRecords, on_output: TakeOutput) -> Manifest:
    settings, cases = session.settings, begun.suite.usable()
    parts = parts_of(cases, settings.seed)
    manifest = begun.manifest.replace(looks=tuple(tuple(case.id for case in part) for part in parts))
    partial, models_asked = None, list(session.roles.models())
    all_cells = cells(cases, models_asked, settings.repeats)
    for ids in map(frozenset, manifest.looks):
        labels = {model.label for model in models_asked}
        places = [at for at, one in enumerate(all_cells) if one.case.id in ids and one.model.label in labels]
        judged = await run_records.collect_and_judge(session, begun, (all_cells, places), records, on_output)
        partial = partial or judged.partial
        manifest = judged.replace(partial=partial, looks=manifest.looks)
        counts = Cells.of(records.database(begun))
        worse = _worse_so_far(session, manifest, counts) if ids != frozenset(manifest.looks[-1]) else frozenset()
        for model in (model for model in models_asked if model.label in worse):
            count = _cases(counts, model.label)
            message = stored(
                "{model} is shown to be worse after {count} cases: not asked further", model=model.label, count=count
            )
            session.emit(Notice(message))
        models_asked = [model for model in models_asked if model.label not in worse]
    return run_records.reported(manifest, records.outputs)


def _worse_so_far(session: Session, manifest: Manifest, counts: Cells) -> frozenset[str]:
    """The models that are shown to be worse, by the counts that the report shows."""
    settings, looks = session.settings, manifest.looks
    options = tables.RankingOptions(settings.tolerance, None, settings.confidence, looks, weights=settings.weights)
    return tables.worse_so_far(counts, manifest.models, options)


def _cases(counts: Cells, model: str) -> int:
    """How many cases the model was asked."""
    return int(counts.counts[counts.models.index(model)].any(axis=1).sum())


def in_order(run: Run, models: Sequence[str]) -> Run:
    """Outputs, verdicts and scores in the order of a run that asks everything."""
    place = _places(run.suite, models)
    outputs: list[Output] = sorted(run.outputs, key=lambda output: place(output.key))
    verdicts: list[Verdict] = sorted(run.verdicts, key=lambda verdict: place(verdict.key))
    scores: list[Score] = sorted(run.scores, key=lambda score: place(score.key))
    return run.replace(outputs=tuple(outputs), verdicts=tuple(verdicts), scores=tuple(scores))


def _places(suite: Suite, models: Sequence[str]) -> Callable[[tuple[str, str, int]], tuple[int, int, int]]:
    case_rank = {case.id: index for index, case in enumerate(suite.cases)}
    model_rank = {label: index for index, label in enumerate(models)}
    return lambda key: (model_rank[key[1]], key[2], case_rank[key[0]])
