"""Cases: inputs that put a rule or its inverse to the test; planning, generating, their files."""

from __future__ import annotations
