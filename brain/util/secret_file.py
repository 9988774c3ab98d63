"""Read files that hold secrets, which only their owner may read."""

from __future__ import annotations

import os
import stat

from ..errors import InvalidInput, printable_text


def read_secret_file(path: str, max_bytes: int, what: str) -> bytes:
    """Return the content of a file, of which at most `max_bytes` + 1 are read.

    `what` names the secret in messages. A file that is not regular, such as a pipe, has no
    readers to name. Raises `InvalidInput` (`key_readable`), `OSError`.
    """
    with open(path, "rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if stat.S_ISREG(mode) and mode & 0o077:
            raise InvalidInput(
                f"others may read {what} in {printable_text(path)}",
                code="key_readable",
                hint=f"let only its owner read it: chmod 600 {printable_text(path)}",
            )
        return file.read(max_bytes + 1)
