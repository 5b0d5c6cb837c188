"""Models: one seam, its providers and the wrappers around them."""

from __future__ import annotations
