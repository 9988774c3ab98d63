"""Signing snapshots, and changing who may sign."""
