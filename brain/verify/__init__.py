"""The single checks that verification is made of."""
