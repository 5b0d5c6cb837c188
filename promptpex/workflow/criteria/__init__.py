"""The criteria of a prompt while people grade its outputs: edits, the author in the background, what the page shows."""
