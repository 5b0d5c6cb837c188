"""The kinds of assertions, a family a file, and the parsers that they need."""
