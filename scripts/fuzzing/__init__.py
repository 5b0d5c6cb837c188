"""What ``scripts/fuzz.py`` is made of: hostile texts, readers to give them to, and a watch over what comes of it."""
