"""The folder on disk: which files changed, reading them, writing them. Knows no store."""
