"""Shapes of replies that hold inputs: a text for each variable, in lists that end."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

LONGEST_VALUE = 6000
"""Characters of one value, where nothing else is said."""


@lru_cache(maxsize=256)
def inputs_type(variables: tuple[str, ...], longest: int = LONGEST_VALUE) -> type[BaseModel]:
    """An object with a text of at most ``longest`` characters under each variable's name."""
    fields: dict[str, Any] = {
        f"v{index}": (str, Field(alias=name, max_length=longest)) for index, name in enumerate(variables)
    }
    return create_model("Inputs", __config__=ConfigDict(populate_by_name=True), **fields)


def at_most(item: Any, count: int) -> Any:
    """A list of one to ``count`` items. A model that is held to the schema stops there; what another gives beyond is
    cut off."""

    def cut(value: Any) -> Any:
        return value[:count] if isinstance(value, list) else value

    return Annotated[list[item], BeforeValidator(cut), Field(min_length=1, max_length=count)]
