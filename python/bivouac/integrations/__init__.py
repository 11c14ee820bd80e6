"""Integrations with training frameworks, one module each. Each imports its framework."""
