"""Grading from the command line: the page, in a browser or as a file, and the terminal with its keys."""
