"""Replies as rows of the table, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from promptpex.core.errors import StoreDamaged
from promptpex.core.records import Completion, Request
from promptpex.llm.redaction import scrubbed_request
from promptpex.store.postgres import statements
from promptpex.store.postgres.statements import filled
from promptpex.store.row_texts import request_text

if TYPE_CHECKING:
    from psycopg import AsyncConnection

    Connection = AsyncConnection[Any]

Columns = tuple[list[str], list[bytes], list[bytes], list[float], list[bool], list[bytes], list[bytes]]


@dataclass(frozen=True, slots=True)
class Row:
    """A reply as it is stored: texts in UTF-8, the request without keys; ``created_at`` in seconds since 1970."""

    id: str
    model: bytes
    stage: bytes
    created_at: float
    scrubbed: bool
    request: bytes
    completion: bytes

    @property
    def size(self) -> int:
        """Its bytes, about."""
        return len(self.request) + len(self.completion) + 200


def row_of(request_id: str, request: Request, completion: Completion, at: float, *, scrubbed: bool = False) -> Row:
    """The row of a reply.

    Args:
        at: when it came.
        scrubbed: whether the request has lost a key before.
    """
    clean_request, cleaned = scrubbed_request(request)
    return Row(
        request_id,
        name_bytes(request.model),
        name_bytes(request.stage),
        at,
        scrubbed or cleaned,
        request_text(clean_request).encode(),
        completion.model_dump_json(exclude_defaults=True).encode(),
    )


def name_bytes(name: str) -> bytes:
    """A name of a model or stage, whatever it holds."""
    return name.encode("utf-8", "surrogatepass")


def columns(rows: Sequence[Row]) -> Columns:
    """Rows as arrays, in the order of their ids."""
    ordered = sorted(rows, key=lambda row: row.id)
    return (
        [row.id for row in ordered],
        [row.model for row in ordered],
        [row.stage for row in ordered],
        [row.created_at for row in ordered],
        [row.scrubbed for row in ordered],
        [row.request for row in ordered],
        [row.completion for row in ordered],
    )


def completion_of(where: str, request_id: str, completion: bytes) -> Completion:
    """A stored reply.

    Raises:
        StoreDamaged: it is none.
    """
    try:
        return Completion.model_validate_json(completion)
    except ValidationError as error:
        raise StoreDamaged(
            f"{where}: the entry {request_id} cannot be read; `promptpex cache verify` lists all that is damaged."
        ) from error


async def put_rows(connection: Connection, schema: str, rows: Sequence[Row], replacing: Sequence[Row] = ()) -> set[str]:
    """Commits replies and ends the claims on their requests; gives the ids of ``rows`` that were new.

    Args:
        rows: each id once; where there is a reply already it stays.
        replacing: each id once; they take the place of earlier ones.
    """
    ids = sorted({row.id for row in (*rows, *replacing)})
    inserted = None
    async with connection.pipeline(), connection.transaction():
        await connection.execute(statements.DURABLE)
        if rows:
            inserted = await connection.execute(filled(statements.PUT, schema), columns(rows))
        if replacing:
            await connection.execute(filled(statements.REPLACE, schema), columns(replacing))
        await connection.execute(filled(statements.END_CLAIMS, schema), (ids,))
    return set() if inserted is None else {row[0] for row in await inserted.fetchall()}
