"""Serve a brain to agents over the Model Context Protocol, by stdio or HTTP.

Only this folder imports the SDK (the extra `serve`), and only when a server starts.
"""

from __future__ import annotations

from ...errors import BrainError


def require_sdk() -> None:
    """Raise `BrainError` (`not_installed`) if the SDK is not installed."""
    from importlib.util import find_spec

    if find_spec("mcp") is None or find_spec("mcp_types") is None:
        raise BrainError(
            "serving agents needs the package mcp, version 2.3 or later",
            code="not_installed",
            hint="pip install 'agent-brain[serve]'",
        )
