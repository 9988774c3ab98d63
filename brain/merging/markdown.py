"""Patterns of Markdown lines: headings, list items and code fences (CommonMark 0.31)."""

from __future__ import annotations

import re

HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t#]*$")
"""A heading: its marks and its text."""
LIST_ITEM = re.compile(r"([ \t]*)(?:[-*+]|\d{1,9}[.)])[ \t]+(.*)")
"""A list item: its indentation and its text."""
FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
"""A line that opens a block of code: its marks. In a list, it may be indented by any width."""
