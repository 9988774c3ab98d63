"""The embedded ledger: an append-only log of RFC 6962 with signed checkpoints of C2SP."""
