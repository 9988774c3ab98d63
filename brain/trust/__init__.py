"""Who vouches for a snapshot: keys, signatures, and the rights that a brain gives them."""

POLICY_PATH = "trust.json"
"""The path of the trust file in a brain."""
