"""The data published with PromptPex, read and tabulated as in the paper."""
