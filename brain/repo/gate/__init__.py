"""Cases of a brain, changes that are tried on them, and what a gate decided."""
