"""What all records share: frozen, closed to unknown keys, equal by value."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

MOST = 2**53
"""The largest number that a record keeps: up to here a double holds every whole number (IEEE 754)."""


def in_range(value: float | None) -> bool:
    """Whether it is a number from 0 to ``MOST``."""
    return value is not None and 0 <= value <= MOST


def _measured(value: float | None) -> float | None:
    return value if in_range(value) else None


Count = Annotated[int | None, AfterValidator(_measured)]
"""A number of things as somebody else counted it. One that cannot be true, below 0 or above ``MOST``, is unknown."""
Amount = Annotated[float | None, AfterValidator(_measured)]
"""A cost or a time as somebody else measured it, with the same range; NaN and infinities are unknown as well."""
Ordinal = Annotated[int, Field(ge=0, le=MOST)]
"""A number that a record is told from others by; one out of range is refused."""


class Record(BaseModel):
    """A frozen value that passes between stages. Unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, ser_json_inf_nan="constants")

    def but(self, **changes: Any) -> Self:
        """A copy with these fields changed, validated again."""
        return type(self).model_validate({**self._fields(), **changes})

    def plain(self) -> dict[str, Any]:
        """The record as JSON-ready data, fields at their default left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)

    def _fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in type(self).model_fields}
