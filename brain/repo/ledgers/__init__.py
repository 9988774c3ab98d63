"""Committing snapshots to ledgers, and verifying a brain against them."""
