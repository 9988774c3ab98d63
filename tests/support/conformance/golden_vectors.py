"""The golden vectors of tests/vectors, parsed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

VECTORS_FOLDER = Path(__file__).parents[2] / "vectors"


class GoldenVector(NamedTuple):
    """One golden vector; `error` is empty for a valid one."""

    name: str
    kind: str
    valid: bool
    input: Any
    expected: dict[str, Any]
    error: str

    @property
    def data(self) -> bytes:
        """The input as bytes."""
        if "text" in self.input:
            return str(self.input["text"]).encode()
        if "hex" in self.input:
            return bytes.fromhex(self.input["hex"])
        return b"".join(bytes.fromhex(part) * times for part, times in self.input["parts"])


def read_vectors(*kinds: str, valid: bool | None = None) -> list[GoldenVector]:
    """Return the vectors of some kinds: all of them, or only the valid or the refused."""
    rows = [
        row
        for file in sorted(VECTORS_FOLDER.glob("*.json"))
        for row in json.loads(file.read_bytes())
    ]
    made = [
        GoldenVector(
            row["name"],
            row["kind"],
            row["valid"],
            row["input"],
            row.get("expected", {}),
            row.get("error", ""),
        )
        for row in rows
    ]
    return [
        vector
        for vector in made
        if (not kinds or vector.kind in kinds) and valid in (None, vector.valid)
    ]


def vector_id(vector: GoldenVector) -> str:
    """Return how a test is called that checks `vector`."""
    return f"{vector.kind}: {vector.name}".encode("unicode_escape").decode()


def vector_paths(given: dict[str, Any]) -> list[str]:
    """Return the paths that the input of a tree vector stands for, in order."""
    if "paths" in given:
        return list(given["paths"])
    rule = given["numbered"]
    numbers = (str(number).zfill(rule["digits"]) for number in range(rule["count"]))
    return [rule["before"] + number + rule["after"] for number in numbers]
