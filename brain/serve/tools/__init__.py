"""The tools through which a model reads and writes a brain.

`TOOLS` defines them; `openai`, `responses` and `anthropic` export the definitions in the
formats of these interfaces; a `Toolbox` executes calls.
"""

from __future__ import annotations

from ...errors import ToolFailure
from .definitions import TOOLS, Tool, ToolResult, anthropic, openai, responses
from .toolbox import Toolbox

__all__ = [
    "TOOLS",
    "Tool",
    "ToolFailure",
    "ToolResult",
    "Toolbox",
    "anthropic",
    "openai",
    "responses",
]
