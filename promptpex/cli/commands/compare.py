"""``promptpex compare``: two runs side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options
from promptpex.cli.help import Command

if TYPE_CHECKING:
    from fractions import Fraction

    from promptpex.report.run_comparison import RunComparison


@click.command("compare", cls=Command)
@click.argument("before", type=options.PATH)
@click.argument("after", type=options.PATH)
@options.of_statistics("--fail-on-regression", is_flag=True, help="Exit 1 if a model is clearly worse than before.")
@options.of_statistics(
    "--regression-margin",
    type=options.SHARE,
    metavar="SHARE",
    help="A loss shown to be smaller is not a regression [none].",
)
@options.confidence
@options.weights
@options.of_statistics(
    "--rank-by",
    metavar="NAME",
    help="What decides whether a model is worse: non-compliance, accuracy, corrected (by people's grades) or a metric "
    "[non-compliance].",
)
@options.labelling
@options.results
@options.of_files("-o", "--out", type=options.PATH, metavar="FILE.html", help="The page [in AFTER's folder].")
@options.settings_options
@options.open_page
@options.output_options
def command(
    before: Path,
    after: Path,
    fail_on_regression: bool,
    regression_margin: Fraction | None,
    as_json: bool,
    out: Path | None,
    opened: bool,
    **flags: Any,
) -> int:
    """Compare two runs, model by model, on the cases of both.

    BEFORE and AFTER are runs' folders, ids or names, of one prompt or of two versions of it: `compare latest~1
    latest` is the latest run of the whole suite, and the one before it. A change counts where exact
    sign flips of the differences per case show it, corrected for the number of models, whatever is unscored.

    The page has both runs side by side: what was changed, what that did rule by rule, and the outputs before and after.
    With --json it is written only where --out names it.
    """
    from promptpex.cli.browser import open_report
    from promptpex.cli.command_session import settings
    from promptpex.cli.output import print_json, tell
    from promptpex.cli.progress import notices
    from promptpex.core.errors import GateFailed
    from promptpex.core.translation import tr
    from promptpex.report import runs
    from promptpex.report.comparison.page_file import page_in, write_page
    from promptpex.report.run_comparison import to_dict
    from promptpex.workflow.comparison.compare_runs import compare

    how = options.label_rules(flags)
    resolved = settings(flags)
    results = Path(resolved.settings.results)
    folders = runs.resolve(before, results, tell), runs.resolve(after, results, tell)
    one, two = map(runs.read_for_report, folders)
    listen = notices(verbose=False, quiet=bool(flags.get("quiet")))
    margin = None if regression_margin is None else float(regression_margin)
    comparison = compare(one, two, resolved, listen, folders=folders, rules=how, margin=margin)
    page = out or (None if as_json and not opened else page_in(*folders))
    if page is not None:
        write_page(comparison, page, folders)
    if as_json:
        print_json({**to_dict(comparison), **({"page": str(page)} if page else {})})
    else:
        _show(comparison, page)
    if opened and page is not None:
        open_report(page)
    if fail_on_regression and comparison.regressions:
        raise GateFailed(tr("clearly worse than before: {models}", models=", ".join(comparison.regressions)))
    return 0


def _show(comparison: RunComparison, page: Path | None) -> None:
    from rich.console import Console

    from promptpex.report.terminal import show_comparison

    show_comparison(comparison, Console(soft_wrap=False), page)
