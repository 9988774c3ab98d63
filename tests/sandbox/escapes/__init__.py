"""Attempts to get out of a sandbox, and what they are run with."""
