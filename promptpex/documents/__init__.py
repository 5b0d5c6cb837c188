"""The YAML files that people edit: read, patched, verified, with their JSON schemas."""
