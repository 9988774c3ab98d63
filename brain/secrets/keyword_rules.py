"""Find secrets by the keyword before them: `password: …`, `API_KEY=…`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from . import randomness
from .lazy_regex import lazy_pattern
from .secret_hit import CERTAIN, DOUBTFUL, SecretHit

_KEYWORDS = (b"passw", b"passphrase", b"pwd", b"secret", b"credential", b"token", b"key", b"bearer")
_PASSWORD_KEYWORDS = _KEYWORDS[:5]
"""Keywords of passwords, which people choose and which are short."""
_ASSIGNED_VALUE = lazy_pattern(
    rb"(?:ord|d)?s?((?:[_-][a-z0-9]{1,12}){0,2})(?![a-z0-9_-])[\"'`\])*]{0,4}[ \t]{0,8}"
    rb"(:=|=>|->|[=:|]|is\b|was\b|)[ \t]{0,8}"
    rb"(?:bearer[ \t]|basic[ \t])?[\"'`(*]{0,4}([^\s\"'`,;)<>|:=&]{6,200}={0,2})",
    re.IGNORECASE,
)
_NAME_BEFORE = lazy_pattern(rb"[A-Za-z0-9]*[_ .-]?[A-Za-z0-9]*")
_HARMLESS_PREFIX = lazy_pattern(
    rb"(?:public|pub|primary|foreign|cache|sort|partition|idempotency|hash|object|dict|host|map"
    rb"|index|row|group|routing|unique|natural|dedup|dedupe|lookup|next|page|continuation)"
    rb"[_ .-]?\Z",
    re.IGNORECASE,
)
_SECRET_PREFIX = lazy_pattern(
    rb"(?:api|secret|private|access|auth|account|encryption|signing|master|service|admin|deploy"
    rb"|client|shared|webhook|license|wallet|signer)[_ .-]?\Z",
    re.IGNORECASE,
)
_HARMLESS_SUFFIX = lazy_pattern(
    rb"[_-](?:id|ids|name|path|file|url|uri|type|count|limit|size|length|len|ttl|hash|ref|prefix"
    rb"|env|var|format|policy|rule|expiry|expires|version|usage|budget|digest)\Z",
    re.IGNORECASE,
)
_PLACEHOLDER = lazy_pattern(
    rb"(?i)(?<![a-z])(?:example|your|my|the|some|placeholder|changeme|dummy|sample|insert|replace"
    rb"|redacted|todo|test)(?![a-z])|(?-i:x{5}|X{5})|\*\*\*|\.\.\.|process\.env|environ|getenv|env\."
)
_CODE_EXPRESSION = lazy_pattern(
    rb"[$({\[\\%]|^[A-Za-z_]+(?:\.[A-Za-z_]+)+$|://|^(?:[.~@]|/[a-z]+/)"
)
_HEX_VALUE = lazy_pattern(rb"(?:0[xX])?[0-9a-fA-F]{16,}")
_UUID_VALUE = lazy_pattern(rb"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_ETHEREUM_RULE = "ethereum-private-key"
_ETHEREUM_KEY_DIGITS = 64
_MIN_DISTINCT_BYTES = 5


def scan_keywords(text: bytes) -> Iterator[SecretHit]:
    """Yield the values after a keyword that look like secrets."""
    lower = text.lower()
    for word in _KEYWORDS:
        at = lower.find(word)
        while at >= 0:
            match = _ASSIGNED_VALUE().match(text, at + len(word))
            if match:
                hit = _match_to_hit(text, word, at, match)
                if hit:
                    yield hit
            at = lower.find(word, at + len(word))


def _match_to_hit(text: bytes, word: bytes, at: int, match: re.Match[bytes]) -> SecretHit | None:
    suffix, sign, value = match.groups()
    before = _NAME_BEFORE().match(text[max(at - 40, 0) : at][::-1])
    name = before[0][::-1] if before else b""
    if _HARMLESS_PREFIX().search(name) or _HARMLESS_SUFFIX().search(suffix):
        return None
    value = value.rstrip(b".:!?*]}\\&")
    if _PLACEHOLDER().search(value) or _CODE_EXPRESSION().search(value):
        return None
    if len(set(value)) < _MIN_DISTINCT_BYTES:
        return None
    is_explicit = word in _PASSWORD_KEYWORDS or _SECRET_PREFIX().search(name) is not None
    rule = _classify_value(word, value, bool(sign), is_explicit)
    if not rule:
        return None
    grade = CERTAIN if rule == _ETHEREUM_RULE else DOUBTFUL
    return SecretHit(rule, match.start(3), match.start(3) + len(value), value, grade)


def _classify_value(word: bytes, value: bytes, is_assigned: bool, is_explicit: bool) -> str:
    """Return the rule by which a value is a secret, "" if it is not a secret.

    A value that may be an id or a hash is a secret only if the keyword is explicit.
    """
    if _UUID_VALUE().fullmatch(value) or _HEX_VALUE().fullmatch(value):
        if not is_explicit:
            return ""
        digits = len(value) - 2 * (value[:2] in (b"0x", b"0X"))
        return _ETHEREUM_RULE if digits == _ETHEREUM_KEY_DIGITS else "assigned-secret"
    if len(value) >= 16 and randomness.is_random_value(value):
        return "assigned-secret"
    if is_assigned and word in _PASSWORD_KEYWORDS and randomness.is_password_like(value):
        return "assigned-password"
    return ""
