"""What a batch ends with in a terminal: one screen, also where there is much to say."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from promptpex.core.records import BatchManifest, BatchPart, Run
from promptpex.core.translation import reading_in
from promptpex.report import summarise
from promptpex.report.batches.batch_report import BatchReport, ReportedPart
from promptpex.report.batches.batch_screen import BatchEnding, show_batch
from tests.marked_language import Marked, unmarked
from tests.tables.many import many

SENT = "9 requests sent (8 answered), 0 answers from the store"
STOPPED = "promptpex: stopped; the answers so far are kept. To continue: promptpex run prompts --models " + "m," * 80


def _report(prompts: int, *, missing: int, made: Run | None = None) -> BatchReport:
    """A batch of so many prompts that were stopped, and so many without a run."""
    run = made or many(6, {"a": lambda n: n % 3 > 0, "b": lambda n: True})
    summary = summarise(run.replace(manifest=run.manifest.replace(partial="interrupted")))
    names = [f"prompt-{number}" for number in range(prompts)]
    parts = [ReportedPart(BatchPart(file=f"{name}.md", prompt=name, run=f"{name}/1"), summary) for name in names]
    parts += [
        ReportedPart(BatchPart(file=f"bare-{number}.md", prompt="bare", problem="the author does not answer"))
        for number in range(missing)
    ]
    batch = BatchManifest(batch="0123456789", parts=tuple(one.part for one in parts))
    return BatchReport(batch, Path("results/batches/0123456789"), tuple(parts))


def _lines(report: BatchReport, *, then: str = "", full: bool = False, width: int = 80) -> list[str]:
    file = io.StringIO()
    ending = BatchEnding(SENT, then=then)
    show_batch(report, Console(file=file, width=width), ending, full=full)
    return file.getvalue().splitlines()


@pytest.mark.parametrize(("prompts", "missing"), [(3, 0), (30, 0), (30, 12), (2, 40)])
def test_a_batch_that_was_stopped_ends_on_one_screen_with_its_answer_and_how_to_go_on(
    prompts: int, missing: int
) -> None:
    report = _report(prompts, missing=missing)
    lines = _lines(report, then=STOPPED)
    assert len(lines) + -(-len(STOPPED) // 80) <= 23
    answer = " ".join(" ".join(lines[-lines[::-1].index("") :]).split())
    assert report.answer.startswith(answer.removesuffix(" The index has the rest."))
    assert any(line.startswith("prompt-2") for line in lines) == (prompts > 2)
    assert [line for line in lines if line.startswith("bare")] == [
        f"bare-{number}.md: the author does not answer" for number in range(min(missing, 2))
    ]
    assert (f"and {missing - 2} more" in lines) == (missing > 2)


@pytest.mark.parametrize("full", [False, True])
def test_every_text_is_of_the_catalogue(full: bool) -> None:
    with reading_in(Marked()):
        lines = _lines(_report(30, missing=12), full=full, width=2000)
    names = {f"prompt-{number}" for number in range(30)} | {f"bare-{number}.md" for number in range(12)}
    index = "results/batches/0123456789/index.html"
    data = {"the author does not answer", SENT, "promptpex report", index, "interrupted"}
    assert "⟦" in "".join(lines)
    assert not [rest for line in lines if (rest := unmarked(line, names | data))]


def test_all_prompts_are_shown_in_full() -> None:
    lines = _lines(_report(30, missing=12), full=True)
    assert sum(line.startswith(("prompt-", "bare-")) for line in lines) == 42


def test_many_models_with_long_names_leave_room_for_prompts_and_the_answer_goes_on_in_the_index() -> None:
    models = [f"openai/model-{number}?api_base=http://127.0.0.1:8080/v1" for number in range(12)]
    run = many(6, dict.fromkeys(models, lambda n: n % 3 > 0))
    lines = _lines(_report(9, missing=0, made=run), then=STOPPED)
    assert len(lines) + -(-len(STOPPED) // 80) <= 23
    assert sum(line.startswith("prompt-") for line in lines) >= 3
    assert " ".join(lines).endswith("The index has the rest.")
    assert "more (see the index)" in " ".join(line.strip() for line in lines)
