"""When a request is sent: queues, limits, retries, budget, circuit breaker, cancellation.

Written here since none of tenacity, stamina, aiolimiter and purgatory keeps requests and tokens a minute,
``Retry-After`` and one model at a time together.
"""

from __future__ import annotations

CONCURRENCY = 32
"""Requests in flight per server, by default; a convention: a server that answers with 429 is given
fewer."""

MAX_ATTEMPTS = 5
"""Tries of one request in all, by default; a convention: with its waits that outlasts a hiccup of some seconds."""

CALL_DEADLINE_S = 300.0
"""Seconds for one request, its attempts and the waits between them, by default; a convention: long enough for a slow
model's longest answer, short enough not to hold up a run."""

DRAIN_S = 30.0
"""Seconds after the run's deadline for which what was sent is still waited for. A convention: most answers come within
it; those that were cut off instead would be the slow ones, which fail more often."""

DEFAULT_ANSWER_TOKENS = 1024
"""Tokens set aside for the answer of a request that sets no ``max_tokens``: more than most answers take."""
