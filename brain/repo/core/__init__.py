"""What every operation stands on: the write transaction, the working copy, revisions, caches."""
