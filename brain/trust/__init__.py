"""Who vouches for a snapshot: keys, signatures, and the rights that a brain gives them."""
