"""The report card of a run, calibrating its judges, and choosing by agreement with people."""
