"""The golden vectors of tests/vectors, parsed."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

VECTORS_FOLDER = Path(__file__).parents[2] / "vectors"

FAMILIES = sorted(file.stem for file in VECTORS_FOLDER.glob("*.json"))
"""The families of vectors; each is a file."""


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


def read_family(family: str) -> list[GoldenVector]:
    """Return the vectors of one family, which has at least one."""
    rows = json.loads((VECTORS_FOLDER / f"{family}.json").read_bytes())
    assert rows, f"{family} has no vectors"
    return [
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


def read_vectors(*kinds: str, valid: bool | None = None) -> list[GoldenVector]:
    """Return the vectors of some kinds: all of them, or only the valid or the refused."""
    return [
        vector
        for family in FAMILIES
        for vector in read_family(family)
        if (not kinds or vector.kind in kinds) and valid in (None, vector.valid)
    ]


def check_each_vector(
    subtests: pytest.Subtests,
    vectors: Iterable[GoldenVector],
    check: Callable[[GoldenVector], None],
) -> None:
    """Check all vectors; each that fails is reported as a subtest under its own name.

    Those that pass are no subtests, because reporting one takes longer than checking it.
    """
    for vector in vectors:
        try:
            check(vector)
        except (Exception, pytest.fail.Exception):
            with subtests.test(vector_id(vector)):
                raise


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
