"""How skills do in use: counts for each version, in a file beside the store, and what follows."""
