"""A run: the order of its requests, outputs, checks, judges, scores and verdicts, and stopping early."""
