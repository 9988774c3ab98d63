"""The folder on disk: finds changed files, reads and writes files. Does not use the store."""
