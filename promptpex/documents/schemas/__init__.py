"""JSON schemas of the files that people write, made by ``scripts/write_schemas.py``."""
