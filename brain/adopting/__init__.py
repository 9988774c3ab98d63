"""Taking in the homes of other programs, and writing skills back where they look for them."""
