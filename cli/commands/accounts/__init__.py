"""The commands that bind keys to accounts of EVM chains, and make accounts."""
