"""Outputs for two benchmarks that are made to fool checks, each with the rules that it breaks, written down beforehand.

A rule in ``open`` is one of which honest readers may differ on this output.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


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
