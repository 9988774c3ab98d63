"""Cases that are data, from tests/cases."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "cases"


def read_texts(name: str) -> dict[str, str]:
    """Return the texts of a file by their titles; each begins after a line `=== TITLE`."""
    parts = (FOLDER / name).read_text("utf-8").split("=== ")[1:]
    return dict(part.split("\n", 1) for part in parts)


def read_cases(test_file: str) -> Any:
    """Return the tables of a test file, by the names of its tests."""
    where = Path(test_file).relative_to(FOLDER.parent).with_suffix(".json")
    return json.loads((FOLDER / where).read_text("utf-8"))
