"""The report as one HTML file that needs nothing else: no script, no network, no font.

What models and people wrote is hostile here: every value is escaped by Jinja's autoescape, control characters are
made visible, and a Content-Security-Policy (W3C, CSP Level 3) lets the page load and run nothing at all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from promptpex.codecs.atomic import write_text
from promptpex.codecs.wording import plural
from promptpex.report.headline import FEW
from promptpex.report.ids import anchor, is_long, shortened, shortened_list
from promptpex.report.metrics_in_words import NOTE, mean, points
from promptpex.report.metrics_in_words import scored as metric_scored
from promptpex.report.percentages import ends
from promptpex.report.quantities import counted
from promptpex.report.secondary_tables import footnotes, sections
from promptpex.report.section import IDS
from promptpex.report.summary import Summary
from promptpex.report.terminal import decision_text, money, percent, seconds
from promptpex.report.view_model import VERDICTS, heat, page
from promptpex.tables import records

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""The Content-Security-Policy of a report: its own styles, and nothing else."""
TEMPLATES = Path(__file__).parent / "templates"
FOLD = 400
"""Longer texts, in characters, are folded: about five lines of the page."""
MOST = 20_000
"""Characters of one text on the page, about ten printed pages; results.csv has the rest."""
SECTION = {"MOST_SHOWN": 200, "MOST_CELL": 1_000}
"""Rows of a section below the main table, and characters of one of its cells."""

_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202d\u202e\ud800-\udfff]")
_DELETE = 0x7F
_OVERRIDES = (0x202D, 0x202E)


def html(summary: Summary, tabs: Sequence[tuple[str, str, bool]] = ()) -> str:
    """The page of a run; the same summary gives the same bytes.

    Args:
        tabs: where a server shows it, the other pages: title, address, whether this page belongs there.
    """
    return rendered(
        "report.html.jinja",
        tabs=tabs,
        summary=summary,
        run=summary.run,
        manifest=summary.run.manifest,
        page=page(summary),
        sections=sections(summary),
        footnotes=footnotes(summary),
        figures=records(summary.models),
        verdict_names=VERDICTS,
    )


def rendered(template: str, **values: Any) -> str:
    """A page made of one of the templates; every value is escaped."""
    return environment(TEMPLATES).get_template(template).render(**values)


def write(summary: Summary, folder: Path) -> Path:
    """Writes the page as ``report.html`` into a run's folder, and returns its path."""
    path = folder / "report.html"
    write_text(path, html(summary), links=False)
    return path


def visible(value: Any) -> Any:
    """A value for the page: None as nothing; of a text, control characters as their pictures (U+2400 ...), overrides
    of the writing direction by their names, what no file can hold as U+FFFD."""
    if value is None:
        return ""
    if type(value) is not str or value.isprintable():
        return value
    return _UNSEEN.sub(_picture, value.replace("\r\n", "\n"))


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code == _DELETE:
        return "␡"
    if code in _OVERRIDES:
        return f"[U+{code:04X}]"
    return chr(0x2400 + code) if code < _DELETE else "\ufffd"


def figure(value: Any) -> str:
    """A cell of a table of figures: a dash for what is not known, four digits of a measure."""
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def interval(row: Any) -> str:
    """The interval of a row as percentages."""
    return ends(row["ci_low"], row["ci_high"])


def pretty(value: Any) -> str:
    """JSON-ready data as indented JSON; what is a text stays one."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1, default=str)


@cache
def environment(folder: Path) -> jinja2.Environment:
    """Templates of a folder, and those of reports: every value is escaped, and a missing one is an error."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader([folder, TEMPLATES]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    filters = {
        "percent": percent,
        "plural": plural,
        "money": money,
        "seconds": seconds,
        "figure": figure,
        "decision_text": decision_text,
        "counted": counted,
        "mean": mean,
        "metric_scored": metric_scored,
        "points": points,
        "heat": heat,
        "anchor": anchor,
        "is_long": is_long,
        "shortened": shortened,
        "shortened_list": shortened_list,
    }
    made.filters |= {**filters, "interval": interval, "pretty": pretty}
    made.globals |= {"FEW": FEW, "FOLD": FOLD, "MOST": MOST, "METRICS": NOTE, "IDS": IDS, "POLICY": POLICY, **SECTION}
    return made
