"""The page of two runs side by side: what was changed, what it did, and the cases that came out otherwise."""
