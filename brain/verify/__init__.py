"""Verification: its steps in order, and the checks they run."""
