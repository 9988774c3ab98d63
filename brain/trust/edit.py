"""Edits of trust.json: each returns the new text in the one layout it is written in.

That is JSON with two spaces for each level, one field or item a line, the fields in the
order in which `policy` shows them, keys as they stood with new ones last, and a line feed
at the end.
"""

from __future__ import annotations

import json
from typing import Any

from .policy import (
    FORMAT,
    Policy,
    Revocation,
    TrustedKey,
    bad,
    check,
    checked_name,
    checked_reason,
    parse,
)
from .statement import key_text


def render(policy: Policy) -> bytes:
    """Return a trust file that says this. Raises `InvalidInput` (`bad_trust`)."""
    check(policy)
    rows = [_row(key) for key in policy.keys]
    document = {"format": FORMAT, "threshold": policy.threshold, "keys": rows}
    return f"{json.dumps(document, indent=2, ensure_ascii=False)}\n".encode()


def first(name: str, key: bytes) -> bytes:
    """Return a trust file of one key."""
    return render(Policy(1, (TrustedKey(checked_name(name), key),)))


def add_key(content: bytes, name: str, key: bytes) -> bytes:
    """Add a key that may sign from now on.

    Raises `InvalidInput` (`bad_trust`) for a broken file, a name or a key that is in it.
    """
    policy = parse(content)
    return render(policy._replace(keys=(*policy.keys, TrustedKey(checked_name(name), key))))


def end_key(content: bytes, key: bytes, until: bytes) -> bytes:
    """End the rights of a key with the snapshot `until`; what it signed before stays good.

    Raises `InvalidInput` (`bad_trust`) if the key is not in the file or has ended, or if
    too few keys would be left.
    """
    policy = parse(content)
    old = _found(policy, key)
    if old.end:
        raise bad(f"{old.name} has been ended already")
    return _with(policy, old, old._replace(end=until))


def revoke_key(content: bytes, key: bytes, reason: str, since: bytes = b"") -> bytes:
    """Revoke a key: from the snapshot `since` on, or ever, nothing that it signed counts.

    A key that is revoked already may be revoked since another snapshot: both count from
    then on. Raises `InvalidInput` (`bad_trust`) as `end_key` does.
    """
    policy = parse(content)
    old = _found(policy, key)
    if old.revoked and old.revoked.since in (b"", since):
        raise bad(f"{old.name} has been revoked already")
    return _with(policy, old, old._replace(revoked=Revocation(since, checked_reason(reason))))


def set_threshold(content: bytes, threshold: int) -> bytes:
    """Set how many keys have to sign. Raises `InvalidInput` (`bad_trust`)."""
    policy = parse(content)
    return (
        content if policy.threshold == threshold else render(policy._replace(threshold=threshold))
    )


def _found(policy: Policy, key: bytes) -> TrustedKey:
    for known in policy.keys:
        if known.key == key:
            return known
    raise bad(f"{key_text(key)} is not in it")


def _with(policy: Policy, old: TrustedKey, new: TrustedKey) -> bytes:
    return render(policy._replace(keys=tuple(new if key is old else key for key in policy.keys)))


def _row(key: TrustedKey) -> dict[str, Any]:
    row: dict[str, Any] = {"name": key.name, "key": key_text(key.key)}
    row |= {
        field: value.hex() for field, value in (("from", key.begin), ("until", key.end)) if value
    }
    if key.revoked:
        since = {"since": key.revoked.since.hex()} if key.revoked.since else {}
        row["revoked"] = {**since, "reason": key.revoked.reason}
    return row
