"""The tools through which a model reads and writes a brain.

`TOOLS` defines them, once; `openai`, `responses` and `anthropic` give the definitions in
the form of these interfaces; a `Toolbox` carries calls out.
"""

from __future__ import annotations

from ...errors import ToolFailure
from .definitions import TOOLS
from .exporting import anthropic, openai, responses
from .tool import Answer, Tool
from .toolbox import Toolbox

__all__ = ["TOOLS", "Answer", "Tool", "ToolFailure", "Toolbox", "anthropic", "openai", "responses"]
