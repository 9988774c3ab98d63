"""The agent programs that are known: where each keeps skills, memory and MCP settings."""
