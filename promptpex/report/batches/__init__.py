"""The report of a batch: one table of all its prompts and models, in a terminal, as a page, as CSV and as JSON."""
