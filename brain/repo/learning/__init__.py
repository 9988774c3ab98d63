"""Cases of a brain, changes that are tried on them, what was decided, and what may run."""
