"""Lists that the author replies with: an item that is spoilt, or a reply that is cut, does not cost the others."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Annotated, Generic, TypeVar, cast

from pydantic import BaseModel, BeforeValidator

from promptpex.codecs.model_json import whole_objects
from promptpex.core.errors import MalformedReply, TruncatedReply
from promptpex.core.stage_templates import Rendered
from promptpex.llm.model_in_role import RoleModel
from promptpex.llm.schemas import list_up_to, reads, reply_model

LONGEST = 60
"""Characters of a name."""

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9]+")


def slug(words: str) -> str:
    """The words as a name: small letters and digits, joined by underscores; empty where there are none."""
    return _NOT_IN_A_NAME.sub("_", words).strip("_")[:LONGEST].strip("_").lower()


def free_name(name: str, taken: Collection[str], mark: str = "_") -> str:
    """The name, with ``mark`` and a number behind it where it is taken: ``names_every_product_2``."""
    if name not in taken:
        return name
    return next(numbered for numbered in (f"{name}{mark}{number}" for number in count(2)) if numbered not in taken)


def free_ids(taken: Collection[str]) -> Iterator[str]:
    """The ids of criteria, c1, c2 and so on, without those that are taken."""
    return (name for name in map("c{}".format, count(1)) if name not in taken)


Item = TypeVar("Item", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class ListReply(Generic[Item]):
    """What a reply brought."""

    items: list[Item]
    cut: bool = False


def list_reply(item: type[BaseModel], limit: int) -> type[BaseModel]:
    """The shape of a reply: ``items``, at most ``limit`` of them; those that cannot be read are left out.

    A list of which nothing can be read does not say that there is nothing: it is not a reply.
    """

    def readable_ones(value: object) -> object:
        items = [each for each in value if reads(item, each)] if isinstance(value, list) else []
        return items or value

    return reply_model("ListOfItems", items=Annotated[list_up_to(item, limit), BeforeValidator(readable_ones)])


async def ask_list(
    author: RoleModel,
    rendered: Rendered,
    item: type[Item],
    limit: int,
    *,
    stage: str,
    rescue: bool,
    repeat: int = 0,
    arriving: Callable[[list[Item]], None] | None = None,
) -> ListReply[Item]:
    """The author's list.

    Args:
        repeat: of several answers to the same request, which one.
        rescue: whether the items that stand whole in a broken reply are taken, where there are some.
        arriving: is told of the items that have come so far; none, where the reply begins anew.
    """

    def readable(objects: Iterable[object]) -> list[Item]:
        return [item.model_validate(each) for each in objects if reads(item, each)][:limit]

    watched = (lambda objects: arriving(readable(objects))) if arriving is not None else None
    try:
        reply = await author.ask(rendered, list_reply(item, limit), stage=stage, repeat=repeat, arriving=watched)
    except (MalformedReply, TruncatedReply) as error:
        whole = readable(whole_objects(error.reply or "")) if rescue else []
        if not whole:
            raise
        return ListReply(whole, cut=True)
    return ListReply(cast("list[Item]", reply.value.items))  # type: ignore[attr-defined]
