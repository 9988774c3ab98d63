"""The grind: solve a task, evolve the workspace after a failure, and try the same task again."""
