"""People's grades as a state, and what to grade next; knows no page, no terminal and no model."""
