"""Pages that take seconds to make, kept while what they are made from has not changed."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable


class MadePages:
    """The last pages that were made; two readers who ask for the same page at once wait for one making of it.

    Args:
        most: characters of all pages together; the last one is kept however long it is.
    """

    def __init__(self, most: int = 100_000_000) -> None:
        self._most = most
        self._pages: OrderedDict[Hashable, tuple[Hashable, str]] = OrderedDict()
        self._lock = threading.Lock()
        self._making: dict[Hashable, threading.Lock] = {}

    def get(self, key: Hashable, stamp: Hashable, make: Callable[[], str]) -> str:
        """The page with this key; it is made where none is kept with this stamp.

        Args:
            stamp: of the files that it is made from, taken before they are read.
        """
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        with making:
            with self._lock:
                cached = self._pages.get(key)
            if cached is None or cached[0] != stamp:
                cached = (stamp, make())
            self._keep(key, cached)
        return cached[1]

    def _keep(self, key: Hashable, page: tuple[Hashable, str]) -> None:
        with self._lock:
            self._pages[key] = page
            self._pages.move_to_end(key)
            while len(self._pages) > 1 and sum(len(text) for _, text in self._pages.values()) > self._most:
                oldest, _ = self._pages.popitem(last=False)
                self._making.pop(oldest, None)
