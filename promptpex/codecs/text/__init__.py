"""Texts: comparing and quoting them, showing foreign ones safely, and parts of sentences."""
