"""What verification found, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .terminal import escape
from .text import paint, short

if TYPE_CHECKING:
    from brain.results import Finding

_COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}


def finding(found: Finding) -> str:
    """Return a finding as one line."""
    parts = [
        paint(found.severity, _COLOURS[found.severity]),
        found.code,
        *([f"snapshot {short(found.snapshot)}"] if found.snapshot else []),
        *([escape(found.path)] if found.path else []),
    ]
    return f"{': '.join(parts)}: {escape(found.message)}"
