"""Helpers that know nothing of a brain: strict JSON, processes, settings files, line diffs."""
