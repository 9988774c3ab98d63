"""Find secrets by the keyword before them: `password: …`, `API_KEY=…`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..util.text import lazy_pattern
from . import key_patterns
from .key_patterns import (
    CERTAIN,
    DOUBTFUL,
    EXAMPLE,
    SecretHit,
    decode_text,
    is_placeholder,
    is_weak_password,
)

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
    rb"|index|row|group|routing|unique|natural|dedup|dedupe|lookup|next|page|continuation"
    rb"|resource|spl|mint|publishable|file|websocket)"
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
_CODE_EXPRESSION = lazy_pattern(
    rb"[$({\[\\%]|^[A-Za-z_]+(?:(?:\?\.|!?\.|->)[A-Za-z_]+)+$|://|^(?:[.~@]|/[a-z]+/)|\.[*+?]"
    rb"|/[^/]*\.[a-z]{1,4}$|^[a-z]+[#.][a-z-]+$|^[A-Za-z0-9.-]+\.(?:com|org|net|io|dev|local)\b"
    rb"|\.\.|^(?:Ctrl|Alt|Shift|Cmd)\+"
)
"""Calls, variables, paths of files, addresses, patterns and selectors."""
_NAME_IN_WORDS = lazy_pattern(rb"[A-Za-z]{2,}(?:[_-][A-Za-z]{2,}){2,}(?:[_-][0-9]{1,4})?")
_ELLIPSIS = lazy_pattern(rb"[\"'`]?(?:\.\.\.|\xe2\x80\xa6)")
_TABLE_CELL = lazy_pattern(rb"[\"'`)*.:!?\]}]*[ \t]{0,80}\|")
_BASE64_BEFORE = lazy_pattern(rb"(?=[^0-9+/]*[0-9+/])[A-Za-z0-9+/]{24}\Z")
_PUBLIC_ADDRESS = lazy_pattern(rb"[1-9A-HJ-NP-Za-km-z]{43,44}")
"""An address or token of Solana in base58; its private keys are longer."""
_AWS_SECRET = lazy_pattern(rb"[A-Za-z0-9/+]{40}")
_JWT = lazy_pattern(rb"eyJ[A-Za-z0-9_-]*\.eyJ")
"""A JSON web token, which has a rule of its own."""
_HEX_VALUE = lazy_pattern(rb"(?:0[xX])?[0-9a-fA-F]{16,}")
_UUID_VALUE = lazy_pattern(rb"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_PASSWORD_RULE = "assigned-password"
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
    stop = match.start(3) + len(value)
    if len(set(value)) < _MIN_DISTINCT_BYTES or _is_in_other_text(text, at, match, stop):
        return None
    if is_placeholder(value) or _CODE_EXPRESSION().search(value) or _JWT().match(value):
        return None
    is_explicit = word in _PASSWORD_KEYWORDS or _SECRET_PREFIX().search(name) is not None
    rule = _classify_value(word, value, bool(sign), is_explicit)
    if not rule:
        return None
    return SecretHit(rule, match.start(3), stop, value, _grade_value(rule, name, suffix, value))


def _is_in_other_text(text: bytes, at: int, match: re.Match[bytes], stop: int) -> bool:
    """Tell whether a match is part of a path, of base64, of prose in a table, or abbreviated."""
    sign = match[2]
    if not sign and text[match.end(1) : match.end(1) + 1] == b"/":
        return True  # as in contracts/token/ERC20/IERC20.sol
    if _BASE64_BEFORE().match(text, max(at - 24, 0), at):
        return True
    if sign == b"|":
        line = text.rfind(b"\n", max(at - 400, 0), at) + 1
        is_row = text[line:at].lstrip()[:1] == b"|"
        return not is_row or _TABLE_CELL().match(text, stop) is None
    return _ELLIPSIS().match(text, stop) is not None


def _classify_value(word: bytes, value: bytes, is_assigned: bool, is_explicit: bool) -> str:
    """Return the rule by which a value is a secret, "" if it is not a secret.

    A value that may be an id or a hash is a secret only if the keyword is explicit.
    """
    if _UUID_VALUE().fullmatch(value) or _HEX_VALUE().fullmatch(value):
        if not (is_explicit and is_assigned):
            return ""
        digits = len(value) - 2 * (value[:2] in (b"0x", b"0X"))
        return _ETHEREUM_RULE if digits == _ETHEREUM_KEY_DIGITS else "assigned-secret"
    if not is_explicit and _PUBLIC_ADDRESS().fullmatch(value):
        return ""
    plain = decode_text(value) or value
    if len(value) >= 16 and value.isascii() and key_patterns.is_random_value(plain):
        return "assigned-secret"
    if is_assigned and word in _PASSWORD_KEYWORDS and _is_password(plain):
        return _PASSWORD_RULE
    return ""


def _is_password(value: bytes) -> bool:
    return key_patterns.is_password_like(value) and _NAME_IN_WORDS().match(value) is None


def _grade_value(rule: str, name: bytes, suffix: bytes, value: bytes) -> str:
    """Return CERTAIN for keys that both their name and their length tell."""
    if rule == _PASSWORD_RULE and is_weak_password(value):
        return EXAMPLE
    is_private_key = rule == _ETHEREUM_RULE and b"priv" in name.lower()
    is_aws_key = suffix.lower() == b"_access_key" and _AWS_SECRET().fullmatch(value)
    return CERTAIN if is_private_key or is_aws_key else DOUBTFUL
