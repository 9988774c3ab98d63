"""Writes the folding table of format 1, from the Unicode data of this Python.

Run once, with Unicode 14 (Python 3.11), as `python -m tests.vectors.make_folding`; the table
is part of the format and stays as it is, whatever later versions of Unicode say.
"""

import json
import sys
import unicodedata
from pathlib import Path

PLACE = Path(__file__).parents[2] / "brain" / "objects" / "folding.json"

DROPPED = (*range(0x180B, 0x180E), 0x180F, 0x200C, 0x200D, *range(0xFE00, 0xFE10))
DROPPED_TOO = range(0xE0100, 0xE01F0)
"""Joiners and variation selectors, which some systems pass over where they compare names."""
IOTA = "\u0345"
"""The iota below: folded last, since it alone changes its combining class by that."""
_HANGUL = range(0xAC00, 0xD7A4)


def row(char: str) -> str:
    """Return what stands for a code point where names are compared."""
    if ord(char) in DROPPED or ord(char) in DROPPED_TOO:
        return ""
    pieces = unicodedata.normalize("NFD", char)
    folded = "".join(one if one == IOTA else one.casefold() for one in pieces)
    return unicodedata.normalize("NFD", folded)


def table() -> dict[str, object]:
    """Return the table: rows that differ from their code point, and combining classes."""
    chars = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    return {
        "format": "brain v1 folding",
        "unicode": unicodedata.unidata_version,
        "fold": {c: row(c) for c in chars if ord(c) not in _HANGUL and row(c) != c},
        "class": {c: unicodedata.combining(c) for c in chars if unicodedata.combining(c)},
    }


def text() -> str:
    """Return the table as JSON, in ASCII, a row on a line."""
    rows = json.dumps(table(), ensure_ascii=True, indent=0, separators=(",", ":"))
    return rows + "\n"


if __name__ == "__main__":
    if unicodedata.unidata_version != "14.0.0":
        raise SystemExit(f"this Python has Unicode {unicodedata.unidata_version}, not 14.0.0")
    PLACE.write_text(text())
