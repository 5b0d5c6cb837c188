"""The files of people: specs and suites in YAML, read and updated in place, with JSON schemas; grades, appended."""
