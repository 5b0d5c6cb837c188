"""Pages that are kept: made once for all who wait, and anew when their files have changed."""

from __future__ import annotations

import threading

import pytest

from promptpex.web.shared_by_pages import MadePages


class Maker:
    """Makes pages of five characters, and counts them."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> str:
        self.count += 1
        return f"{self.count:5}"


def test_a_page_that_cannot_be_made_is_tried_again() -> None:
    def broken() -> str:
        raise KeyError("nosuch")

    pages = MadePages()
    with pytest.raises(KeyError):
        pages.get("a", 1, broken)
    assert pages.get("a", 1, lambda: "made") == "made"


def test_two_readers_wait_for_one_making() -> None:
    pages, begun, go_on, made = MadePages(), threading.Event(), threading.Event(), Maker()

    def slow() -> str:
        begun.set()
        go_on.wait(300)
        return made()

    texts: list[str] = []
    readers = [threading.Thread(target=lambda: texts.append(pages.get("a", 1, slow))) for _ in range(3)]
    for reader in readers:
        reader.start()
    assert begun.wait(300)
    go_on.set()
    for reader in readers:
        reader.join()
    assert (texts, made.count) == (["    1"] * 3, 1)
