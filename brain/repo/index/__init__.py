"""The Level-0 index, memory files and the system prompt."""
