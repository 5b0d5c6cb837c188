"""A report card as people read it: its words, its table as CSV, its histograms."""
