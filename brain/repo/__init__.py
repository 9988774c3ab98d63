"""The operations on a brain, one module per operation, grouped in wings by what a user does."""
