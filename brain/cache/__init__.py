"""The user's cache of a brain: derived data, made from hashed objects, lost without harm."""
