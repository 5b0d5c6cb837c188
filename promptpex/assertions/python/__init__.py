"""Python that people, models and checkouts write, run in pydantic-monty: an interpreter without files or network."""
