"""Looking things up in a brain, and the caches of what is derived from it."""
