"""What every write stands on: the transaction, pending writes, the working copy."""
