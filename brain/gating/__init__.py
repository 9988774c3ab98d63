"""Decide by held-out cases whether a change of a skill helps: pure, from documents and counts."""
