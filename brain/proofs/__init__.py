"""Proofs that stand alone: one file shows something of a brain to who holds nothing else of it."""
