"""The steps as functions on records, for programs and notebooks.

Each opens a session, does its work and closes it. Settings are the command line's, by name (``seed=1``,
``store="..."``, ``max_cost=0.5``); environment and settings files apply here as well. ``client`` replaces the real
models, as ``FakeClient`` does in tests; its replies go into a store only where ``store=`` names one. An interruption
(``KeyboardInterrupt``, a notebook's stop button) cancels what is being asked; what was answered stays in the store.

The names that programs use are those of ``promptpex`` itself, whose ``__init__`` says which module of this package has
which.
"""
