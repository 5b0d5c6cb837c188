"""Choosing candidates from a synthesis folder: which can be chosen, with how much certainty, and what becomes of it."""
