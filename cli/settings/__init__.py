"""The settings of the user: ledgers, models, keys, pinned roots."""
