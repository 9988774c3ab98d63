"""Taking in the homes of other programs, and writing skills back where they look for them."""

from .adopt import adopt, preview_adoption
from .publish import PublishRequest, publish
from .publish_target import PUBLISH_CLIENTS

__all__ = ["PUBLISH_CLIENTS", "PublishRequest", "adopt", "preview_adoption", "publish"]
