"""Whatever an author proposes, outputs that are right are not failed: bad proposals are refused, mended or dropped."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from promptpex import promptfile
from promptpex.assertions import check
from promptpex.cases.file import read_suite
from promptpex.core.records import Check, Rule
from promptpex.specs.ask_checks import CheckReply, read_check
from promptpex.specs.check_trials import Evidence, Proposal
from promptpex.specs.file import read_spec
from promptpex.specs.propose_checks import propose_checks, with_checks
from tests.samples import role_model
from tests.specs.scripted_checks import Author, Reply, nothing, proposed, reply


@dataclass(frozen=True, slots=True)
class Trap:
    """An output, the rules that it breaks, and those that it neither clearly keeps nor clearly breaks."""

    text: str
    breaks: frozenset[str] = frozenset()
    open: frozenset[str] = frozenset()


def trap(text: str, breaks: str = "", open: str = "") -> Trap:
    return Trap(text, frozenset(breaks.split()), frozenset(open.split()))


SPEECH_TAG = [
    *map(trap, ("NN", "PRP$", "WP$", "NONE", "UNCLEAR", " NN ", "NN\n", "\nVB", "TO", "EX", "UH", "SYM", "POS", "LS")),
    trap("nn", "r2"),
    trap("Nn", "r2"),
    trap("noun", "r2 r5"),
    trap("PRONOUN", "r2", open="r5"),
    trap("verbatim", "r2"),
    trap("articled", "r2"),
    trap("OK", "r2"),
    trap("NNX", "r2"),
    trap("none", "r2", open="r6"),
    trap("NN.", "r3"),
    trap("**NN**", "r3"),
    trap("`PRP$`", "r3"),
    trap('"NN"', "r3"),
    trap("“NN”", "r3"),
    trap("<b>NN</b>", "r3"),
    trap("PRP $", "r1 r3"),
    trap("$", "r2 r3"),
    trap("NN VB", "r1 r4"),
    trap("NN/VB", "r3 r4"),
    trap("NN,VB", "r3 r4"),
    trap("NN-VB", "r3 r4"),
    trap("VB\nVBD", "r1 r4"),
    trap("NONE UNCLEAR", "r1 r4"),
    trap("The tag is NN.", "r1 r3"),
    trap("NN (noun)", "r1 r3 r5"),
    trap("adverb RB", "r1 r5"),
    trap('{"tag": "NN"}', "r1 r3"),
    trap("MD since can't is meant", "r1 r3"),
    trap("Sorry, I cannot tell.", "r1 r2 r3 r6"),
    trap("Which sentence?", "r1 r2 r3 r6"),
    trap("I am unable to decide, so UNCLEAR", "r1 r3 r6"),
]

LINE = {"description": "Lamp", "quantity": 2, "unit_price": 19.99, "amount": 39.98}
INVOICE: dict[str, Any] = {
    "vendor": "Hofer KG",
    "invoice_number": "A-7",
    "invoice_date": "2024-05-03",
    "currency": "EUR",
    "lines": [LINE],
    "total": 39.98,
}


def invoice(*without: str, line: dict[str, Any] | None = None, indent: int | None = None, **changes: Any) -> str:
    """The invoice as JSON, with some keys changed or left out."""
    whole = {**INVOICE, **({"lines": [LINE | line]} if line else {}), **changes}
    return json.dumps({key: whole[key] for key in whole if key not in without}, ensure_ascii=False, indent=indent)


EMPTY = invoice(vendor=None, invoice_number=None, invoice_date=None, currency=None, lines=[], total=None)
OTHERS = "r2 r3 r4 r5 r6 r7"

INVOICES = [
    trap(invoice()),
    trap(invoice(indent=2)),
    trap(f"\n{invoice()}\n\n"),
    trap(invoice().replace(": ", ":")),
    trap(EMPTY),
    trap(invoice(invoice_date=None)),
    trap(invoice(currency=None)),
    trap(invoice(lines=[])),
    trap(invoice(vendor="Unknown Pleasures Records")),
    trap(invoice(vendor="None & Sons")),
    trap(invoice(vendor="N/A Design Ltd")),
    trap(invoice(vendor="Đại Phát – cửa hàng 😀")),
    trap(invoice(invoice_number="2024-05-03")),
    trap(invoice(invoice_number="007")),
    trap(invoice(total=-19.99)),
    trap(invoice(total=0.07)),
    trap(invoice(total=1200)),
    trap(invoice(line={"quantity": 0.5, "unit_price": None})),
    trap(invoice(line={"description": 'Cable {2 m} ```, type "none"'})),
    trap(invoice(lines=[LINE, LINE, LINE])),
    trap(json.dumps(dict(reversed(INVOICE.items())))),
    trap(f"```json\n{invoice()}\n```", "r1"),
    trap(f"Here is the JSON:\n{invoice()}", "r1"),
    trap(f"{invoice()}\nLet me know!", "r1"),
    trap(f"[{invoice()}]", "r1", open=OTHERS),
    trap(invoice()[:-1], "r1", open=OTHERS),
    trap("I cannot read this invoice.", "r1", open=OTHERS),
    trap(invoice("currency"), "r2", open="r4"),
    trap(invoice(tax=1), "r2"),
    trap(invoice("invoice_date", date="2024-05-03"), "r2", open="r3"),
    trap(invoice(invoice_date="03.05.2024"), "r3"),
    trap(invoice(invoice_date="3 May 2024"), "r3"),
    trap(invoice(invoice_date="2024-13-01"), "r3"),
    trap(invoice(invoice_date="2024-5-3"), "r3"),
    trap(invoice(invoice_date="2024-05-03T00:00"), "r3"),
    trap(invoice(currency="€"), "r4"),
    trap(invoice(currency="eur"), "r4"),
    trap(invoice(currency="EURO"), "r4"),
    trap(invoice(currency="none"), "r4 r7"),
    trap(invoice(total="39.98"), "r5"),
    trap(invoice(total="39,98"), "r5"),
    trap(invoice(line={"quantity": "2 pcs"}), "r5"),
    trap(invoice(line={"amount": "€ 15"}), "r5"),
    trap(invoice(lines=None), "r6", open="r5"),
    trap(invoice(lines={}), "r6", open="r5"),
    trap(invoice(line={"tax": 1}), "r6"),
    trap(invoice(lines=[{"description": "Lamp"}]), "r6", open="r5"),
    trap(invoice(vendor=""), "r7"),
    trap(invoice(vendor="N/A"), "r7"),
    trap(invoice(vendor="unknown"), "r7"),
    trap(invoice(vendor="–"), "r7"),
    trap(invoice(invoice_number="?"), "r7"),
    trap(invoice(invoice_date="Unknown"), "r3 r7"),
    trap(invoice(line={"description": " none "}), "r7"),
]


BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
TAGS = (
    "CC|CD|DT|EX|FW|IN|JJR|JJS|JJ|LS|MD|NNPS|NNP|NNS|NN|PDT|POS|PRP[$]|PRP|RBR|RBS|RB|RP|SYM|TO|UH|VBD|VBG|VBN|VBP|VBZ"
    "|VB|WDT|WP[$]|WP|WRB|NONE|UNCLEAR"
)
TAG = rf"(?<![\p{{L}}$])(?:{TAGS})(?![\p{{L}}$])"
NUMBER = {"type": ["number", "null"]}


@dataclass(frozen=True, slots=True)
class Task:
    """A benchmark, its traps, and what an author says of each rule at first and when it is asked again."""

    name: str
    traps: Sequence[Trap]
    hasty: Mapping[str, Reply]
    mended: Mapping[str, Reply]


def says(rule: str, *checks: dict[str, str], keeps: str, only_this: str, breaks: str, decides: str = "wholly") -> Reply:
    """A reply whose examples stand behind each other, parted by ``|``."""
    given = {"keeps": keeps.split("|"), "keeps_only_this": only_this.split("|"), "breaks": breaks.split("|")}
    return reply(*checks, rule=rule, decides=decides, **given)


def holds(**properties: Any) -> dict[str, str]:
    """A check that the output holds an object whose properties follow these schemas."""
    schema = {"type": "object", "required": list(properties), "properties": properties}
    return proposed("contains-json", json.dumps(schema))


def changed(replies: Mapping[str, Reply], checks: Mapping[str, list[dict[str, str]]]) -> dict[str, Reply]:
    """The same examples with other checks."""
    return {rule: {**given, "checks": checks.get(rule, given["checks"])} for rule, given in replies.items()}


SPEECH = {
    "r1": says(
        "r1", proposed("regex", r"^\s*\S+\s*$"), keeps="NN|PRP$", only_this="**NN**|NN/VB", breaks="The tag is NN|N N"
    ),
    "r2": says("r2", proposed("regex", TAG), keeps="NN|PRP$", only_this="The tag is NN.", breaks="noun|nn|OK"),
    "r3": says(
        "r3",
        proposed("regex", r"^(?:[\p{L}\p{N}\s]|(?<=\b(?:PRP|WP))[$])*$"),
        keeps="NN|VBZ",
        only_this="NN VB",
        breaks="NN.|`NN`|$",
    ),
    "r4": says(
        "r4",
        proposed("not-regex", rf"{TAG}[\s\S]*{TAG}"),
        keeps="NN|MD",
        only_this="the tag is NN|noun",
        breaks="NN VB|NN/VB",
    ),
    "r5": says(
        "r5",
        proposed("not-word-any", "(?i)noun\nverb\nadjective\nadverb\narticle"),
        keeps="NN|VB",
        only_this="verbatim|articled",
        breaks="noun|an Adverb",
        decides="partly",
    ),
    "r6": says(
        "r6",
        proposed("not-word-any", "(?i)sorry\ncannot tell\nunable\nI can't"),
        proposed("not-contains", "?"),
        keeps="NN|MD",
        only_this="MD since can't is meant",
        breaks="Sorry, no.|I am unable to|Which?",
        decides="partly",
    ),
}
HASTY_SPEECH = {
    "r1": [proposed("regex", r"^\s*[A-Z]{1,5}\$?\s*$")],
    "r2": [proposed("regex", rf"^(?:{TAGS})$")],
    "r3": [proposed("not-regex", "[^A-Z]")],
    "r4": [proposed("word-count", "exactly 1 words")],
    "r5": [proposed("not-contains-any", "(?i)noun\nverb\nadjective\nadverb\narticle")],
    "r6": [proposed("not-contains-any", "(?i)sorry\ncannot\nunable\nunclear\n?")],
}

_STAND_IN = r'(?i):\s*"\s*(?:[\-–—?]+|n\/?a|unknown|none)?\s*"'
_DAY = {"type": ["string", "null"], "pattern": r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$"}
_KEYS = ("vendor", "invoice_number", "invoice_date", "currency", "lines", "total")
_CELLS = ("description", "quantity", "unit_price", "amount")
_LINES = {"type": "array", "items": {"type": "object", "properties": dict.fromkeys(_CELLS[1:], NUMBER)}}
_CLOSED = {
    "type": "object",
    "required": list(_CELLS),
    "properties": {cell: {} for cell in _CELLS},
    "additionalProperties": False,
}
_OBJECT = {
    "type": "object",
    "required": list(_KEYS),
    "properties": {key: {} for key in _KEYS},
    "additionalProperties": False,
}
FENCED = f"```json\n{invoice()}\n```"

READING = {
    "r1": says(
        "r1",
        proposed("is-json", '{"type": "object"}'),
        keeps=invoice(),
        only_this='{"a": 1}',
        breaks=f"Here: {invoice()}|none",
    ),
    "r2": says(
        "r2", proposed("contains-json", json.dumps(_OBJECT)), keeps=EMPTY, only_this=FENCED, breaks=invoice("total")
    ),
    "r3": says(
        "r3", holds(invoice_date=_DAY), keeps=invoice(), only_this=FENCED, breaks=invoice(invoice_date="3.5.24")
    ),
    "r4": says(
        "r4",
        holds(currency={"type": ["string", "null"], "pattern": "^[A-Z]{3}$"}),
        keeps=invoice(),
        only_this=FENCED,
        breaks=invoice(currency="€"),
    ),
    "r5": says("r5", holds(total=NUMBER, lines=_LINES), keeps=invoice(), only_this=FENCED, breaks=invoice(total="1,5")),
    "r6": says(
        "r6",
        holds(lines={"type": "array", "items": _CLOSED}),
        keeps=invoice(),
        only_this=FENCED,
        breaks=invoice(line={"tax": 1}),
    ),
    "r7": says(
        "r7",
        proposed("not-regex", _STAND_IN),
        keeps=invoice(vendor="Unknown Pleasures Records"),
        only_this=FENCED,
        breaks=invoice(vendor="N/A"),
        decides="partly",
    ),
    "r8": nothing("r8"),
}
HASTY_READING = {
    "r1": [proposed("regex", r"^\{[^{}]*\}$")],
    "r2": [proposed("is-json", json.dumps(_OBJECT))],
    "r3": [proposed("regex", r'"invoice_date": "\d{4}-\d\d-\d\d"')],
    "r4": [holds(currency={"type": "string", "pattern": "^[A-Z]{3}$"})],
    "r5": [proposed("not-regex", r'"\d')],
    "r6": [holds(lines={"type": "array", "minItems": 1, "items": _CLOSED})],
    "r7": [proposed("not-contains-any", "(?i)unknown\nn/a\nnone")],
}

TASKS = (
    Task("speech-tag", SPEECH_TAG, changed(SPEECH, HASTY_SPEECH), SPEECH),
    Task("invoice-json", INVOICES, changed(READING, HASTY_READING), READING),
)
each_task = pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)


async def checked(task: Task, *turns: Mapping[str, Reply]) -> tuple[list[Rule], list[Proposal]]:
    """The benchmark's rules with what is kept of an author's proposals, and the proposals."""
    folder = BENCHMARKS / task.name
    spec = read_spec(folder / "prompt.spec.yaml")
    spec = spec.replace(rules=tuple(rule.replace(checks=(), decides="wholly") for rule in spec.rules))
    author, _ = role_model(Author(*(list(turn.values()) for turn in turns)))
    cases = read_suite(folder / "prompt.cases.yaml").cases
    prompt = promptfile.read(folder / "prompt.md")
    proposals = await propose_checks(author, prompt, spec, evidence=Evidence(cases=cases))
    return with_checks(spec.rules, proposals), proposals


def wrong(rules: Sequence[Rule], traps: Sequence[Trap]) -> list[tuple[str, str, str]]:
    """Where the checks err: the rule, false failure or false pass, and the output."""
    errors = []
    for rule in rules:
        for one in (one for one in traps if rule.checks and rule.id not in one.open):
            status = check(one.text, list(rule.checks)).status
            if rule.id not in one.breaks and status != "pass":
                errors.append((rule.id, "false failure", one.text))
            if rule.id in one.breaks and status != "fail" and rule.decides == "wholly":
                errors.append((rule.id, "false pass", one.text))
    return errors


def as_check(given: dict[str, str]) -> Check:
    return read_check(CheckReply.model_validate(given), frozenset())


def test_there_are_enough_of_them() -> None:
    assert len({one.text for one in SPEECH_TAG} | {one.text for one in INVOICES}) >= 90


@each_task
def test_a_hasty_author_would_fail_right_outputs(task: Task) -> None:
    """Without being held against anything, each of its proposals errs."""
    believed = [
        Rule(id=rule, rule="x", decides=given["decides"], checks=tuple(map(as_check, given["checks"])))
        for rule, given in task.hasty.items()
        if given["checks"]
    ]
    failures = [(rule, text) for rule, what, text in wrong(believed, task.traps) if what == "false failure"]
    assert {rule for rule, _ in failures} == {rule.id for rule in believed}
    assert len(failures) >= 20


@each_task
async def test_a_hasty_author_is_asked_again_and_mends_its_checks(task: Task) -> None:
    rules, proposals = await checked(task, task.hasty, task.mended)
    by_code = [rule.id for rule in rules if rule.checks]
    assert by_code == [rule for rule in task.mended if task.mended[rule]["checks"]]
    assert wrong(rules, task.traps) == []
    assert {proposal.rule for proposal in proposals if proposal.dropped} == set(task.mended) - set(by_code)


@each_task
async def test_a_stubborn_author_loses_its_checks(task: Task) -> None:
    rules, proposals = await checked(task, task.hasty, task.hasty)
    assert [rule.id for rule in rules if rule.checks] == []
    reasons = [proposal.dropped or "" for proposal in proposals if proposal.refused]
    assert len(reasons) == len([given for given in task.hasty.values() if given["checks"]])
    assert all("is right" in reason or "should keep the rule" in reason for reason in reasons)


@each_task
async def test_a_careful_author_is_asked_once(task: Task) -> None:
    rules, _ = await checked(task, task.mended)
    assert wrong(rules, task.traps) == []
