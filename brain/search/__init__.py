"""Ranks skills by how well they fit a task: one protocol, several selectors."""
