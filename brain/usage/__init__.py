"""How skills do in use, counted for each version in a file beside the store."""
