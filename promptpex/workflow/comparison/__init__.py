"""Comparing runs and prompts: noise, blessed figures, and what has changed."""
