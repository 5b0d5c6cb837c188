"""Files: read within bounds, written whole or not at all, appended to and locked, and those that settings come from."""
