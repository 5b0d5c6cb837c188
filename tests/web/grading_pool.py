"""Outputs to be graded in tests of the grading page, and how the page is driven."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from promptpex.core.records import Example, output_key
from promptpex.grading.book import WHOLE, Subject
from promptpex.grading.desk import GradingDesk
from promptpex.grading.next_item import Opinion
from promptpex.web.interfaces import GradingPort, Ports
from tests.web.browser import Page

RULES = (
    WHOLE,
    Subject("r1", "The output is one tag.", "output"),
    Subject("r2", "The tag is the right one.", "input"),
    Subject("r3", "The output has no quotes.", "output"),
)
SECRET = "because the machine says so"
"""The reason of every opinion: nobody may read it before having graded."""


def items_of(texts: Sequence[str]) -> list[Example]:
    """An output for each text, each of other inputs."""
    inputs = [{"word": f"word {number}", "sentence": "A sentence."} for number in range(len(texts))]
    return [
        Example(id=output_key(one, text), inputs=one, prompt="Tag it.", output=text, case=f"c{number}", model="m")
        for number, (one, text) in enumerate(zip(inputs, texts, strict=True))
    ]


def texts(count: int) -> list[str]:
    """As many different outputs."""
    return [f"answer {number}" for number in range(count)]


def hostile_items(hostile: Sequence[str]) -> list[Example]:
    """Outputs in which each of the texts is the output, a variable, its name, or what the model was sent."""
    made = []
    for start in range(0, len(hostile), 4):
        output, value, name, prompt = (hostile[(start + step) % len(hostile)] for step in range(4))
        inputs = {"x": value, name[:60]: start}
        made.append(Example(id=output_key(inputs, output), inputs=inputs, prompt=prompt, output=output, case=name[:60]))
    return made


def desk_of(path: Path, outputs: Sequence[str], subjects: Sequence[Subject] = RULES) -> GradingDesk:
    """A desk on these outputs; a judge has said something of every rule of each."""
    items = items_of(outputs)
    opinions = tuple(
        Opinion(f"{one.id} judge:j", one.id, "judge", "j", "fail", SECRET) for one in subjects if one is not WHOLE
    )
    return GradingDesk(items, subjects, path, opinions={item.id: opinions for item in items}, second_share=0)


def ports_of(desk: GradingDesk, *, grader: str = "ada", first: int = 0) -> Ports:
    """The ports of a server that only grades."""
    return Ports(desk.path.parent, start="/grade", grading=GradingPort(desk, "pos", grader, first=first))


async def ready(page: Page) -> None:
    """Waits until the page has nothing to do and shows an output or the end."""
    await page.until(
        "!document.querySelector('[aria-busy]') && document.querySelector('#progress')?.hidden === false"
        " && [...document.querySelectorAll('#item, #finish')].some(one => !one.hidden)"
    )


async def press(page: Page, *keys: str) -> None:
    """Presses keys, each when the page is ready for it."""
    for key in keys:
        await page.press(key)
        await ready(page)
