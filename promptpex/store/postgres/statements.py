"""The statements by which replies and claims are read and written, many of them at a time.

A question is claimed by a row in ``claims``; its owner lives as long as its lease in ``owners``, by the server's clock.
Ids are given in order, so that two transactions lock them in the same one. All statements are read committed: each
sees what was committed before it began.
"""

from __future__ import annotations

from typing import LiteralString

INSERT = """
INSERT INTO {s}.replies (id, model, stage, created_at, scrubbed, request, completion)
SELECT * FROM unnest(%b::text[], %b::bytea[], %b::bytea[], %b::float8[], %b::bool[], %b::bytea[], %b::bytea[])
"""
PUT = f"{INSERT} ON CONFLICT (id) DO NOTHING RETURNING id"
"""The first reply to a request stays."""

REPLACE = f"""{INSERT} ON CONFLICT (id) DO UPDATE SET model = excluded.model, stage = excluded.stage,
    created_at = excluded.created_at, scrubbed = excluded.scrubbed, request = excluded.request,
    completion = excluded.completion"""

END_CLAIMS = """
DELETE FROM {s}.claims WHERE id IN (SELECT id FROM {s}.claims WHERE id = ANY(%b::text[]) ORDER BY id FOR UPDATE)
"""

DURABLE = "SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'"
"""A commit waits for the disk; a server that also waits for its standbys goes on to."""

GET = "SELECT id, completion FROM {s}.replies WHERE id = ANY(%b::text[])"

RENEW = """
INSERT INTO {s}.owners (owner, host, pid, started, expires)
VALUES (%b, %b, %b, %b, clock_timestamp() + make_interval(secs => %b))
ON CONFLICT (owner) DO UPDATE SET expires = excluded.expires
"""
"""The lease of an owner, from now."""

CLAIM = """
INSERT INTO {s}.claims AS held (id, owner)
SELECT wanted.id, %b FROM unnest(%b::text[]) AS wanted (id)
WHERE NOT EXISTS (SELECT FROM {s}.replies WHERE replies.id = wanted.id)
ON CONFLICT (id) DO UPDATE SET owner = excluded.owner WHERE held.owner = excluded.owner
RETURNING id
"""
"""Questions that nobody holds, or this owner does."""

ANSWERED = """
DELETE FROM {s}.claims USING {s}.replies
WHERE claims.id = replies.id AND claims.owner = %b AND claims.id = ANY(%b::text[])
RETURNING claims.id
"""
"""Claims on what was answered while they were made: a reply is committed together with the end of the claim on it, so
who waited for that row makes a new one, without having seen the reply."""

RELEASE = "DELETE FROM {s}.claims WHERE owner = %b AND id = ANY(%b::text[])"

LIVES = "greatest(owners.expires, pg_postmaster_start_time() + make_interval(secs => %b)) > clock_timestamp()"
"""Whether an owner lives. Nobody could renew a lease while the server was down, so all hold on after a start."""

HOLDERS = f"""
SELECT claims.id, owners.owner, owners.host, owners.pid, owners.started, coalesce({LIVES}, false)
FROM {{s}}.claims LEFT JOIN {{s}}.owners USING (owner) WHERE claims.id = ANY(%b::text[])
"""

LOCK_CLAIMS = "SELECT id FROM {s}.claims WHERE id = ANY(%b::text[]) ORDER BY id FOR UPDATE"

TAKE_OVER = f"""
UPDATE {{s}}.claims SET owner = %b WHERE id = ANY(%b::text[])
AND NOT EXISTS (SELECT FROM {{s}}.owners WHERE owners.owner = claims.owner AND {LIVES})
AND NOT EXISTS (SELECT FROM {{s}}.replies WHERE replies.id = claims.id)
RETURNING id
"""
"""Claims of the dead. To be called while their rows are locked: a statement that waits for a row sees its new owner,
and not that this owner has joined."""

FORGET = "DELETE FROM {s}.owners WHERE owner = ANY(%b::text[])"

SWEEP = """
WITH gone AS (DELETE FROM {s}.owners WHERE expires < clock_timestamp() - interval '1 day' RETURNING owner)
DELETE FROM {s}.claims WHERE owner IN (SELECT owner FROM gone)
"""
"""What dead owners left long ago."""

LEAVE = "DELETE FROM {s}.claims WHERE owner = %b"

COUNTS = "SELECT {column}, count(*) FROM {s}.replies GROUP BY 1"

TOTALS = """
SELECT count(*), min(created_at) FILTER (WHERE created_at BETWEEN 0 AND 2.5e11),
    max(created_at) FILTER (WHERE created_at BETWEEN 0 AND 2.5e11), pg_total_relation_size(%s::regclass)
FROM {s}.replies
"""

ROWS = "SELECT id, created_at, scrubbed, request, completion FROM {s}.replies"

IDS = "SELECT id FROM {s}.replies WHERE id > %b ORDER BY id LIMIT %b"

THERE = "SELECT id FROM {s}.replies WHERE id = ANY(%b::text[])"

DELETE = "DELETE FROM {s}.replies WHERE id = ANY(%b::text[])"


def filled(statement: str, schema: str) -> LiteralString:
    """A statement with the schema in its place, quoted. It is not a value that the server could be given apart."""
    quoted = '"' + schema.replace('"', '""') + '"'
    return statement.replace("{s}", quoted)
