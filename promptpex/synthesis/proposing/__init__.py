"""Criteria and candidate assertions, proposed by the author or taken from rules and grades (SPADE, section 3.2)."""
