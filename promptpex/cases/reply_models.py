"""Shapes of replies that hold inputs: a text for each variable, in lists that end."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from promptpex.llm.schemas import shortened

LONGEST_VALUE = 6000
"""Characters of one value that a model is asked to keep to, where nothing else is said."""
TOLERATED = 10
"""A value may be so many times as long before it is cut."""


@lru_cache(maxsize=256)
def inputs_type(variables: tuple[str, ...], longest: int = LONGEST_VALUE) -> type[BaseModel]:
    """An object with a text under each variable's name, asked for with at most ``longest`` characters."""
    text = Annotated[str, shortened(TOLERATED * longest)]
    fields: dict[str, Any] = {f"v{index}": (text, Field(alias=name)) for index, name in enumerate(variables)}
    return create_model("Inputs", __config__=ConfigDict(populate_by_name=True), **fields)
