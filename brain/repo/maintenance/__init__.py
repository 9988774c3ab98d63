"""Creating, forking, checking and repairing brains, and collecting garbage."""
