"""The embedded ledger: an append-only log (RFC 6962) with signed checkpoints (C2SP)."""
