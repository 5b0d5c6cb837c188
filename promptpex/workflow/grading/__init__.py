"""Opening the grading of a prompt's outputs, and reading what people's grades say of a run."""
