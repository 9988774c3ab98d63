"""Write brain/skills/unicode_tables.json: `python -m tests.support.make_unicode_tables`.

Needs Python 3.11, whose unicodedata is that of Unicode 14, and fontTools, whose Scripts.txt
is that of the newest Unicode. Slugs depend on the result: another edition of `scripts` changes
warnings alone, but `since_unicode_14` and `marks` never change.
"""

import importlib
import json
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path

TABLES_FILE = Path(__file__).parents[2] / "brain" / "skills" / "unicode_tables.json"
UNASSIGNED_SCRIPT = "Zzzz"


def main() -> None:
    if unicodedata.unidata_version != "14.0.0":
        sys.exit("to be run by Python 3.11, for the marks of Unicode 14")
    data = importlib.import_module("fontTools.unicodedata.Scripts")
    bounds = dict(zip(data.RANGES, data.VALUES, strict=True))
    every: list[str] = []
    for point in range(0x110000):
        every.append(bounds.get(point) or every[-1])
    edition = Path(str(data.__file__)).read_text("utf-8").partition("Scripts-")[2].split(".")[0]
    since = _format_ranges(
        lambda n: every[n] != UNASSIGNED_SCRIPT and unicodedata.category(chr(n)) == "Cn"
    )
    marks = _format_ranges(lambda n: unicodedata.category(chr(n)) in ("Mn", "Me"))
    starts = " ".join(f"{point:X}{script}" for point, script in bounds.items())
    tables = {"unicode": edition, "scripts": starts, "since_unicode_14": since, "marks": marks}
    TABLES_FILE.write_text(json.dumps(tables, indent=0) + "\n", "ascii")


def _format_ranges(holds: Callable[[int], bool]) -> str:
    found: list[tuple[int, int]] = []
    for point in filter(holds, range(0x110000)):
        if found and found[-1][1] == point - 1:
            found[-1] = found[-1][0], point
        else:
            found.append((point, point))
    return " ".join(f"{first:X}-{last:X}" for first, last in found)


if __name__ == "__main__":
    main()
