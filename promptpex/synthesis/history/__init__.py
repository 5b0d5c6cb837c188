"""The versions of a prompt and what each changed (SPADE, section 3.1)."""
