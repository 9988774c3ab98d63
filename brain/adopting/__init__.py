"""Adopt the homes of other agent programs, and publish skills into their folders."""

from .adopt import adopt, preview_adoption
from .publish import PublishRequest, publish
from .publish_plan import PUBLISH_CLIENTS

__all__ = ["PUBLISH_CLIENTS", "PublishRequest", "adopt", "preview_adoption", "publish"]
