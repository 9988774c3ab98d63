"""Edit the trust file: each function returns its new text.

The text is JSON with two spaces a level, one field or item a line, fields in the order
shown in `policy`, new keys last, and a line feed at the end.
"""

from __future__ import annotations

import json
from typing import Any

from .policy import (
    POLICY_FORMAT,
    KeyRevocation,
    Policy,
    PolicyKey,
    check_key_name,
    check_policy,
    check_revocation_reason,
    parse_policy,
    policy_edit_error,
)
from .signature_format import format_key


def render_policy(policy: Policy) -> bytes:
    """Return the trust file of a policy. Raises `InvalidInput` (`bad_trust`)."""
    check_policy(policy, policy_edit_error)
    rows = [_key_to_json(key) for key in policy.keys]
    document = {"format": POLICY_FORMAT, "threshold": policy.threshold, "keys": rows}
    return f"{json.dumps(document, indent=2, ensure_ascii=False)}\n".encode()


def create_policy(name: str, key: bytes) -> bytes:
    """Return a trust file of one key."""
    return render_policy(Policy(1, (PolicyKey(check_key_name(name, policy_edit_error), key),)))


def add_trusted_key(content: bytes, name: str, key: bytes) -> bytes:
    """Add a key that may sign from now on.

    Raises `InvalidInput` (`bad_trust`) for a broken file, a name or a key that is in it.
    """
    policy = parse_policy(content)
    return render_policy(
        policy._replace(
            keys=(*policy.keys, PolicyKey(check_key_name(name, policy_edit_error), key))
        )
    )


def expire_trusted_key(content: bytes, key: bytes, until: bytes) -> bytes:
    """End the rights of a key with the snapshot `until`; what it signed before stays good.

    Raises `InvalidInput` (`bad_trust`) if the key is not in the file or has ended, or if
    too few keys would be left.
    """
    policy = parse_policy(content)
    old = _find_key(policy, key)
    if old.end:
        raise policy_edit_error(f"{old.name} has been ended already")
    return _replace_key(policy, old, old._replace(end=until))


def revoke_trusted_key(content: bytes, key: bytes, reason: str, since: bytes = b"") -> bytes:
    """Revoke a key: from the snapshot `since` on, or ever, nothing that it signed counts.

    A key that is revoked already may be revoked since another snapshot: both count from
    then on. Raises `InvalidInput` (`bad_trust`) as `expire_trusted_key`.
    """
    policy = parse_policy(content)
    old = _find_key(policy, key)
    if old.revoked and old.revoked.since in (b"", since):
        raise policy_edit_error(f"{old.name} has been revoked already")
    return _replace_key(
        policy,
        old,
        old._replace(
            revoked=KeyRevocation(since, check_revocation_reason(reason, policy_edit_error))
        ),
    )


def set_policy_threshold(content: bytes, threshold: int) -> bytes:
    """Set how many keys have to sign. Raises `InvalidInput` (`bad_trust`)."""
    policy = parse_policy(content)
    return (
        content
        if policy.threshold == threshold
        else render_policy(policy._replace(threshold=threshold))
    )


def _find_key(policy: Policy, key: bytes) -> PolicyKey:
    for known in policy.keys:
        if known.key == key:
            return known
    raise policy_edit_error(f"{format_key(key)} is not in it")


def _replace_key(policy: Policy, old: PolicyKey, new: PolicyKey) -> bytes:
    return render_policy(
        policy._replace(keys=tuple(new if key is old else key for key in policy.keys))
    )


def _key_to_json(key: PolicyKey) -> dict[str, Any]:
    row: dict[str, Any] = {"name": key.name, "key": format_key(key.key)}
    row |= {
        field: value.hex() for field, value in (("from", key.begin), ("until", key.end)) if value
    }
    if key.revoked:
        since = {"since": key.revoked.since.hex()} if key.revoked.since else {}
        row["revoked"] = {**since, "reason": key.revoked.reason}
    return row
