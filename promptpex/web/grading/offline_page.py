"""The grading page as one file that needs nothing else: for people without this machine, or without a server.

Outputs, rules and scripts stand in it; grades stay in the browser and are downloaded as lines of
``PROMPT.grades.jsonl``, which ``promptpex grade --import`` adds to the prompt's. The page's own
Content-Security-Policy lets it run its own scripts, known by their hashes, and load nothing at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from promptpex.codecs.files.atomic import write_text
from promptpex.codecs.text.wording import plural
from promptpex.core.errors import GradeError
from promptpex.core.ids import digest, text_digest
from promptpex.core.records import KEY_LENGTH, Example
from promptpex.core.surrogates import replace_surrogates
from promptpex.grading.desk import IMPORTED, GradingDesk
from promptpex.grading.next_item import Draw, random_draws
from promptpex.grading.random_sample import in_order, reached_by
from promptpex.report.html_page import environment, rendered
from promptpex.report.page.script import hash_source
from promptpex.web.grading.live_page import SHARED_SCRIPTS
from promptpex.web.grading.views import JsonData, content_view, own_policy, stale_views, subject_views
from promptpex.web.interfaces import GradingPort
from promptpex.web.pages.static_files import STATIC
from promptpex.web.script_texts import script_texts
from promptpex.web.shared_by_pages import TEMPLATES

OFFLINE_SCRIPTS = (*SHARED_SCRIPTS, "sha256.js", "grade_line.js", "kept_desk.js", "download.js", "grading.js")
MOST_ITEMS = 1_000
MOST_CHARACTERS = 20_000_000
"""Of all outputs with what led to them: a browser opens such a file within seconds."""


@dataclass(frozen=True, slots=True)
class OfflinePage:
    """What was written.

    Attributes:
        items: outputs on the page.
        left_out: open ones that it has no room for.
    """

    items: int
    left_out: int

    def sentence(self, path: Path) -> str:
        """For the terminal."""
        more = f"; it has no room for {plural(self.left_out, 'more output')}" if self.left_out else ""
        return f"{path}: {plural(self.items, 'output')} to grade{more}"


def write_offline_page(grading: GradingPort, path: Path) -> OfflinePage:
    """Writes the page, with all outputs that are not graded yet, in the order in which chance chooses them.

    Raises:
        GradeError: every output is graded.
        OSError: the file cannot be written.
    """
    desk = grading.desk
    desk.refresh()
    open_items = {item.id: item for item in desk.pool if desk.to_ask(item)}
    if not open_items:
        raise GradeError("every output is graded already, so there is nothing to put on the page", path=desk.path)
    items = _within_bounds([_item(desk, open_items[draw.item], draw) for draw in _draws(desk, open_items)])
    write_text(path, _page(grading, items), links=False)
    return OfflinePage(len(items), len(open_items) - len(items))


def _draws(desk: GradingDesk, open_items: dict[str, Example]) -> tuple[Draw, ...]:
    order = in_order((item.id for item in desk.pool), desk.seed)
    graded = frozenset(order) - open_items.keys()
    return random_draws(order, graded, reached_by(desk.book.grades), MOST_ITEMS, seed=desk.seed)


def _item(desk: GradingDesk, item: Example, draw: Draw) -> JsonData:
    """An output with all that a grade on it says besides the person's words."""
    return {
        **content_view(item),
        "case": replace_surrogates(item.case) or IMPORTED,
        "model": replace_surrogates(item.model) or IMPORTED,
        "output_digest": text_digest(item.output, KEY_LENGTH),
        "policy": draw.policy,
        "policy_name": own_policy(draw.policy),
        "probability": draw.probability,
        "stale": stale_views(desk, item, ""),
    }


def _within_bounds(items: list[JsonData]) -> list[JsonData]:
    """The beginning that a page has room for: at least one."""
    total = 0
    for number, item in enumerate(items):
        texts = (item["output"], item["sent"], *item["inputs"])
        total += sum(len(one["text"]) for one in texts)
        if number and total > MOST_CHARACTERS:
            return items[:number]
    return items


def _page(grading: GradingPort, items: list[JsonData]) -> str:
    scripts = list(map(_static, OFFLINE_SCRIPTS))
    sheets = map(rendered, ("report.css.jinja", "print.css.jinja"))
    styles = "".join((*sheets, *map(_static, ("page.css", "grading.css"))))
    settings = {
        "offline": True,
        "project": digest([grading.prompt_name, [item["id"] for item in items]], KEY_LENGTH),
        "file": grading.desk.path.name,
        "grader": "",
        "suggested": "",
        "policy": "random",
        "first": grading.first,
        "variables": grading.variables,
        "criteria": False,
        "again": "",
        "items": items,
        "subjects": subject_views(grading.desk.subjects),
    }
    values: dict[str, Any] = {
        "prompt_name": grading.prompt_name,
        "texts": script_texts(),
        "policies": (),
        "endings": (),
        "settings": settings,
        "policy": _content_security_policy(scripts, styles),
        "scripts": [Markup(script) for script in scripts],
        "styles": Markup(styles),
    }
    return environment(TEMPLATES).get_template("offline.html.jinja").render(**values)


def _static(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


def _content_security_policy(scripts: list[str], styles: str) -> str:
    allowed = " ".join(hash_source(script) for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src {hash_source(styles)}; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
