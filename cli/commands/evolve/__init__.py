"""The commands of `brain evolve`, and `brain skill run`."""
