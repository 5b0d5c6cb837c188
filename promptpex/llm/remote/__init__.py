"""Asking models on workers: requests travel there, answers, events and requests for leases travel back.

A worker has the wrappers of ``llm/stack.py`` from the store down to the provider. What must hold for all workers
together, limits, budget, deadline and stop, is kept in the process of the run, and leased (``coordinator.py``).
"""
