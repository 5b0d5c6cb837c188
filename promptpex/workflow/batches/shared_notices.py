"""Warnings of several prompts: each says which prompts it is about, and the same one is said once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from promptpex.codecs.text.wording import named
from promptpex.core.events import Event, Listener, Notice


class SharedNotices:
    """Listeners of the prompts of a batch, before that of the whole.

    Notices about a single prompt that are not warnings are too many for a batch, and are left out.

    Args:
        emit: what is told in the end.
    """

    def __init__(self, emit: Listener) -> None:
        self._emit = emit
        self._kept: dict[Notice, list[str]] | None = None

    def of(self, prompt: str) -> Listener:
        """The listener of one prompt."""

        def listen(event: Event) -> None:
            if not isinstance(event, Notice):
                self._emit(event)
            elif event.level == "info":
                return
            elif self._kept is None:
                self._emit(_about([prompt], event))
            else:
                self._kept.setdefault(event, []).append(prompt)

        return listen

    @contextmanager
    def together(self) -> Iterator[None]:
        """Keeps warnings back until its end, and then tells those that several prompts have once, with the prompts."""
        prompts_of_notice: dict[Notice, list[str]] = {}
        self._kept = prompts_of_notice
        try:
            yield
        finally:
            self._kept = None
            for notice, prompts in prompts_of_notice.items():
                self._emit(_about(prompts, notice))


def _about(prompts: list[str], notice: Notice) -> Notice:
    names = named(list(dict.fromkeys(prompts)))
    return replace(notice, message=f"{names}: {notice.message}", shown=f"{names}: {notice.text()}")
