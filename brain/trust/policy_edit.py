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


def add_trusted_key(content: bytes, name: str, key: bytes, threshold: int = 0) -> bytes:
    """Add a key that may sign from now on; b"" is a file without keys.

    `threshold` is how many keys have to sign, 0 for as many as before. Raises `InvalidInput`
    (`bad_trust`) for a broken file, a name or a key that is in it.
    """
    policy = parse_policy(content) if content else Policy(1, ())
    row = PolicyKey(check_key_name(name, policy_edit_error), key)
    return render_policy(Policy(threshold or policy.threshold, (*policy.keys, row)))


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
    revoked = KeyRevocation(since, check_revocation_reason(reason, policy_edit_error))
    rows = (row._replace(revoked=revoked) if row is old else row for row in policy.keys)
    return render_policy(policy._replace(keys=tuple(rows)))


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


def _key_to_json(key: PolicyKey) -> dict[str, Any]:
    row: dict[str, Any] = {"name": key.name, "key": format_key(key.key)}
    row |= {
        field: value.hex() for field, value in (("from", key.begin), ("until", key.end)) if value
    }
    if key.revoked:
        since = {"since": key.revoked.since.hex()} if key.revoked.since else {}
        row["revoked"] = {**since, "reason": key.revoked.reason}
    return row
