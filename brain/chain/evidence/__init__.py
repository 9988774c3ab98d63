"""Evidence: one file that shows a commitment, checked with hashes and signatures alone."""
