"""What all records share: frozen, closed to unknown keys, equal by value."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

MOST = 2**53
"""The largest number that a record keeps: up to here a double holds every whole number (IEEE 754)."""

MOST_COUNTED = 2**31
"""The largest number of tokens of one request that is believed: four billion of them still add up in 64 bits."""


def _counted(value: int | None) -> int | None:
    return value if value is not None and 0 <= value <= MOST_COUNTED else None


def _measured(value: float | None) -> float | None:
    return value if value is not None and 0 <= value <= MOST else None


Count = Annotated[int | None, AfterValidator(_counted)]
"""A number of tokens as somebody else counted them. One that cannot be true, below 0 or above ``MOST_COUNTED``, is
unknown."""
Amount = Annotated[float | None, AfterValidator(_measured)]
"""A cost or a time as somebody else measured it, from 0 to ``MOST``; any other, NaN and infinities are unknown."""
Ordinal = Annotated[int, Field(ge=0, le=MOST)]
"""A number that a record is told from others by; one out of range is refused."""


class Record(BaseModel):
    """A frozen value that passes between stages. Unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, ser_json_inf_nan="constants")

    def replace(self, **changes: Any) -> Self:
        """A copy with these fields changed, validated again."""
        return type(self).model_validate({**self._fields(), **changes})

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data, fields at their default left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)

    def _fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in type(self).model_fields}
