"""Foreign formats, one file each: what other tools wrote, as our records, and our records as other tools read them."""

from __future__ import annotations
