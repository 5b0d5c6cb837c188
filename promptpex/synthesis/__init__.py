"""Assertions from a prompt's history: versions, what each changed, criteria, candidates (arXiv 2401.03038)."""
