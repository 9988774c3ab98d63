"""The Level-0 index, the memory files and the system prompt."""
