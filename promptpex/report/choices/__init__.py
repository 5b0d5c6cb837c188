"""The page of a choice of assertions: what is caught by what, how sure that is, and what it was chosen from."""

from __future__ import annotations
