"""The base of every write: the transaction, pending writes, the working copy."""
