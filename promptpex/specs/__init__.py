"""Specs: what a prompt promises; extracting it, its file."""

from __future__ import annotations
