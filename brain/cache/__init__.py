"""The user's cache of a brain: data derived from verified objects, which may be deleted."""
