"""Adopt the homes of other agent programs, and publish skills into their folders."""

from .adopt import adopt, preview_adoption
from .publish import publish
from .publish_plan import PUBLISH_CLIENTS

__all__ = ["PUBLISH_CLIENTS", "adopt", "preview_adoption", "publish"]
