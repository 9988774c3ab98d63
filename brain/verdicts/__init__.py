"""Verdicts: how a change of a skill was tried, and how it was decided; pure."""
