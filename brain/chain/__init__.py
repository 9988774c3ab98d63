"""Ledgers that snapshots are committed to, and evidence of commitments for offline checks."""
