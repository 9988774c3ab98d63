"""Recording runs as receipts, and reading them back."""
