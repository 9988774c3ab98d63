"""Taking in the homes of other programs, and writing skills back where they look for them."""

from .adopt import adopt, look
from .making import Owner
from .publish import Wish, publish
from .target import CLIENTS

__all__ = ["CLIENTS", "Owner", "Wish", "adopt", "look", "publish"]
