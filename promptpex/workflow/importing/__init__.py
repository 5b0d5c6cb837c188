"""Between our files and the formats of other tools: what is read, where it goes, and writing all of it or nothing."""
