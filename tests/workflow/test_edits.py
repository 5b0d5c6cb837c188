"""Whatever people do to their files, and however often the machine writes them again: no byte of theirs is lost."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from promptpex.cases.file import read_suite
from promptpex.config import load
from promptpex.specs.file import read_spec
from promptpex.workflow.authoring import extract, generate, update
from promptpex.workflow.generating import Wishes
from promptpex.workflow.project_files import Files, files_of
from promptpex.workflow.session import Session, open_session
from tests.e2e.scripted_author import Author

SENTENCES = (
    "Reply in one word.",
    "Use small letters only.",
    "Never mention a brand.",
    "Đừng giải thích gì cả.",
    "End with a full stop.",
)
RULES = {sentence: f"The output keeps this: {sentence}" for sentence in SENTENCES}
HEAD = "Label the mood of a review.\n"
TAIL = "\n{{review}}\n"
ODD = (
    "plain words",
    "'it''s quoted'   # and remarked",
    '"a \\"b\\" \\u1ec7"',
    "|\n      two\n      lines",
    "Chữ có dấu ở đây",
)
RULE_SHAPES = (
    "  - {{id: {name}, rule: 'No. {name}',   inverse: the other way}}\n",
    '  - id: {name}\n    # why: {name}\n    rule: Number {name}, "really".\n    source: Nowhere at all in it.\n',
    "  - id: {name}\n    rule: |-\n      Two lines\n      of {name}\n    inverse: none of it\n    origin: added\n",
)
CASE_SHAPES = (
    "  - {{id: {name}, rule: r1, inputs: {{review: 'a   {name}'}}}}\n",
    "  - id: {name}\n    rule: r2   # {name}\n    inputs:\n      review: |\n        {name},\n        loud\n"
    "    origin: added\n",
    '  - id: {name}\n    inputs: {{review: "{name}\\t"}}\n',
)
STEPS = (
    "edit rule", "edit rule", "add rule", "delete rule", "swap rules", "remark rule",
    "edit case", "edit case", "add case", "delete case", "swap cases", "remark case",
    "change prompt", "generate", "generate", "update",
)  # fmt: skip


@dataclass
class Hands:
    """A folder, and what people have written in it so far.

    Attributes:
        blocks: by file and id, the bytes of the items that are theirs.
        remarks: by file, the comments that they put somewhere.
    """

    files: Files
    newline: str
    blocks: dict[tuple[str, str], str] = field(default_factory=dict)
    remarks: list[tuple[str, str]] = field(default_factory=list)
    number: int = 0

    def path(self, what: str) -> Path:
        return self.files.spec if what == "rule" else self.files.suite

    def text(self, what: str) -> str:
        return self.path(what).read_bytes().decode("utf-8").replace("\r\n", "\n")

    def write(self, what: str, text: str) -> None:
        self.path(what).write_bytes(text.replace("\n", self.newline).encode("utf-8"))

    def next(self) -> str:
        self.number += 1
        return f"x{self.number}"

    def items(self, what: str) -> list[tuple[str, int, int]]:
        """Id, start and end of each item of the list in a file, remarks between items left out."""
        text = self.text(what)
        starts = [match.start() for match in re.finditer(r"^  - ", text, re.MULTILINE)]
        blocks = []
        for start, following in zip(starts, [*starts[1:], len(text)], strict=True):
            block = re.sub(r"(?:^[ \t]*#[^\n]*\n|^\n)*\Z", "", text[start:following], flags=re.MULTILINE)
            name = re.search(r"\bid: ([\w.-]+)", block)
            assert name, block
            blocks.append((name[1], start, start + len(block)))
        return blocks

    def replace(self, what: str, start: int, end: int, new: str) -> None:
        text = self.text(what)
        self.write(what, text[:start] + new + text[end:])

    def held(self) -> None:
        """Asserts that everything people wrote is there, byte by byte, and that both files can be read."""
        read_suite(self.files.suite, read_spec(self.files.spec))
        for (what, name), block in self.blocks.items():
            assert block in self.text(what), (name, block, self.text(what))
        for what, remark in self.remarks:
            assert remark in self.text(what), (remark, self.text(what))
        raw = self.path("rule").read_bytes()
        assert self.newline == "\n" or b"\n" not in raw.replace(b"\r\n", b"")


def edited(hands: Hands, what: str, pick: int) -> None:
    items = hands.items(what)
    name, start, end = items[pick % len(items)]
    block = hands.text(what)[start:end]
    key = "rule" if what == "rule" else "review"
    indent = "    " if what == "rule" else "      "
    line = re.search(rf"^{indent}{key}: .*\n(?:{indent} +.*\n)*", block, re.MULTILINE)
    if line is None:
        return
    words = ODD[pick % len(ODD)].replace("\n      ", f"\n{indent}  ")
    new = block.replace(line[0], f"{indent}{key}: {words}\n")
    if new == block:
        return
    hands.replace(what, start, end, new)
    hands.blocks[what, name] = new


def added(hands: Hands, what: str, pick: int) -> None:
    shapes = RULE_SHAPES if what == "rule" else CASE_SHAPES
    name = hands.next()
    block = shapes[pick % len(shapes)].format(name=name)
    items = hands.items(what)
    place = items[pick % len(items)][2]
    hands.replace(what, place, place, block)
    hands.blocks[what, name] = block


def deleted(hands: Hands, what: str, pick: int) -> None:
    items = hands.items(what)
    if len(items) < 2:
        return
    name, start, end = items[pick % len(items)]
    gone = hands.text(what)[start:end]
    hands.replace(what, start, end, "")
    hands.blocks.pop((what, name), None)
    hands.remarks = [(file, remark) for file, remark in hands.remarks if file != what or remark not in gone]


def swapped(hands: Hands, what: str, pick: int) -> None:
    items = hands.items(what)
    if len(items) < 2:
        return
    first = pick % (len(items) - 1)
    (_, start, end), (_, after, last) = items[first], items[first + 1]
    text = hands.text(what)
    hands.write(what, text[:start] + text[after:last] + text[end:after] + text[start:end] + text[last:])


def remarked(hands: Hands, what: str, pick: int) -> None:
    items = hands.items(what)
    name, start, end = items[pick % len(items)]
    remark = f"# remark {hands.next()}: «keep me»"
    block = hands.text(what)[start:end]
    if pick % 3 == 0 or "\n" not in block.rstrip("\n"):
        hands.replace(what, start, start, f"  {remark}\n")
    else:
        head, _, rest = block.partition("\n")
        new = f"{head}   {remark}\n{rest}" if pick % 3 == 1 else f"{head}\n    {remark}\n{rest}"
        hands.replace(what, start, end, new)
        if (what, name) in hands.blocks:
            hands.blocks[what, name] = new
    hands.remarks.append((what, remark))


HAND: dict[str, Callable[[Hands, str, int], None]] = {
    "edit": edited, "add": added, "delete": deleted, "swap": swapped, "remark": remarked,
}  # fmt: skip


async def step(session: Session, hands: Hands, name: str, pick: int) -> None:
    verb, _, what = name.partition(" ")
    if name == "change prompt":
        chosen = [sentence for place, sentence in enumerate(SENTENCES) if (pick >> place) & 1] or [SENTENCES[0]]
        hands.files.prompt.write_text(f"{HEAD}{' '.join(chosen)}\n{TAIL}", encoding="utf-8")
    elif verb == "generate":
        await generate(session, hands.files, Wishes(replace=True))
    elif verb == "update":
        await update(session, hands.files)
    else:
        HAND[verb](hands, what.removesuffix("s"), pick)
    hands.held()


async def scene(folder: Path, steps: list[tuple[str, int]], newline: str) -> None:
    (folder / "prompt.md").write_text(f"{HEAD}{' '.join(SENTENCES[:4])}\n{TAIL}", encoding="utf-8")
    files = files_of(folder / "prompt.md")
    flags = {"author": "fake/author", "store": str(folder / "store.db"), "checks": False}
    author = Author(RULES).client()
    async with open_session(load(flags, start=folder, env={}), provider=author) as session:
        await extract(session, files)
        await generate(session, files, Wishes(replace=True))
        hands = Hands(files, newline)
        for what in ("rule", "case"):
            hands.write(what, hands.text(what))
        for name, pick in steps:
            await step(session, hands, name, pick)
        await generate(session, files, Wishes(replace=True))
        hands.held()
        asked, text = len(author.requests), hands.text("case")
        await generate(session, files, Wishes(replace=True))
        assert (len(author.requests), hands.text("case")) == (asked, text)


UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)
"""Hypothesis shrinks for up to five minutes, here at some scenes a second; ten steps can be read as they are."""
ALIKE_RULES = [
    ("edit rule", 10), ("edit rule", 13), ("swap rules", 15), ("change prompt", 15), ("generate", 27),
    ("edit rule", 0), ("edit rule", 10), ("generate", 0), ("generate", 27), ("delete case", 0),
]  # fmt: skip
"""Two rules in the same words, and a case deleted: what an author writes may be there already."""


@settings(max_examples=15, deadline=None, phases=UNSHRUNK, suppress_health_check=[HealthCheck.too_slow])
@example(ALIKE_RULES, "\n")
@given(
    st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 60)), min_size=1, max_size=10),
    st.sampled_from(["\n", "\r\n"]),
)
def test_no_hand_made_byte_is_ever_lost(steps: list[tuple[str, int]], newline: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(scene(Path(folder), steps, newline))
