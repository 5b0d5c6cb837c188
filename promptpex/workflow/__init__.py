"""The order of the stages, the files around them, and what they need: settings, models and the store in one session."""
