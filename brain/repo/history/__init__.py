"""Reading history: log, diff, blame, branches, descent, proofs."""
