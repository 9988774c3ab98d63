"""The bearer token for HTTP, in a file that only its owner can read.

It is in no brain: whoever had one in their hands would know its token, or have chosen it.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from ...errors import InvalidInput, printable_text

MIN_TOKEN_CHARS = 32
_MAX_TOKEN_BYTES = 512


def load_or_create_token(path: Path) -> str:
    """Return the token in a file, which is made if it is not there.

    Raises `InvalidInput` (`token_exposed`, `bad_token`) for a file that others can read or
    that holds no token, and `OSError`.
    """
    try:
        return _load_token(path)
    except FileNotFoundError:
        pass
    made = secrets.token_urlsafe(MIN_TOKEN_CHARS)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:  # somebody else was faster
        return _load_token(path)
    with os.fdopen(handle, "w") as file:
        file.write(made + "\n")
    return made


def _load_token(path: Path) -> str:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    about = os.fstat(handle)
    if not stat.S_ISREG(about.st_mode):
        os.close(handle)
        raise InvalidInput(
            f"{printable_text(path)} is not a file",
            code="bad_token",
            hint="name a file, new or not",
        )
    with os.fdopen(handle, "rb") as file:
        if about.st_mode & 0o077 or about.st_uid != os.geteuid() or about.st_nlink > 1:
            raise InvalidInput(
                f"others may know the token in {printable_text(path)}",
                code="token_exposed",
                hint="delete the file: a new token is made, in one that you alone can read",
            )
        text = file.read(_MAX_TOKEN_BYTES).decode("ascii", "replace").strip()
    if len(text) < MIN_TOKEN_CHARS or not text.isprintable() or not text.isascii() or " " in text:
        raise InvalidInput(
            f"{printable_text(path)} holds no token",
            code="bad_token",
            hint=f"delete the file, or write {MIN_TOKEN_CHARS} or more letters and digits to it",
        )
    return text
