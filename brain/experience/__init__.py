"""What agents went through, for learning: sequences of skills, failures, attempts, and a queue."""
