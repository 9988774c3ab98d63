"""What a skill is tried on: tasks with files and verifiers, read as they lie in folders."""
