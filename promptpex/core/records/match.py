"""A field that names how an output is compared with the expected one."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from promptpex.core.matching import MATCH_PATTERN, match_name

Match = Annotated[str, AfterValidator(match_name), Field(json_schema_extra={"pattern": MATCH_PATTERN})]
"""A comparison by its name (``core.matching``)."""
