"""The user's pinned root keys: which keys must have signed the first trust file of a brain.

They are what a brain cannot say of itself, so they are kept with the user's settings, in
one file for all brains:

    {
      "format": "brain v1 roots",
      "brains": {"1f…": ["ed25519:3d40…"]}
    }

The keys of `brains` are brain ids. Which file that is, the caller says.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from .. import jsontext, ownfile
from ..errors import InvalidInput, of_system, printable
from .statement import parse_key

FORMAT = "brain v1 roots"
MAX_ROOTS = 16
"""Root keys of one brain."""

_MAX_DEPTH = 4
_MAX_VALUES = 1 << 16
_ID = re.compile(r"[0-9a-f]{64}", re.ASCII)


def pinned(path: Path, brain: str) -> list[str]:
    """Return the root keys of a brain, given by its id, in their order; none if none are pinned.

    Raises `InvalidInput` (`bad_roots`) if the file is not one.
    """
    return _load(path).get(brain, [])


def begin(path: Path, brain: str, keys: Collection[str]) -> bool:
    """Pin the root keys of a brain for which none are pinned; tell whether that was so.

    Raises as `change`.
    """
    if not keys or brain in _load(path):
        return False
    with ownfile.alone(path):
        known = _load(path)
        if brain in known:
            return False
        _write(path, known, brain, keys)
        return True


def change(path: Path, brain: str, add: Collection[str], remove: Collection[str]) -> list[str]:
    """Pin further root keys of a brain and unpin others; return those that are pinned now.

    Raises `InvalidInput`: `bad_key`, `bad_roots`, or `not_pinned` for one to be removed
    that is not pinned.
    """
    with ownfile.alone(path):
        known = _load(path)
        before = known.get(brain, [])
        for key in remove:
            if key not in before:
                raise InvalidInput(f"{printable(key)} is not pinned", code="not_pinned")
        now = {*before, *add} - {*remove}
        if now != {*before}:
            _write(path, known, brain, now)
        return sorted(now)


def _write(path: Path, known: dict[str, list[str]], brain: str, keys: Collection[str]) -> None:
    for key in keys:
        parse_key(key)
    if len(keys) > MAX_ROOTS:
        raise InvalidInput(f"more than {MAX_ROOTS} root keys", code="bad_roots")
    rest = {name: pins for name, pins in known.items() if name != brain}
    brains = {**rest, **({brain: sorted(keys)} if keys else {})}
    ownfile.write(path, {"format": FORMAT, "brains": dict(sorted(brains.items()))})


def _load(path: Path) -> dict[str, list[str]]:
    try:
        with path.open("rb") as file:
            data = file.read(ownfile.MAX_BYTES + 1)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise of_system(error) from error

    def bad(why: str, _: str = "") -> InvalidInput:
        return InvalidInput(
            f"the pinned root keys in {printable(path)}: {why}",
            code="bad_roots",
            hint="mend the file, or remove it and pin the keys that you know anew",
        )

    if len(data) > ownfile.MAX_BYTES:
        raise bad("the file is too large")
    document = jsontext.parse(data, _MAX_DEPTH, _MAX_VALUES, bad)
    if not isinstance(document, dict) or document.keys() != {"format", "brains"}:
        raise bad("not an object of format and brains")
    brains = document["brains"]
    if document["format"] != FORMAT or not isinstance(brains, dict):
        raise bad(f"not of the format {FORMAT!r}")
    for brain, keys in brains.items():
        if not _ID.fullmatch(brain) or not isinstance(keys, list) or not keys:
            raise bad("not lists of keys by the ids of brains")
        for key in keys:
            try:
                parse_key(key if isinstance(key, str) else "")
            except InvalidInput as error:
                raise bad(error.message) from error
    return brains
