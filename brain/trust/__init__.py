"""Who vouches for a snapshot: keys, signatures, and the rights that a brain gives them."""

POLICY_PATH = "trust.json"
"""The path of the trust file in a brain."""

ACCOUNTS_PATH = "accounts.json"
"""The path of the file in a brain that binds keys to accounts of EVM chains."""
