"""Names for files that come into a folder where their own may be taken."""

from __future__ import annotations

import re

from ..errors import InvalidInput, printable
from ..objects import paths


class Names:
    """The paths that are taken in a folder, as macOS and Windows compare them."""

    def __init__(self) -> None:
        self._is_file: dict[str, bool] = {}

    def take(self, inner: str) -> None:
        """Note a file and the folders above it."""
        folded = paths.fold(inner)
        self._is_file[folded] = True
        self._is_file.update((folded[:at], False) for at, char in enumerate(folded) if char == "/")

    def free(self, inner: str, slug: str) -> str:
        """Take `inner`, or a name beside it with `slug` in it that nothing has; return it.

        Raises `InvalidInput` (`taken`).
        """
        name, number = inner, 1
        while paths.fold(name) in self._is_file:
            name = _with(inner, slug if number == 1 else f"{slug}-{number}")
            number += 1
        above = (name[:at] for at, char in enumerate(name) if char == "/")
        if any(self._is_file.get(paths.fold(path)) for path in above):
            raise InvalidInput(f"a file is where {printable(name)} needs a folder", code="taken")
        self.take(name)
        return name


def rewritten(body: bytes, renamed: dict[str, str]) -> bytes:
    """Return a text with the new names of files, each put in once: one may be the old of another.

    A name without a dot or a slash may be a word like any other, and stays.
    """
    names = {old.encode(): new.encode() for old, new in renamed.items() if "." in old or "/" in old}
    if not names:
        return body
    name = rb"(?<![\w./-])((?:\./)?)(%b)(?![\w/-]|\.\w)" % b"|".join(map(re.escape, names))
    return re.sub(name, lambda found: found[1] + names[found[2]], body)


def _with(inner: str, slug: str) -> str:
    above, slash, name = inner.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    return f"{above}{slash}" + (f"{stem}-{slug}.{ending}" if dot and stem else f"{name}-{slug}")
