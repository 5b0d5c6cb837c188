"""What all records share: frozen, closed to unknown keys, equal by value."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """A frozen value that passes between stages. Unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    def but(self, **changes: Any) -> Self:
        """A copy with these fields changed, validated again."""
        return type(self).model_validate({**self._fields(), **changes})

    def plain(self) -> dict[str, Any]:
        """The record as JSON-ready data, fields at their default left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)

    def _fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in type(self).model_fields}
