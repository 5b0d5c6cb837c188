"""What scripts share that compare us with other programs on the same answers."""
