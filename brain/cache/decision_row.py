"""Rows of the cache about decisions, and how they are stored."""

from __future__ import annotations

from typing import NamedTuple

from ..errors import StoreError, printable_text
from ..store import checksums
from ..store.schema import typed_columns

DECISION_COLUMNS = typed_columns(
    "key TEXT, generation INTEGER, snapshot BLOB, kind TEXT, slug TEXT, version TEXT,"
    " program BLOB, provisional INTEGER, checksum BLOB"
)
StoredDecision = tuple[str, int, bytes, str, str, str, bytes, int, bytes]
PROVISIONAL_KEY = "provisional"
"""The key of all decisions that let a provisional change live."""


class DecisionRow(NamedTuple):
    """A decision about a skill and the program that its verdict names; build it by keyword.

    `kind` is admit, retire or reinstate; `version` is the one that the skill then has.
    `program` is the id of the program, empty if there is none. `is_provisional`: it lets a change
    live that is only shown to help the cases it was tried on.
    """

    kind: str
    slug: str
    version: str
    program: bytes
    snapshot: bytes
    generation: int
    is_provisional: bool

    @property
    def keys(self) -> list[str]:
        """The keys by which it is found: its skill, its program, and whether it is provisional."""
        of_program = [program_key(self.program)] if self.program else []
        return [skill_key(self.slug), *of_program, *[PROVISIONAL_KEY] * self.is_provisional]


def skill_key(slug: str) -> str:
    """Return the key of the decisions about the skills of a slug."""
    return f"skill {slug}"


def program_key(program: bytes) -> str:
    """Return the key of the decisions about a program."""
    return f"program {program.hex()}"


def encode_decision(row: DecisionRow) -> list[StoredDecision]:
    """Return the stored rows of a decision, one for each key."""
    return [
        (
            *(key, row.generation, row.snapshot, row.kind, row.slug, row.version, row.program),
            int(row.is_provisional),
            _decision_checksum(key, row),
        )
        for key in row.keys
    ]


def decode_decision(stored: StoredDecision) -> DecisionRow:
    """Return the decision in a stored row. Raises `StoreError` for a damaged one."""
    key, generation, snapshot, kind, slug, version, program, provisional, checksum = stored
    row = DecisionRow(
        kind=kind,
        slug=slug,
        version=version,
        program=program,
        snapshot=snapshot,
        generation=generation,
        is_provisional=provisional != 0,
    )
    if _decision_checksum(key, row) != checksum:
        raise StoreError(
            f"the cached decisions about {printable_text(slug)} are damaged",
            hint="see `brain doctor`",
        )
    return row


def _decision_checksum(key: str, row: DecisionRow) -> bytes:
    what = f"{row.generation} {row.kind} {row.version} {row.is_provisional}"
    text = f"{what}\n{key}\n{row.slug}\n{row.program.hex()}"
    return checksums.cache_row_checksum(row.snapshot, text.encode("utf-8", "replace"))
