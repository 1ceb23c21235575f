"""Integrations with other frameworks. Each module imports its vendor only when it is imported."""
