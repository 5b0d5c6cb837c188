"""The response store in one SQLite file: one writer thread, many processes."""
