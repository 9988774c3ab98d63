"""Edits of trust.yaml that keep its comments and every line they do not touch.

Each function returns the new text. What it says is checked against what it has to say;
where the text is written in an unusual way (in braces, say), so that adding a line would
not do, the file is written anew without its comments.
"""

from __future__ import annotations

from ..errors import BrainError
from ..skills import yaml_lines
from ..skills.scalar import quoted, write
from .policy import (
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

HEAD = "# Who may sign snapshots of this brain, and how many of them must."


def render(policy: Policy) -> bytes:
    """Return a trust file that says this. Raises `InvalidInput` (`bad_trust`)."""
    check(policy)
    lines = [f"threshold: {policy.threshold}", "keys:"]
    for key in policy.keys:
        lines += [f"  {line}" for line in _item(key)]
    return "\n".join([HEAD, *lines, ""]).encode()


def first(name: str, key: bytes) -> bytes:
    """Return a trust file of one key."""
    return render(Policy(1, (TrustedKey(checked_name(name), key),)))


def add_key(content: bytes, name: str, key: bytes) -> bytes:
    """Add a key that may sign from now on.

    Raises `InvalidInput` (`bad_trust`) for a broken file, a name or a key that is in it.
    """
    policy = parse(content)
    new = TrustedKey(checked_name(name), key)
    wanted = policy._replace(keys=(*policy.keys, new))
    return _settled(yaml_lines.append(content.decode(), ("keys",), _item(new)), wanted)


def end_key(content: bytes, key: bytes, until: bytes) -> bytes:
    """End the rights of a key with the snapshot `until`; what it signed before stays good.

    Raises `InvalidInput` (`bad_trust`) if the key is not in the file or has ended, or if
    too few keys would be left.
    """
    return _with_line(content, key, TrustedKey(name="", key=key, end=until))


def revoke_key(content: bytes, key: bytes, reason: str, since: bytes = b"") -> bytes:
    """Revoke a key: from the snapshot `since` on, or ever, nothing that it signed counts.

    Raises `InvalidInput` (`bad_trust`) as `end_key` does.
    """
    revoked = Revocation(since, checked_reason(reason))
    return _with_line(content, key, TrustedKey(name="", key=key, revoked=revoked))


def set_threshold(content: bytes, threshold: int) -> bytes:
    """Set how many keys have to sign. Raises `InvalidInput` (`bad_trust`)."""
    wanted = parse(content)._replace(threshold=threshold)
    text = yaml_lines.replace(content.decode(), ("threshold",), str(threshold))
    return _settled(text, wanted)


def _with_line(content: bytes, key: bytes, more: TrustedKey) -> bytes:
    """Add to an entry what `more` says beyond the key."""
    policy = parse(content)
    place = next((n for n, known in enumerate(policy.keys) if known.key == key), None)
    if place is None:
        raise bad(f"{key_text(key)} is not in it")
    old = policy.keys[place]
    if (more.end and old.end) or (more.revoked and old.revoked):
        raise bad(f"{old.name} has been {'ended' if more.end else 'revoked'} already")
    new = old._replace(end=more.end or old.end, revoked=more.revoked or old.revoked)
    keys = (*policy.keys[:place], new, *policy.keys[place + 1 :])
    text = yaml_lines.append(content.decode(), ("keys", place), _more(more))
    return _settled(text, policy._replace(keys=keys))


def _item(key: TrustedKey) -> list[str]:
    lines = [f"- name: {write(key.name)}", f"  key: {key_text(key.key)}"]
    return lines + [f"  {line}" for line in _more(key)]


def _more(key: TrustedKey) -> list[str]:
    lines = [
        f'{field}: "{value.hex()}"'
        for field, value in (("from", key.begin), ("until", key.end))
        if value
    ]
    if key.revoked:
        lines.append("revoked:")
        if key.revoked.since:
            lines.append(f'  since: "{key.revoked.since.hex()}"')
        lines.append(f"  reason: {quoted(key.revoked.reason)}")
    return lines


def _settled(text: str, wanted: Policy) -> bytes:
    """Return the text if it says what is wanted, else one that does."""
    check(wanted)
    try:
        if parse(text.encode()) == wanted:
            return text.encode()
    except BrainError:
        pass
    return render(wanted)
