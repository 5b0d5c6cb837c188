"""The report of a choice as files of its synthesis folder."""

from __future__ import annotations

from pathlib import Path

from promptpex.codecs.files.atomic import write_text
from promptpex.core.errors import SynthesisError
from promptpex.report.choices.csv_tables import candidates_csv, failures_csv
from promptpex.report.choices.page import html
from promptpex.report.choices.records import ChoicePage


def write(page: ChoicePage, folder: Path) -> Path:
    """Writes ``report.html``, ``candidates.csv`` and ``failures.csv``, and returns the path of the first.

    Links in the place of these files are replaced.

    Raises:
        SynthesisError: the folder cannot be written.
    """
    texts = {
        "candidates.csv": candidates_csv(page.candidates),
        "failures.csv": failures_csv(page.examples),
        "report.html": html(page),
    }
    try:
        for name, text in texts.items():
            write_text(folder / name, text, links=False)
    except OSError as failure:
        message = f"the report cannot be written ({failure.strerror or failure}); make the folder writable"
        raise SynthesisError(message, path=folder) from None
    return folder / "report.html"
