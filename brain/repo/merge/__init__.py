"""Merging branches, conflicts and proposals."""
