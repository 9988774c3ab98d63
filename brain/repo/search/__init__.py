"""Selecting the skills that a task needs."""
