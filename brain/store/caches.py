"""The folder `.brain/cache`: what is made anew from the store whenever it is gone.

Readers write there, too. Who cannot write does without.
"""

from __future__ import annotations

import os
from contextlib import suppress

NAME = "cache"


def folder(control: str | os.PathLike[str]) -> str:
    """Return the folder of caches below `control`, made if it can be; for its owner alone."""
    path = os.path.join(control, NAME)
    with suppress(OSError):
        os.mkdir(path, 0o700)
    return path


def clear(control: str | os.PathLike[str]) -> None:
    """Delete all caches: they may know of content that is to be nowhere.

    Raises `OSError` where one cannot be deleted.
    """
    try:
        with os.scandir(os.path.join(control, NAME)) as found:
            for file in found:
                os.unlink(file.path)
    except FileNotFoundError:
        return
