"""How long tests wait for what surely comes."""

PATIENCE = 300.0
"""Seconds until what does not end fails its test: a machine under load is slow, not wrong."""
