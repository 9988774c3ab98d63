"""Tasks with files and verifiers on which a skill is tried, read as they lie in folders."""
