"""Commitment of snapshots to ledgers, and evidence of it that needs no trust."""
