"""The owner's metrics of a run's outputs: their code, their criteria, and their scores."""
