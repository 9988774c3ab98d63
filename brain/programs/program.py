"""A program: the exact bytes that are tried, admitted and run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from ..digest import blob_id, domain_hash
from ..encoding import pack
from . import PROGRAM_FILE, SCHEMA_FILE, TESTS_FOLDER

program_id = domain_hash("brain v1 program")


def is_program_file(path: str) -> bool:
    """Tell whether a file of a skill, by its path in the skill's folder, is part of its program."""
    return path in (PROGRAM_FILE, SCHEMA_FILE) or path.startswith(TESTS_FOLDER)


def id_of_files(files: Iterable[tuple[str, bytes]]) -> bytes:
    """Return the id of a program from the path and the blob id of each file, sorted by path."""
    return program_id(pack(tuple((path, blob) for path, blob in files)))


@dataclass(frozen=True, kw_only=True)
class Program:
    """The program of the skill `slug`: `files` by their path in the folder of the skill."""

    slug: str
    files: dict[str, bytes] = field(repr=False)

    @property
    def code(self) -> bytes:
        """The content of skill.py."""
        return self.files[PROGRAM_FILE]

    @cached_property
    def blobs(self) -> tuple[tuple[str, bytes], ...]:
        """The path and the blob id of each file, sorted by path."""
        return tuple((path, blob_id(self.files[path])) for path in sorted(self.files))

    @property
    def id(self) -> bytes:
        """The digest of `blobs`, 32 bytes; what is admitted, whatever the slug."""
        return id_of_files(self.blobs)
