"""trust.json: which keys may sign the snapshots of a brain, and how many must.

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

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from ..digest import blob_id, is_hex_digest
from ..errors import InvalidInput, corrupt_object_error, printable_text
from ..objects import paths
from ..objects.bundle import State
from ..objects.snapshot import Snapshot
from ..objects.tree_node import LINK
from ..util import strict_json
from . import POLICY_PATH
from .ed25519 import format_key, parse_key

POLICY_FORMAT = "brain v1 trust"
MAX_POLICY_BYTES = 512 << 10
"""Bytes of a trust file. The most keys with the longest fields take some half of that."""
MAX_POLICY_KEYS = 256
MAX_KEY_NAME_BYTES = 64
"""Bytes of UTF-8 in the name of a key."""
MAX_REVOCATION_REASON_BYTES = 256
"""Bytes of UTF-8 in the reason of a revocation."""

_MAX_DEPTH = 8
"""Lists and objects inside each other; a trust file has four."""
_MAX_VALUES = 32 * MAX_POLICY_KEYS
"""Values and keys of objects; a full trust file has fewer than 16 for each key of it."""
_PLANE_NONCHARACTERS = "".join(
    chr(plane << 16 | end) for plane in range(17) for end in (0xFFFE, 0xFFFF)
)
_REFUSED_CHARS = re.compile(f"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef{_PLANE_NONCHARACTERS}]")
"""Control characters, surrogates, and the noncharacters that I-JSON excludes."""


class KeyRevocation(NamedTuple):
    """From the snapshot `since` on, or ever if it is b"", nothing that the key signs counts."""

    since: bytes
    reason: str


class PolicyKey(NamedTuple):
    """One key that may sign.

    Its rights hold for the snapshot `begin` and all that descend from it (b"": for all),
    but not for the snapshot `end` and all that descend from it (b"": for none).
    """

    name: str
    key: bytes
    begin: bytes = b""
    end: bytes = b""
    revoked: KeyRevocation | None = None


class Policy(NamedTuple):
    """The content of trust.json: `threshold` of the keys have to sign."""

    threshold: int
    keys: tuple[PolicyKey, ...]


def parse_policy(content: bytes) -> Policy:
    """Return the policy in the text of trust.json. Raises `InvalidInput` (`bad_trust`)."""
    if len(content) > MAX_POLICY_BYTES:
        raise policy_error(f"it has more than {MAX_POLICY_BYTES} bytes")
    fields = strict_json.parse_json(
        content, _MAX_DEPTH, _MAX_VALUES, lambda message, _: policy_error(message)
    )
    if not isinstance(fields, dict):
        raise policy_error("it is not an object")
    _check_fields(fields, {"format", "threshold", "keys"}, set(), "it")
    if fields["format"] != POLICY_FORMAT:
        raise policy_error(f'its format is not "{POLICY_FORMAT}"')
    rows = fields["keys"]
    if not isinstance(rows, list):
        raise policy_error("its field keys is not a list")
    if not 0 < len(rows) <= MAX_POLICY_KEYS:
        raise policy_error(f"its field keys is not a list of 1 to {MAX_POLICY_KEYS} keys")
    threshold, keys = fields["threshold"], tuple(map(_read_key, rows))
    if len({key.name for key in keys}) < len(keys):
        raise policy_error("two keys have the same name")
    if len({key.key for key in keys}) < len(keys):
        raise policy_error("one key has two names")
    usable = sum(not key.end and key.revoked is None for key in keys)
    if type(threshold) is not int or not 1 <= threshold <= usable:
        raise policy_error(
            f"its threshold is not a number from 1 to {usable}, which is how many keys have rights"
            " without an end"
            if usable
            else "no key has rights without an end"
        )
    return Policy(threshold, keys)


def is_policy(content: bytes) -> bool:
    """Tell whether a text is a valid trust file."""
    try:
        parse_policy(content)
    except InvalidInput:
        return False
    return True


_INVALID = f"the trust file {POLICY_PATH} is invalid: "


def policy_error(problem: str) -> InvalidInput:
    """Return the error for an invalid trust file."""
    return InvalidInput(
        f"{_INVALID}{problem}",
        code="bad_trust",
        hint="`brain key repair` restores the last valid one; schemas/trust.json describes it",
    )


def policy_edit_error(problem: str) -> InvalidInput:
    """Return the error for a change of the trust file that makes no sense."""
    return InvalidInput(
        f"{POLICY_PATH} cannot be changed like that: {problem}",
        code="bad_trust",
        hint="`brain key list` lists its keys, `brain key trust` adds one",
    )


def _read_key(row: Any) -> PolicyKey:
    if not isinstance(row, dict):
        raise policy_error("an item of keys is not an object")
    _check_fields(row, {"name", "key"}, {"from", "until", "revoked"}, "an item of keys")
    name = _read_plain_text(row["name"], "the name of a key", 1, MAX_KEY_NAME_BYTES)
    where = f"of {printable_text(name)}"
    try:
        key = parse_key(row["key"] if isinstance(row["key"], str) else "")
    except InvalidInput as error:
        raise policy_error(f"the key {where} is not a public key") from error
    begin, end = (_read_id(row, field, where) for field in ("from", "until"))
    return PolicyKey(name, key, begin, end, _read_revocation(row, where))


def _read_revocation(row: dict[str, Any], where: str) -> KeyRevocation | None:
    if "revoked" not in row:
        return None
    fields = row["revoked"]
    if not isinstance(fields, dict):
        raise policy_error(f"revoked {where} is not an object")
    _check_fields(fields, {"reason"}, {"since"}, f"revoked {where}")
    reason = _read_plain_text(
        fields["reason"], "the reason of a revocation", 0, MAX_REVOCATION_REASON_BYTES
    )
    return KeyRevocation(_read_id(fields, "since", where), reason)


def _read_plain_text(value: Any, what: str, least: int, most: int) -> str:
    if not (
        isinstance(value, str)
        and least <= len(value) <= most
        and not _REFUSED_CHARS.search(value)
        and len(value.encode()) <= most
    ):
        sizes = f"1 to {most}" if least else f"at most {most}"
        raise policy_error(f"{what} is not text of {sizes} bytes without control characters")
    return value


def _read_id(fields: dict[str, Any], field: str, where: str) -> bytes:
    text = fields.get(field)
    if field not in fields:
        return b""
    if not isinstance(text, str) or not is_hex_digest(text):
        raise policy_error(f"{field} {where} is not the id of a snapshot")
    return bytes.fromhex(text)


def _check_fields(fields: dict[str, Any], needed: set[str], optional: set[str], where: str) -> None:
    missing = needed - fields.keys()
    unknown = fields.keys() - needed - optional
    if missing:
        raise policy_error(f"{where} has no {min(missing)}")
    if unknown:
        raise policy_error(f"{where} has an unknown field: {min(unknown)}")


def render_policy(policy: Policy) -> bytes:
    """Return the trust file of a policy. Raises `InvalidInput` (`bad_trust`)."""
    rows = []
    for key in policy.keys:
        row: dict[str, Any] = {"name": key.name, "key": format_key(key.key)}
        ends = (("from", key.begin), ("until", key.end))
        row |= {field: value.hex() for field, value in ends if value}
        if key.revoked:
            since = {"since": key.revoked.since.hex()} if key.revoked.since else {}
            row["revoked"] = {**since, "reason": key.revoked.reason}
        rows.append(row)
    document = {"format": POLICY_FORMAT, "threshold": policy.threshold, "keys": rows}
    text = f"{json.dumps(document, indent=2, ensure_ascii=False)}\n"
    content = text.encode("utf-8", "surrogatepass")
    try:
        parse_policy(content)
    except InvalidInput as error:
        raise policy_edit_error(error.message.removeprefix(_INVALID)) from error
    return content


def add_trusted_key(content: bytes, name: str, key: bytes, threshold: int = 0) -> bytes:
    """Add a key that may sign from now on; b"" is a file without keys.

    `threshold` is how many keys have to sign, 0 for as many as before. Raises `InvalidInput`
    (`bad_trust`) for a broken file, a name or a key that is in it.
    """
    policy = parse_policy(content) if content else Policy(1, ())
    keys = (*policy.keys, PolicyKey(name, key))
    return render_policy(Policy(threshold or policy.threshold, keys))


def remove_trusted_key(content: bytes, key: bytes) -> bytes:
    """Remove a key, which may sign no more; what it signed before stays good.

    Raises `InvalidInput` (`bad_trust`) if the key is not in the file or is revoked in it, or if
    too few keys would be left.
    """
    policy = parse_policy(content)
    old = _find_key(policy, key)
    if old.revoked:
        raise policy_edit_error(f"{old.name} has been revoked already")
    return render_policy(policy._replace(keys=tuple(row for row in policy.keys if row != old)))


def revoke_trusted_key(
    content: bytes, key: bytes, reason: str, since: bytes = b"", former: PolicyKey | None = None
) -> bytes:
    """Revoke a key: from the snapshot `since` on, or ever, nothing that it signed counts.

    A key that is revoked already may be revoked since another snapshot: both count from
    then on. One that was removed comes back as its `former` row, revoked. Raises `InvalidInput`
    (`bad_trust`) as `remove_trusted_key`.
    """
    policy = parse_policy(content)
    if former and all(row.key != key for row in policy.keys):
        taken = any(row.name == former.name for row in policy.keys)
        row = former._replace(name=key.hex() if taken else former.name)
        policy = policy._replace(keys=(*policy.keys, row))
    old = _find_key(policy, key)
    if old.revoked and old.revoked.since in (b"", since):
        raise policy_edit_error(f"{old.name} has been revoked already")
    new = old._replace(revoked=KeyRevocation(since, reason))
    rows = (new if row is old else row for row in policy.keys)
    return render_policy(policy._replace(keys=tuple(rows)))


def set_policy_threshold(content: bytes, threshold: int) -> bytes:
    """Set how many keys have to sign. Raises `InvalidInput` (`bad_trust`)."""
    policy = parse_policy(content)
    if policy.threshold == threshold:
        return content
    return render_policy(policy._replace(threshold=threshold))


def _find_key(policy: Policy, key: bytes) -> PolicyKey:
    for known in policy.keys:
        if known.key == key:
            return known
    raise policy_edit_error(f"{format_key(key)} is not in it")


LocatePolicy = Callable[[Snapshot], bytes]
"""Returns the blob id of the trust file in the bundle of a snapshot, b"" if there is none."""

_MAX_CACHED_LOOKUPS = 4096


def policy_locator(load_state: Callable[[bytes], State]) -> LocatePolicy:
    """Return a function that finds trust files; `load_state` returns a state by its bundle.

    It caches by the tree of top-level files. It raises `InvalidInput` (`bad_trust`) if
    trust.json is a link or too large, and what `load_state` and its nodes raise.
    """
    blob_by_node: dict[bytes, bytes] = {}

    def locate(snapshot: Snapshot) -> bytes:
        files = load_state(snapshot.bundle)
        top = files.sections.get(paths.TOP_SECTION)
        if top is None:
            return b""
        found = blob_by_node.get(top.node)
        if found is None:
            entry = files.get(POLICY_PATH)
            if entry and (entry.kind == LINK or entry.size > MAX_POLICY_BYTES):
                raise policy_error("it is a link" if entry.kind == LINK else "it is too large")
            if len(blob_by_node) >= _MAX_CACHED_LOOKUPS:
                blob_by_node.clear()
            found = blob_by_node[top.node] = entry.blob if entry else b""
        return found

    return locate


def read_policy_blob(read_blob: Callable[[bytes], bytes], blob: bytes) -> bytes:
    """Return the content of a trust file, checked against its id.

    Raises `StoreError` (`corrupt_object`) if it does not match, and what `read_blob` raises.
    """
    text = read_blob(blob)
    if blob_id(text) != blob:
        raise corrupt_object_error(blob)
    return text
