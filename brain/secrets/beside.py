"""Secrets that are known by what stands beside them: `password: …`, `API_KEY=…`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from . import letters
from .expression import expression
from .shapes import Hit

_WORDS = (b"passw", b"passphrase", b"pwd", b"secret", b"credential", b"token", b"key", b"bearer")
_CHOSEN = _WORDS[:5]
"""Words beside which a person's own choice may stand, which is short."""
_VALUE = expression(
    rb"(?:ord|d)?s?((?:[_-][a-z0-9]{1,12}){0,2})(?![a-z0-9_-])[\"'`\])*]{0,4}[ \t]{0,8}"
    rb"(:=|=>|->|[=:|]|is\b|was\b|)[ \t]{0,8}"
    rb"(?:bearer[ \t]|basic[ \t])?[\"'`(*]{0,4}([^\s\"'`,;)<>|:=&]{6,200}={0,2})",
    re.IGNORECASE,
)
_BEFORE = expression(rb"[A-Za-z0-9]*[_ .-]?[A-Za-z0-9]*")
_SHARED = expression(
    rb"(?:public|pub|primary|foreign|cache|sort|partition|idempotency|hash|object|dict|host|map"
    rb"|index|row|group|routing|unique|natural|dedup|dedupe|lookup|next|page|continuation)"
    rb"[_ .-]?\Z",
    re.IGNORECASE,
)
_OWN = expression(
    rb"(?:api|secret|private|access|auth|account|encryption|signing|master|service|admin|deploy"
    rb"|client|shared|webhook|license|wallet|signer)[_ .-]?\Z",
    re.IGNORECASE,
)
_ABOUT = expression(
    rb"[_-](?:id|ids|name|path|file|url|uri|type|count|limit|size|length|len|ttl|hash|ref|prefix"
    rb"|env|var|format|policy|rule|expiry|expires|version|usage|budget|digest)\Z",
    re.IGNORECASE,
)
_STANDS_FOR = expression(
    rb"(?i)(?<![a-z])(?:example|your|my|the|some|placeholder|changeme|dummy|sample|insert|replace"
    rb"|redacted|todo|test)(?![a-z])|(?-i:x{5}|X{5})|\*\*\*|\.\.\.|process\.env|environ|getenv|env\."
)
_CODE = expression(rb"[$({\[\\%]|^[A-Za-z_]+(?:\.[A-Za-z_]+)+$|://|^(?:[.~@]|/[a-z]+/)")
_HEX = expression(rb"(?:0[xX])?[0-9a-fA-F]{16,}")
_UUID = expression(rb"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_ETHEREUM_DIGITS = 64
_FEWEST_LETTERS = 5


def scan(text: bytes) -> Iterator[Hit]:
    """Yield what stands beside a word for a secret and looks like one."""
    lower = text.lower()
    for word in _WORDS:
        at = lower.find(word)
        while at >= 0:
            match = _VALUE().match(text, at + len(word))
            if match:
                hit = _hit(text, word, at, match)
                if hit:
                    yield hit
            at = lower.find(word, at + len(word))


def _hit(text: bytes, word: bytes, at: int, match: re.Match[bytes]) -> Hit | None:
    suffix, sign, value = match.groups()
    before = _BEFORE().match(text[max(at - 40, 0) : at][::-1])
    name = before[0][::-1] if before else b""
    if _SHARED().search(name) or _ABOUT().search(suffix):
        return None
    value = value.rstrip(b".:!?*]}\\&")
    if len(set(value)) < _FEWEST_LETTERS or _STANDS_FOR().search(value) or _CODE().search(value):
        return None
    own = word in _CHOSEN or _OWN().search(name) is not None
    rule = _rule(word, value, bool(sign), own)
    return Hit(rule, match.start(3), match.start(3) + len(value), value) if rule else None


def _rule(word: bytes, value: bytes, assigned: bool, own: bool) -> str:
    """Return the rule by which a value is a secret, "" if it is none.

    Ids and hashes are so only beside a word that leaves no other reading (`own`).
    """
    if _UUID().fullmatch(value) or _HEX().fullmatch(value):
        if not own:
            return ""
        digits = len(value) - 2 * (value[:2] in (b"0x", b"0X"))
        return "ethereum-private-key" if digits == _ETHEREUM_DIGITS else "assigned-secret"
    if len(value) >= 16 and letters.is_random(value):
        return "assigned-secret"
    if assigned and word in _CHOSEN and letters.is_chosen(value):
        return "assigned-password"
    return ""
