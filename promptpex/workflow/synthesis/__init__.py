"""Assertions from a prompt's history: candidates, trying them, and what becomes of a choice."""
