"""Look things up in a brain.

Only `card_cache`, `lineage_cache`, `index_update` and `cache_update` write, to the user's
cache; import-linter keeps the verifier from importing them.
"""
