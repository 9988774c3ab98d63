"""Look things up in a brain.

Only `card_cache`, `lineage_cache` and `index_update` write, to the user's cache; import-linter
keeps the verifier from importing them.
"""
