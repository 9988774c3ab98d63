"""Learn from goals that fail repeatedly: write the skill that the agent lacks, and propose it."""
