"""The private key of a log: a file of its own beside the database, for its owner alone."""

from __future__ import annotations

from pathlib import Path

from ...errors import InvalidInput
from ...trust import ed25519, keyfile
from .reading import LogReader


def load(folder: Path, log: LogReader) -> bytes:
    """Return the private key of a log.

    Raises `NotFound` (`no_key`), `InvalidInput` (`wrong_key`, `bad_key`), `BrainError`
    (`unsafe_key_folder`, `unsafe_key_file`).
    """
    seed = keyfile.load(folder, log.key_file)
    if ed25519.public_key(seed) != log.key.key:
        raise InvalidInput(
            "the key beside the log is that of another log",
            code="wrong_key",
            hint="bring the folder of the log back from a copy",
        )
    return seed
