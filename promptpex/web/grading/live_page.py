"""What the live grading page is made with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from promptpex.core.translation import Key
from promptpex.web.interfaces import GradingPort
from promptpex.web.pages.card import CARD
from promptpex.web.pages.criteria import CRITERIA
from promptpex.web.script_texts import script_texts
from promptpex.web.shared_by_pages import Tab

SCRIPTS = (
    "problem.js",
    "ask.js",
    "elements.js",
    "shown_text.js",
    "keys.js",
    "item_view.js",
    "subject_rows.js",
    "progress_view.js",
    "counting.js",
    "grader_dialog.js",
    "grading.js",
)
"""In the order in which they run: each adds to one object."""

POLICIES = {
    "alternating": Key("the next two in turn, as EvalGen does"),
    "highest": Key("what assertions fail most surely comes first"),
    "lowest": Key("what assertions fail least surely comes first"),
    "random": Key("by chance alone"),
}
"""The policies in words; each leaves a share to the random sample."""
ENDINGS = (CARD, CRITERIA)
"""The pages that grading leads to."""
AGAIN = Key("Start {command} again and open the link that it prints")


def live_page(grading: GradingPort, tabs: Sequence[Tab]) -> dict[str, Any]:
    """The values of the page's template.

    Args:
        tabs: the pages that this server has.
    """
    return {
        "prompt_name": grading.prompt_name,
        "texts": script_texts(),
        "scripts": SCRIPTS,
        "policies": [{"name": name, "sentence": sentence} for name, sentence in POLICIES.items()],
        "endings": [tab for tab in tabs if tab.path in ENDINGS],
        "settings": {
            "grader": grading.grader,
            "suggested": grading.suggested,
            "policy": grading.desk.policy,
            "first": grading.first,
            "variables": grading.variables,
            "criteria": any(tab.path == CRITERIA for tab in tabs),
            "again": AGAIN.tr(command="promptpex grade"),
        },
    }
