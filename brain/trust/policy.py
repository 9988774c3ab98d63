"""trust.yaml: who may sign the snapshots of a brain, and how many must.

    threshold: 1
    keys:
      - name: auditor
        key: ed25519:3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c
      - name: former auditor
        key: ed25519:d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a
        from: 1f…             # a snapshot: rights begin with it
        until: 2e…            # rights end with it
        revoked:
          since: 3d…          # left out: since ever
          reason: stolen

The file is versioned with the brain. Whoever may read it has to read the same in it, so
there is one way to say each thing and whatever else is in it is refused. The schema is
`schemas/trust.json`.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any, NamedTuple

from ..errors import BrainError, InvalidInput, printable
from .statement import parse_key

PATH = "trust.yaml"
MAX_KEYS = 256
MAX_NAME = 64
"""Characters in the name of a key."""
MAX_REASON = 256
"""Characters in the reason of a revocation."""

_ID = re.compile(r"[0-9a-f]{64}", re.ASCII)


class Revocation(NamedTuple):
    """From the snapshot `since` on, or ever if it is b"", nothing that the key signs counts."""

    since: bytes
    reason: str


class TrustedKey(NamedTuple):
    """One key that may sign.

    Its rights hold for the snapshot `begin` and all that descend from it (b"": for all),
    but not for the snapshot `end` and all that descend from it (b"": for none).
    """

    name: str
    key: bytes
    begin: bytes = b""
    end: bytes = b""
    revoked: Revocation | None = None

    @property
    def may_go_on(self) -> bool:
        """Whether the rights of this key have no end that is known."""
        return not self.end and self.revoked is None


class Policy(NamedTuple):
    """What trust.yaml says: `threshold` of the keys have to sign."""

    threshold: int
    keys: tuple[TrustedKey, ...]


def parse(content: bytes) -> Policy:
    """Return what the text of trust.yaml says. Raises `InvalidInput` (`bad_trust`)."""
    from ..skills.strict_yaml import load_mapping

    try:
        fields = load_mapping(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise bad("it is not UTF-8") from error
    except BrainError as error:
        raise bad(error.message) from error
    _check_fields(fields, {"threshold", "keys"}, set(), "the file")
    rows = fields["keys"]
    if not isinstance(rows, list) or not 0 < len(rows) <= MAX_KEYS:
        raise bad(f"keys is not a list of 1 to {MAX_KEYS}")
    policy = Policy(fields["threshold"], tuple(map(_key, rows)))
    check(policy)
    return policy


def check(policy: Policy) -> None:
    """Refuse a policy that cannot be kept, or counts one key twice; raises as `parse`."""
    names = [_folded(key.name) for key in policy.keys]
    if len(set(names)) < len(names):
        raise bad("two keys have the same name")
    if len({key.key for key in policy.keys}) < len(policy.keys):
        raise bad("one key stands under two names")
    usable = sum(key.may_go_on for key in policy.keys)
    if type(policy.threshold) is not int or not 1 <= policy.threshold <= usable:
        raise bad(
            f"threshold is not a number from 1 to {usable}, the keys that may go on signing"
            if usable
            else "no key may go on signing"
        )


def bad(what: str) -> InvalidInput:
    """Return the error for a trust file that cannot be taken."""
    return InvalidInput(f"{PATH}: {what}", code="bad_trust", hint="see schemas/trust.json")


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


def _key(row: Any) -> TrustedKey:
    if not isinstance(row, dict):
        raise bad("an item of keys is not a map")
    _check_fields(row, {"name", "key"}, {"from", "until", "revoked"}, "an item of keys")
    name = checked_name(row["name"])
    where = f"of {printable(name)}"
    try:
        key = parse_key(row["key"] if isinstance(row["key"], str) else "")
    except InvalidInput as error:
        raise bad(f"the key {where} is not a public key") from error
    begin, end = (_id(row, field, where) for field in ("from", "until"))
    return TrustedKey(name, key, begin, end, _revocation(row, where))


def checked_name(name: Any) -> str:
    """Return the name of a key: 1 to 64 characters that can be seen. Raises as `parse`."""
    if not isinstance(name, str) or not _is_line(name, MAX_NAME) or not name:
        raise bad(f"a name is not text of 1 to {MAX_NAME} visible characters")
    return name


def _revocation(row: dict[str, Any], where: str) -> Revocation | None:
    if "revoked" not in row:
        return None
    fields = row["revoked"]
    if not isinstance(fields, dict):
        raise bad(f"revoked {where} is not a map")
    _check_fields(fields, {"reason"}, {"since"}, f"revoked {where}")
    return Revocation(_id(fields, "since", where), checked_reason(fields["reason"]))


def checked_reason(reason: Any) -> str:
    """Return the reason of a revocation, at most 256 visible characters. Raises as `parse`."""
    if not isinstance(reason, str) or not _is_line(reason, MAX_REASON):
        raise bad(f"a reason is not text of at most {MAX_REASON} visible characters")
    return reason


def _is_line(text: str, most: int) -> bool:
    return len(text) <= most and text.isprintable() and text == text.strip()


def _id(fields: dict[str, Any], field: str, where: str) -> bytes:
    text = fields.get(field)
    if field not in fields:
        return b""
    if not isinstance(text, str) or not _ID.fullmatch(text):
        raise bad(f"{field} {where} is not the id of a snapshot")
    return bytes.fromhex(text)


def _check_fields(fields: dict[str, Any], needed: set[str], optional: set[str], where: str) -> None:
    missing = needed - fields.keys()
    unknown = fields.keys() - needed - optional
    if missing:
        raise bad(f"{where} has no {min(missing)}")
    if unknown:
        raise bad(f"{where} has an unknown field: {printable(min(unknown))}")
