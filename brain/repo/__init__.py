"""What one can do with a brain, in wings by what a user does."""
