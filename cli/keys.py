"""The own keys of whoever runs the command: where they are, which one signs, how it opens."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from brain.errors import InvalidInput, NotFound

from .terminal import is_terminal

if TYPE_CHECKING:
    from brain.session import SignWith

DEFAULT = "default"
"""The name of a key that is made without one."""
FROM_FILE = "give --passphrase-file FILE, or set BRAIN_PASSPHRASE_FILE"


def folder() -> Path:
    """Return the folder of keys: BRAIN_KEYS, else `brain/keys` where the user's settings are."""
    named = os.environ.get("BRAIN_KEYS")
    if named:
        return Path(named)
    import platformdirs

    return platformdirs.user_config_path("brain") / "keys"


def public(text: str) -> str:
    """Return a public key that is given as `ed25519:…` or as the name of an own key."""
    if text.startswith("ed25519:"):
        return text
    from brain.trust import keyfile
    from brain.trust.statement import key_text

    try:
        return key_text(keyfile.describe(folder(), text).key)
    except (NotFound, InvalidInput) as error:
        if error.code not in ("no_key", "bad_name"):
            raise
        raise type(error)(
            error.message,
            code=error.code,
            hint="name one of your own (`brain key list`), or write it as `ed25519:…`"
            " (`brain key trusted` shows those of this brain)",
        ) from error


def chosen(name: str | None) -> str | None:
    """Return the own key to sign with: `name`, else BRAIN_SIGN_KEY, else the only one.

    None if there is none at all. Raises `InvalidInput` (`which_key`) if there are several.
    """
    named = name or os.environ.get("BRAIN_SIGN_KEY")
    if named:
        return named
    from brain.trust import keyfile

    names = keyfile.names(folder())
    if len(names) > 1:
        raise InvalidInput(
            f"which of your {len(names)} keys shall sign?",
            code="which_key",
            hint=f"name one with --key or BRAIN_SIGN_KEY: {', '.join(names[:8])}",
        )
    return names[0] if names else None


def own(trusted: Sequence[str]) -> str | None:
    """Return the name of the first own key that is among public keys, None if none is."""
    from brain.trust import keyfile
    from brain.trust.statement import key_text

    found = (key.name for key in keyfile.every(folder()) if key_text(key.key) in trusted)
    return next(found, None)


def needed(name: str | None) -> str:
    """Return the own key to sign with; raises as `chosen`, and `NotFound` (`no_key`)."""
    found = chosen(name)
    if found is None:
        raise NotFound("you have no key yet", code="no_key", hint="make one with `brain key new`")
    return found


def private(name: str, passphrase_file: str | None) -> bytes:
    """Return an own private key; its passphrase is read from a file, or asked for."""
    from brain.trust import keyfile

    here = folder()
    passphrase = given(passphrase_file)
    if not passphrase and keyfile.describe(here, name).encrypted:
        passphrase = asked(f"Passphrase of the key {name}", FROM_FILE, twice=False)
    return keyfile.load(here, name, passphrase)


def unasked(name: str) -> SignWith:
    """Return what gives an own private key, once it is needed, without asking for anything."""
    return cache(partial(_unasked, name))


def _unasked(name: str) -> bytes:
    from brain.trust import keyfile

    return keyfile.load(folder(), name, given(None))


def given(passphrase_file: str | None) -> bytes:
    """Return the passphrase in a file, or in that of BRAIN_PASSPHRASE_FILE; b"" without.

    It is the first line. Raises `InvalidInput` (`no_passphrase`) if that is empty.
    """
    path = passphrase_file or os.environ.get("BRAIN_PASSPHRASE_FILE")
    if not path:
        return b""
    with open(path, "rb") as file:
        line = file.readline(4096)
    passphrase = line.rstrip(b"\r\n")
    if not passphrase:
        raise InvalidInput("the file of the passphrase begins with no text", code="no_passphrase")
    return passphrase


def asked(what: str, otherwise: str, *, twice: bool) -> bytes:
    """Ask for a passphrase at the terminal; `otherwise` is how to give it without one.

    Raises `InvalidInput` (`passphrase_needed`) if nobody is there.
    """
    if not is_terminal(sys.stdin):
        raise InvalidInput(
            "a passphrase is needed, and there is no terminal to ask at",
            code="passphrase_needed",
            hint=otherwise,
        )
    import click

    text: str = click.prompt(what, hide_input=True, confirmation_prompt=twice, err=True)
    return text.encode()
