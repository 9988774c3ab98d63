"""Reading history: log, diff, blame, bisect, branches, descent, proofs."""
