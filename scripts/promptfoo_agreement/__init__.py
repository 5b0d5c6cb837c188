"""promptfoo itself, installed in a folder of its own and run against a server on loopback, and how far we agree."""
