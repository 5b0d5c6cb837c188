"""How sure a judge was of its labels, by the log-probabilities of the tokens that decide them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from promptpex.core.records import Completion, TokenLogprob


def confidences(completion: Completion, labels: tuple[str, ...]) -> list[float]:
    """The probability of each ``"verdict"`` that a reply gives, in order, against the other labels; from 0 to 1.

    The token that begins the label is weighed against its alternatives, renormalised over those that could begin one
    of the labels: under a grammar, log-probabilities are those of the unconstrained model. Empty where the
    provider gave none, or where the tokens do not spell the reply.
    """
    tokens = completion.logprobs
    if not labels or not tokens or "".join(token.token for token in tokens) != completion.text:
        return []
    pattern = re.compile(r'"verdict"\s*:\s*"(' + "|".join(labels) + r')"')
    shares = [_probability(tokens, match.start(1), match[1], labels) for match in pattern.finditer(completion.text)]
    return [share for share in shares if share is not None] if None not in shares else []


def _probability(tokens: Sequence[TokenLogprob], at: int, label: str, labels: tuple[str, ...]) -> float | None:
    """The renormalised probability of ``label``, which begins at character ``at`` of the reply."""
    start = 0
    for token in tokens:
        if start <= at < start + len(token.token):
            return _share(token, token.token[: at - start], label, labels)
        start += len(token.token)
    return None


def _share(token: TokenLogprob, before: str, label: str, labels: tuple[str, ...]) -> float | None:
    """``before`` is what the token holds in front of the label, such as an opening quote."""
    weights = dict.fromkeys(labels, 0.0)
    logprobs = {token.token: token.logprob, **dict(token.top)}
    for text, logprob in logprobs.items():
        rest = text[len(before) :] if text.startswith(before) else text.lstrip(' "')
        for name in labels:
            if rest and (name.startswith(rest) or rest.startswith(name)):
                weights[name] += math.exp(min(logprob, 0.0))
    total = sum(weights.values())
    return weights[label] / total if total > 0 else None
