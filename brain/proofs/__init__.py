"""Proofs about a snapshot that can be verified without access to the brain."""
