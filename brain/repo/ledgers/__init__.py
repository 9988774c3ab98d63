"""Commits snapshots to ledgers, and verifies a brain against them."""
