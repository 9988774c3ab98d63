"""Adopts what the programs themselves make: `python -m tests.real`, with programs installed."""
