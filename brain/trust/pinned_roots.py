"""The root keys that the user has pinned, by brain.

A brain cannot vouch for its own root keys, so the user keeps them with their settings, in
one file for all brains:

    {
      "format": "brain v1 roots",
      "brains": {"1f…": ["ed25519:3d40…"]}
    }

The keys of `brains` are brain ids. The caller names the file.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from ..digest import is_hex_digest
from ..errors import InvalidInput, error_from_os
from ..util import settings, strict_json
from .ed25519 import parse_key

ROOTS_FORMAT = "brain v1 roots"
MAX_ROOT_KEYS = 16
"""Root keys of one brain."""

_MAX_DEPTH = 4
_MAX_VALUES = 1 << 16


def load_pinned_roots(path: Path, brain: str) -> list[str]:
    """Return the root keys of a brain, given by its id, in their order; none if none are pinned.

    Raises `InvalidInput` (`bad_roots`) if the file is not one.
    """
    return _load_all_roots(path).get(brain, [])


def pin_first_roots(path: Path, brain: str, keys: Collection[str]) -> bool:
    """Pin the root keys of a brain that has none pinned; return whether they were pinned.

    Raises as `change_pinned_roots`.
    """
    if not keys or brain in _load_all_roots(path):
        return False
    with settings.exclusive_lock(path):
        pins_by_brain = _load_all_roots(path)
        if brain in pins_by_brain:
            return False
        _save_roots(path, pins_by_brain, brain, keys)
        return True


def change_pinned_roots(
    path: Path, brain: str, add: Collection[str], remove: Collection[str]
) -> list[str]:
    """Pin further root keys of a brain and unpin others; return those that are pinned now.

    Raises `InvalidInput`: `bad_key`, `bad_roots`, or `not_pinned` for a key in
    `remove` that is not pinned.
    """
    with settings.exclusive_lock(path):
        pins_by_brain = _load_all_roots(path)
        before = pins_by_brain.get(brain, [])
        for key in remove:
            if key not in before:
                raise InvalidInput(
                    f"{key} is not pinned as a root key of this brain",
                    code="not_pinned",
                    hint="`brain key roots` lists those that are",
                )
        now = {*before, *add} - {*remove}
        if now != {*before}:
            _save_roots(path, pins_by_brain, brain, now)
        return sorted(now)


def _save_roots(
    path: Path, pins_by_brain: dict[str, list[str]], brain: str, keys: Collection[str]
) -> None:
    for key in keys:
        parse_key(key)
    if len(keys) > MAX_ROOT_KEYS:
        raise InvalidInput(
            f"a brain has at most {MAX_ROOT_KEYS} root keys, and these would be {len(keys)}",
            code="bad_roots",
            hint="remove some with `brain key roots --remove KEY`",
        )
    rest = {name: pins for name, pins in pins_by_brain.items() if name != brain}
    brains = {**rest, **({brain: sorted(keys)} if keys else {})}
    settings.replace_settings_file(
        path, {"format": ROOTS_FORMAT, "brains": dict(sorted(brains.items()))}
    )


def _load_all_roots(path: Path) -> dict[str, list[str]]:
    try:
        with path.open("rb") as file:
            data = file.read(settings.MAX_SETTINGS_BYTES + 1)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise error_from_os(error) from error

    def make_error(why: str, _: str = "") -> InvalidInput:
        return InvalidInput(
            f"the pinned root keys in {path} cannot be read: {why}",
            code="bad_roots",
            hint="repair the file, or remove it and pin your keys again",
        )

    if len(data) > settings.MAX_SETTINGS_BYTES:
        raise make_error("it is too large")
    document = strict_json.parse_json(data, _MAX_DEPTH, _MAX_VALUES, make_error)
    if not isinstance(document, dict) or document.keys() != {"format", "brains"}:
        raise make_error("it is not an object with the fields format and brains")
    brains = document["brains"]
    if document["format"] != ROOTS_FORMAT or not isinstance(brains, dict):
        raise make_error(f'its format is not "{ROOTS_FORMAT}"')
    for brain, keys in brains.items():
        if not is_hex_digest(brain) or not isinstance(keys, list) or not keys:
            raise make_error("its field brains does not map ids of brains to lists of keys")
        for key in keys:
            try:
                parse_key(key if isinstance(key, str) else "")
            except InvalidInput as error:
                raise make_error(error.message) from error
    return brains
