"""The parts of the report's page: its outputs, the addresses of its filters, and its script."""
