"""What is wrong with the files of a prompt, for ``promptpex validate``."""
