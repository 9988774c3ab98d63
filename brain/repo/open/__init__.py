"""Opening, creating, forking and repairing a brain; its manifest."""
