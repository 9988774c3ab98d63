"""trust.json: who may sign the snapshots of a brain, and how many must.

    {
      "format": "brain v1 trust",
      "threshold": 1,
      "keys": [
        {
          "name": "auditor",
          "key": "ed25519:3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
        },
        {
          "name": "former auditor",
          "key": "ed25519:d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
          "from": "1f…",                                  (the snapshot its rights begin with)
          "until": "2e…",                                 (the snapshot its rights end with)
          "revoked": {"since": "3d…", "reason": "stolen"} (left out, `since` means since ever)
        }
      ]
    }

The file is versioned with the brain, and every implementation has to read the same in it.
So it is strict JSON, names and reasons are compared and measured as bytes, and no rule
depends on a version of Unicode. The schema is `schemas/trust.json`.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from .. import jsontext
from ..errors import InvalidInput, printable
from .statement import parse_key

PATH = "trust.json"
FORMAT = "brain v1 trust"
MAX_BYTES = 512 << 10
"""Bytes of a trust file. The most keys with the longest fields take some half of that."""
MAX_KEYS = 256
MAX_NAME = 64
"""Bytes of UTF-8 in the name of a key."""
MAX_REASON = 256
"""Bytes of UTF-8 in the reason of a revocation."""

_MAX_DEPTH = 8
"""Lists and objects inside each other; a trust file has four."""
_MAX_VALUES = 32 * MAX_KEYS
"""Values and keys of objects; a full trust file has fewer than 16 for each key of it."""
_ID = re.compile(r"[0-9a-f]{64}", re.ASCII)
_LAST_OF_PLANES = "".join(chr(plane << 16 | end) for plane in range(17) for end in (0xFFFE, 0xFFFF))
_REFUSED = re.compile(f"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef{_LAST_OF_PLANES}]")
"""Control characters, surrogates, and the noncharacters that I-JSON excludes."""


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
    """What trust.json says: `threshold` of the keys have to sign."""

    threshold: int
    keys: tuple[TrustedKey, ...]


def parse(content: bytes) -> Policy:
    """Return what the text of trust.json says. Raises `InvalidInput` (`bad_trust`)."""
    if len(content) > MAX_BYTES:
        raise bad(f"it has more than {MAX_BYTES} bytes")
    fields = jsontext.parse(content, _MAX_DEPTH, _MAX_VALUES, lambda message, _: bad(message))
    if not isinstance(fields, dict):
        raise bad("it is not an object")
    _check_fields(fields, {"format", "threshold", "keys"}, set(), "the file")
    if fields["format"] != FORMAT:
        raise bad(f"its format is not {FORMAT!r}")
    rows = fields["keys"]
    if not isinstance(rows, list):
        raise bad("keys is not a list")
    policy = Policy(fields["threshold"], tuple(map(_key, rows[: MAX_KEYS + 1])))
    check(policy)
    return policy


def is_trust(content: bytes) -> bool:
    """Tell whether a text is that of a trust file."""
    try:
        parse(content)
    except InvalidInput:
        return False
    return True


def check(policy: Policy) -> None:
    """Refuse a policy that cannot be kept, or counts one key twice; raises as `parse`."""
    if not 0 < len(policy.keys) <= MAX_KEYS:
        raise bad(f"keys is not a list of 1 to {MAX_KEYS}")
    if len({key.name for key in policy.keys}) < len(policy.keys):
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


def _key(row: Any) -> TrustedKey:
    if not isinstance(row, dict):
        raise bad("an item of keys is not an object")
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
    """Return the name of a key: 1 to 64 bytes of text without controls. Raises as `parse`."""
    if not _is_text(name, MAX_NAME) or not name:
        raise bad(f"a name is not text of 1 to {MAX_NAME} bytes without control characters")
    return str(name)


def _revocation(row: dict[str, Any], where: str) -> Revocation | None:
    if "revoked" not in row:
        return None
    fields = row["revoked"]
    if not isinstance(fields, dict):
        raise bad(f"revoked {where} is not an object")
    _check_fields(fields, {"reason"}, {"since"}, f"revoked {where}")
    return Revocation(_id(fields, "since", where), checked_reason(fields["reason"]))


def checked_reason(reason: Any) -> str:
    """Return the reason of a revocation: at most 256 bytes of such text. Raises as `parse`."""
    if not _is_text(reason, MAX_REASON):
        raise bad(f"a reason is not text of at most {MAX_REASON} bytes without control characters")
    return str(reason)


def _is_text(value: Any, most: int) -> bool:
    return (
        isinstance(value, str)
        and len(value) <= most
        and not _REFUSED.search(value)
        and len(value.encode()) <= most
    )


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
