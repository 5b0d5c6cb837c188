"""Judging: what a judge model says of an output, and which verdict counts."""

from __future__ import annotations
