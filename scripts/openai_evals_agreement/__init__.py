"""The parts of ``scripts/agree_with_openai_evals.py``."""
