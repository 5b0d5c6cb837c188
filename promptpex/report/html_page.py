"""The report as one HTML file that needs nothing else: no network, no font, and no script to be read.

What models and people wrote is hostile here: every value is escaped by Jinja's autoescape, control characters are
made visible, and a Content-Security-Policy (W3C, CSP Level 3) lets the page load nothing and run its own script alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from promptpex.codecs.files.atomic import write_text
from promptpex.codecs.text.wording import plural, sentence
from promptpex.core.translation import day_of, digits, from_data, shown, spoken
from promptpex.report.caveats_in_words import FEW, without_value
from promptpex.report.ids import anchor, is_long, shortened, shortened_list
from promptpex.report.metrics_in_words import NOTE, mean, points
from promptpex.report.metrics_in_words import scored as metric_scored
from promptpex.report.page.addresses import address, in_answer
from promptpex.report.page.asked import SentMessages
from promptpex.report.page.cases import VERDICTS
from promptpex.report.page.page_texts import moment, tr_n_on_page, tr_on_page
from promptpex.report.page.run_before import RunBefore, run_before
from promptpex.report.page.script import POLICY, script, script_policy, script_texts
from promptpex.report.page.values import breakable, coded, figure, pictured, pretty
from promptpex.report.percentages import at_least, ends, marked
from promptpex.report.quantities import counted
from promptpex.report.secondary_tables import footnotes, sections
from promptpex.report.summary import Summary
from promptpex.report.terminal.texts import money, percent, seconds
from promptpex.report.text_table import IDS
from promptpex.report.translated_values import counted_reasons, reason_of
from promptpex.report.view_model import heat, page

TEMPLATES = Path(__file__).parent / "templates"
FOLD = 400
"""Longer texts, in characters, are folded: about five lines of the page."""
MOST = 20_000
"""Characters of one text on the page, about ten printed pages; results.csv has the rest."""
SECTION = {"MOST_SHOWN": 200, "MOST_CELL": 1_000}
"""Rows of a section below the main table, and characters of one of its cells."""


def html(
    summary: Summary,
    tabs: Sequence[tuple[str, str, bool]] = (),
    *,
    sent: SentMessages | None = None,
    before: RunBefore | None = None,
) -> str:
    """The page of a run; the same summary gives the same bytes.

    Args:
        tabs: where a server shows it, the other pages: title, address, whether this page belongs there.
        sent: says what models were sent, see ``promptfile.renderer``; without it the page does not.
        before: the run that its figures can be compared with.
    """
    return rendered(
        "report.html.jinja",
        tabs=tabs,
        summary=summary,
        before=before,
        run=summary.run,
        manifest=summary.run.manifest,
        page=page(summary, sent),
        sections=sections(summary),
        footnotes=footnotes(summary),
        figures=summary.model_rows,
        verdict_names=VERDICTS,
        script=Markup(script()),
        policy=Markup(script_policy()),
    )


def rendered(template: str, **values: Any) -> str:
    """A page made of one of the templates; every value is escaped. ``policy`` is its Content-Security-Policy, where it
    has a script."""
    return environment(TEMPLATES).get_template(template).render({"policy": Markup(POLICY), **values})


def write(summary: Summary, folder: Path, sent: SentMessages | None = None) -> Path:
    """Writes the page as ``report.html`` into a run's folder, and returns its path."""
    path = folder / "report.html"
    write_text(path, html(summary, sent=sent, before=run_before(summary)), links=False)
    return path


def interval(row: Any) -> str:
    """The interval of a row as percentages."""
    return ends(row["ci_low"], row["ci_high"])


@cache
def environment(folder: Path) -> jinja2.Environment:
    """Templates of a folder, and those of reports: every value is escaped, and a missing one is an error."""
    jinja = jinja2.Environment(
        loader=jinja2.FileSystemLoader([folder, TEMPLATES]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=pictured,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    jinja.filters |= _filters()
    jinja.globals |= {
        "FEW": FEW,
        "FOLD": FOLD,
        "MOST": MOST,
        "METRICS": NOTE,
        "IDS": IDS,
        "address": address,
        "tr": tr_on_page,
        "tr_n": tr_n_on_page,
        "script_texts": script_texts,
        "language": lambda: spoken().name,
        **SECTION,
    }
    return jinja


def _filters() -> dict[str, Callable[..., object]]:
    """What templates turn values into texts by."""
    return {
        "percent": percent,
        "plural": plural,
        "money": money,
        "seconds": seconds,
        "figure": figure,
        "breakable": breakable,
        "moment": moment,
        "counted": counted,
        "mean": mean,
        "metric_scored": metric_scored,
        "points": points,
        "heat": heat,
        "shown": shown,
        "at_least": at_least,
        "marked": marked,
        "without_value": without_value,
        "reasons": counted_reasons,
        "from_data": from_data,
        "reason_of": reason_of,
        "day_of": day_of,
        "sentence": sentence,
        "digits": digits,
        "anchor": anchor,
        "in_answer": in_answer,
        "coded": coded,
        "is_long": is_long,
        "shortened": shortened,
        "shortened_list": shortened_list,
        "interval": interval,
        "pretty": pretty,
    }
