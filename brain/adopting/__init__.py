"""Taking in the homes of other programs, and writing skills back where they look for them."""

from .adopt import Owner, adopt, look

__all__ = ["Owner", "adopt", "look"]
