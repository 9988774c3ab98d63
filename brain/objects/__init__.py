"""Format 1: trees, bundles, snapshots. Values and pure functions, no I/O."""
