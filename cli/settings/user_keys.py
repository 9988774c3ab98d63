"""The user's keys: their folder, the signing key, passphrases, who must sign, and pinned roots."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from brain.errors import InvalidInput, NotFound

from ..render.human_format import short_id
from ..terminal import escape, is_terminal
from .config_file import default_signing_key, user_settings_folder

if TYPE_CHECKING:
    from brain import Brain
    from brain.repo.session import SigningKeyProvider
    from brain.results import Trusted

DEFAULT_KEY_NAME = "default"
"""The name of a key that is created without a name."""
_MAX_PASSPHRASE_BYTES = 4096
PASSPHRASE_FILE_HINT = "pass --passphrase-file FILE, or set BRAIN_PASSPHRASE_FILE"


def keys_folder() -> Path:
    """Return the folder of keys: BRAIN_KEYS, else `brain/keys` in the folder of settings."""
    named = os.environ.get("BRAIN_KEYS")
    if named:
        return Path(named)
    return user_settings_folder() / "keys"


def resolve_public_key(text: str) -> str:
    """Return a public key from `ed25519:…` or from the name of a key of the user."""
    if text.startswith("ed25519:"):
        return text
    from brain.trust import keyfile
    from brain.trust.ed25519 import format_key

    try:
        return format_key(keyfile.describe_key(keys_folder(), text).key)
    except (NotFound, InvalidInput) as error:
        if error.code not in ("no_key", "bad_name"):
            raise
        raise type(error)(
            error.message,
            code=error.code,
            hint="name one of your keys, or write `ed25519:…`"
            " (`brain key list` lists those of this brain, too)",
        ) from error


def resolve_brain_key(text: str, trusted: Trusted) -> str:
    """Return a public key as `resolve_public_key`, or from its name in the trust file.

    Raises `InvalidInput` (`which_key`) if the name is that of several keys.
    """
    named = [key.key for key in (*trusted.keys, *trusted.former) if key.name == text]
    try:
        own = resolve_public_key(text)
    except (NotFound, InvalidInput):
        if not named:
            raise
        own = named[0]
    if len(several := dict.fromkeys([own, *named])) > 1:
        raise InvalidInput(
            f"{text} is the name of several keys: {', '.join(several)}",
            code="which_key",
            hint="write the key that you mean instead of its name",
        )
    return own


def resolve_root_key(text: str, open_brain: Callable[[], Brain]) -> str:
    """Return a root key as `resolve_public_key`, or of a pinned key its name in the trust file.

    A brain gives its keys whatever names it likes, so the name of another one vouches for
    nothing: raises `NotFound` (`no_key`) with the key, for the reader to compare.
    """
    try:
        return resolve_public_key(text)
    except (NotFound, InvalidInput):
        brain = open_brain()
        trusted, known = brain.trust.show(), read_pinned_roots(brain.id)
        named = [key.key for key in (*trusted.keys, *trusted.former) if key.name == text]
        if not named:
            raise
        pinned = [key for key in named if key in known]
        if len(pinned) == 1:
            return pinned[0]
        raise NotFound(
            f"{escape(text)} is what this brain itself calls {' and '.join(named)}: anybody can"
            " give a key that name",
            code="no_key",
            hint="compare the key with what you have from its owner, and write `ed25519:…`",
        ) from None


def own_key_name(text: str) -> str:
    """Return the name of a key of the user from that name, or from `ed25519:…`, as it is printed.

    Raises `NotFound` (`no_key`).
    """
    if not text.startswith("ed25519:"):
        return text
    name = find_own_key([text])
    if name is None:
        raise NotFound(
            f"none of your keys is {text}",
            code="no_key",
            hint="`brain key list` lists your keys; only their owner can sign with others",
        )
    return name


def choose_signing_key(name: str | None) -> str | None:
    """Return the name of the signing key: `name`, else the default one, else the only key.

    None if the user has no key. Raises `InvalidInput` (`which_key`) if there are several.
    """
    named = name or default_signing_key()
    if named:
        return own_key_name(named)
    from brain.trust import keyfile

    names = keyfile.list_key_names(keys_folder())
    if len(names) > 1:
        raise InvalidInput(
            f"you have {len(names)} keys, and none is chosen to sign",
            code="which_key",
            hint="name one with --key or BRAIN_SIGN_KEY, or for good with `brain config sign`:"
            f" {', '.join(names[:8])}",
        )
    return names[0] if names else None


def find_own_key(trusted: Sequence[str]) -> str | None:
    """Return the name of the user's first key whose public key is in `trusted`, else None."""
    from brain.trust import keyfile
    from brain.trust.ed25519 import format_key

    found = (key.name for key in keyfile.list_keys(keys_folder()) if format_key(key.key) in trusted)
    return next(found, None)


def require_signing_key(name: str | None) -> str:
    """Return the signing key as `choose_signing_key`. Raises `NotFound` (`no_key`) if none."""
    found = choose_signing_key(name)
    if found is None:
        raise NotFound("you have no key yet", code="no_key", hint="make one with `brain key new`")
    return found


def load_private_key(name: str, passphrase_file: str | None) -> bytes:
    """Return a private key of the user; read its passphrase from a file or ask for it."""
    from brain.trust import keyfile

    folder, name = keys_folder(), own_key_name(name)
    passphrase = read_passphrase(passphrase_file)
    if not passphrase and keyfile.describe_key(folder, name).encrypted:
        passphrase = ask_passphrase(
            f"Passphrase of the key {name}", PASSPHRASE_FILE_HINT, twice=False
        )
    return keyfile.load_key(folder, name, passphrase)


def private_key_loader(name: str) -> SigningKeyProvider:
    """Return a provider that loads a private key on first use, without a prompt."""

    @cache
    def load() -> bytes:
        from brain.trust import keyfile

        return keyfile.load_key(keys_folder(), own_key_name(name), read_passphrase(None))

    return load


def read_passphrase(passphrase_file: str | None) -> bytes:
    """Return the first line of a file, by default BRAIN_PASSPHRASE_FILE; b"" without a file.

    Raises `InvalidInput`: `no_passphrase` if that line is empty, `key_readable` if others may
    read the file.
    """
    path = passphrase_file or os.environ.get("BRAIN_PASSPHRASE_FILE")
    if not path:
        return b""
    from brain.util.files import read_secret_file

    content = read_secret_file(path, _MAX_PASSPHRASE_BYTES, "the passphrase")
    passphrase = content[:_MAX_PASSPHRASE_BYTES].partition(b"\n")[0].rstrip(b"\r")
    if not passphrase:
        raise InvalidInput(
            f"the first line of the passphrase file {path} is empty",
            code="no_passphrase",
            hint="write the passphrase to its first line",
        )
    return passphrase


def ask_passphrase(what: str, otherwise: str, *, twice: bool) -> bytes:
    """Ask for a passphrase at the terminal.

    Raises `InvalidInput` (`passphrase_needed`) with the hint `otherwise` without one.
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


# Who must sign, as the hint of an error or as a note


def unverifiable_note(brain: Brain, snapshot: str) -> str:
    """Return the note on a new snapshot that too few trusted keys have signed."""
    which = "a further signature" if brain.signatures.list(snapshot) else "the signature"
    return (
        f"snapshot {short_id(snapshot)} lacks {which} of a trusted key and"
        f" does not verify: {unverifiable_advice(brain, snapshot)}"
    )


def unverifiable_advice(brain: Brain, snapshot: str) -> str:
    """Return which trusted keys have yet to sign a snapshot, and how."""
    trusted = brain.trust.show(snapshot)
    signed = [one.key for one in brain.signatures.list(snapshot)]
    own = find_own_key([key.key for key in trusted.keys])
    more = f"; `brain config sign {own}` signs every new one" if own and not signed else ""
    return f"{signing_advice(trusted, 'brain sign', signed)}{more}"


def signing_advice(trusted: Trusted, command: str, signed: Iterable[str] = ()) -> str:
    """Return which keys must sign with `command`; `signed` are the keys that already did."""
    may = [key for key in trusted.keys if not (key.until or key.revoked)]
    missing = [key for key in may if key.key not in signed]
    more = trusted.threshold - (len(may) - len(missing))
    own = find_own_key([key.key for key in missing])
    names = ", ".join(escape(key.name) for key in missing)
    if not own:
        return f"ask {'one' if more == 1 else more} of {names} to run `{command}`"
    others = "one" if more == 2 else more - 1
    rest = f", and ask {others} more of {names} to do so" if more > 1 else ""
    return f"run `{command} --key {own}`{rest}"


# Pinned roots


def roots_path() -> Path:
    """Return the file of pinned keys: BRAIN_ROOTS, else one in the user's settings."""
    named = os.environ.get("BRAIN_ROOTS")
    if named:
        return Path(named)
    return user_settings_folder() / "roots.json"


def read_pinned_roots(brain: str) -> list[str]:
    """Return the root keys that are pinned for a brain. Raises `InvalidInput` (`bad_roots`)."""
    from brain.trust import pinned_roots

    return pinned_roots.load_pinned_roots(roots_path(), brain)
