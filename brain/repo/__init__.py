"""An open brain: its session, the one way to write, and what is found and derived in it."""
