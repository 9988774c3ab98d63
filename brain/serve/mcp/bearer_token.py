"""The bearer token for HTTP, in a file that only its owner can read.

The file is outside the brain: a copy of a brain must neither reveal nor choose the token.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from ...errors import InvalidInput

MIN_TOKEN_CHARS = 32
_MAX_TOKEN_BYTES = 512


def load_or_create_token(path: Path) -> str:
    """Return the token in a file; create the file with a new token if it does not exist.

    Raises `InvalidInput` (`token_exposed`) if others can read the file, `InvalidInput`
    (`bad_token`) if it holds no token, and `OSError`.
    """
    try:
        return _load_token(path)
    except FileNotFoundError:
        pass
    token = secrets.token_urlsafe(MIN_TOKEN_CHARS)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:  # another process was faster
        return _load_token(path)
    with os.fdopen(handle, "w") as file:
        file.write(token + "\n")
    return token


def _load_token(path: Path) -> str:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    st = os.fstat(handle)
    if not stat.S_ISREG(st.st_mode):
        os.close(handle)
        raise InvalidInput(
            f"{path} is not a file",
            code="bad_token",
            hint="name a regular file, new or existing",
        )
    with os.fdopen(handle, "rb") as file:
        if st.st_mode & 0o077 or st.st_uid != os.geteuid() or st.st_nlink > 1:
            raise InvalidInput(
                f"others may know the token in {path}",
                code="token_exposed",
                hint="delete the file: the server then creates one that only you can read",
            )
        text = file.read(_MAX_TOKEN_BYTES).decode("ascii", "replace").strip()
    if len(text) < MIN_TOKEN_CHARS or not text.isprintable() or not text.isascii() or " " in text:
        raise InvalidInput(
            f"{path} holds no token",
            code="bad_token",
            hint=f"delete the file, or write at least {MIN_TOKEN_CHARS} letters and digits to it",
        )
    return text
