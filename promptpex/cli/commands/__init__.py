"""The commands, a file each, however short: it parses, calls and prints."""
