"""Comparing two runs, by the settings and with what people's grades say of either."""

from __future__ import annotations

from promptpex.config import Resolved
from promptpex.core.events import Listener
from promptpex.core.records import AnyRun
from promptpex.grading.labels import LabelRules
from promptpex.report.run_comparison import RunComparison, compare_runs
from promptpex.workflow.grading.peoples_grades import peoples_grades


def compare(
    before: AnyRun, after: AnyRun, resolved: Resolved, emit: Listener, *, rules: LabelRules | None = None
) -> RunComparison:
    """What has changed from one run to the other; the tolerance counts only where it was given for this comparison.

    Args:
        rules: how people's grades become labels.

    Raises:
        InputError: as ``compare_runs``.
        SynthesisError: the rules name a grader who gave no grade.
    """
    chosen = resolved.settings
    return compare_runs(
        before,
        after,
        confidence=chosen.confidence,
        tolerance=chosen.tolerance if resolved.given("tolerance") else None,
        weights=chosen.weights,
        rank_by=chosen.rank_by,
        people=(peoples_grades(before, emit, rules=rules), peoples_grades(after, emit, rules=rules)),
    )
