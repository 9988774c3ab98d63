"""Writing skills (upsert, revert, merge) and reading them."""
