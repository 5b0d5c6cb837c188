"""Batches: several prompts run by one command, in one session and within one budget."""
