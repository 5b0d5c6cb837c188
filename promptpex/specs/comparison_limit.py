"""How much work may go into likenesses of texts, so that no prompt and no spec can hang a command.

Work is reckoned before it is done, by the lengths of the texts, and not by the clock: the same files give the same
answer on every machine. A step takes about 0.2 ns.
"""

from __future__ import annotations

STEPS = 2e10
"""Steps for one question, such as all rules against a prompt: some seconds."""
_CALL = 5_000
_RATIO, _WORD = 20, 64


class Effort:
    """Work that is left for one question."""

    __slots__ = ("left",)

    def __init__(self, steps: float = STEPS) -> None:
        self.left = steps

    def allows(self, steps: float) -> bool:
        """Whether so much work may be done; if so, it is taken off. What is too dear leaves the rest for others."""
        if steps > self.left:
            return False
        self.left -= steps
        return True

    def ratio(self, first: int, second: int) -> bool:
        """Whether two texts of these lengths may be compared as wholes."""
        return self.allows(_CALL + _RATIO * first * second / _WORD)

    def partial(self, piece: int, whole: int) -> bool:
        """Whether the likest place of ``piece`` may be looked for in a text of length ``whole``."""
        short, long = sorted((piece, whole))
        return self.allows(_CALL + (short + long) * (1 + short * short / _WORD))
