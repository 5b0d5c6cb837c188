"""The evaluation of PromptPex (arXiv 2503.05070v1), on our files and on the published data."""
