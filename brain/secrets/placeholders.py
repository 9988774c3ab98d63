"""Recognise values that stand for a secret: placeholders, examples, and known public values."""

from __future__ import annotations

import binascii
from itertools import pairwise

from ..util.text import lazy_pattern

_PLACEHOLDER = lazy_pattern(
    rb"(?i)(?<![a-z0-9])(?:your?|my|the|some|test|todo)(?![a-z0-9])|insert|replace"
    rb"|example|placeholder|change[_-]?me|dummy|sample|redacted|fake|abc123|(?-i:x{5}|X{5})"
    rb"|\*\*\*|\.\.\.|\xe2\x80\xa6|process\.env|environ|getenv|env\.|([^A])\1{5}"
    rb"|0x[a-z0-9]*(?:address|key|contract|token|recipient|wallet)"
)
_EXAMPLE_WORD = lazy_pattern(
    rb"(?i)passwo?r?d?|p[a4@][s5$][s5$]|secret|test|admin|qwerty|asdf|letmein|welcome|hunter|demo|user"
    rb"|login|foo|bar\b|abc|123|default|root|guest|secure|strong|super|local|temp|hello|dev\b|prod\b"
    rb"|(?:19|20)[0-9]{2}|my|your|new|key"
)
"""Words of which documents make example passwords."""
_MAX_OTHER_CHARS = 4
"""The most characters of an example password beside such words."""
_SIMPLE_PASSWORD = lazy_pattern(
    rb"(?i)[a-z]+[@_-]?(?:(?:19|20)[0-9]{2}|1234?5?)[!?]?\Z"
    rb"|.*(?:base(?:32|58|64)|b64|sha(?:1|256|384|512)|md5|argon2|utf|oauth|ed25519)"
)
"""A word with a year or `123`, and names of algorithms."""
_LOOKALIKES = bytes.maketrans(b"013457@$!", b"oieastasi")
"""Digits and signs in place of letters, as in `s3cur3`."""
_MIN_STEPS = 5
"""Steps of a sequence such as `abcdef`, `654321` and `a1b2c3d4e5f6`."""
_MIN_BASE64_CHARS = 16
"""Shorter values are base64 of some text by chance."""
_KNOWN_VALUES = {b"JBSWY3DPEHPK3PXP", b"MFRGGZDFMZTWQ2LK"}
"""Keys that documents of one-time passwords give as examples."""
_JWT_HEAD = lazy_pattern(rb"ey(?:JhbGciOi|J0eXAiOi|AiYWxnIj)[A-Za-z0-9_-]*\Z")
"""The first part of a JSON web token alone, which is the same in all of them."""


def is_placeholder(value: bytes) -> bool:
    """Tell whether a value stands for a secret, as `your-key-here` and `sk_live_xxxx` do."""
    return (
        _PLACEHOLDER().search(value) is not None
        or any(map(_has_sequence, (value, value[::2], value[1::2])))
        or value in _KNOWN_VALUES
        or _JWT_HEAD().match(value) is not None
    )


def is_weak_password(value: bytes) -> bool:
    """Tell whether a password, which may be in base64, is one that documents give as an example."""
    forms = (value, value.translate(_LOOKALIKES), decode_text(value, 0) or b"")
    return _SIMPLE_PASSWORD().match(value) is not None or any(map(_is_made_of_example_words, forms))


def _is_made_of_example_words(text: bytes) -> bool:
    rest, count = _EXAMPLE_WORD().subn(b"", text)
    return count > 0 and len(rest) <= _MAX_OTHER_CHARS


def decode_text(value: bytes, min_chars: int = _MIN_BASE64_CHARS) -> bytes | None:
    """Return the text that a value is the base64 of, None if it is not."""
    if len(value) % 4 or len(value) < min_chars:
        return None
    try:
        text = binascii.a2b_base64(value, strict_mode=True)
    except binascii.Error:
        return None
    return text if text.isascii() and text.decode().isprintable() else None


def _has_sequence(value: bytes) -> bool:
    """Tell whether a value counts up or down, in letters or digits."""
    steps = last = 0
    for one, other in pairwise(value.lower()):
        step = other - one
        steps = steps + 1 if step == last else 1
        last = step
        if steps >= _MIN_STEPS and step in (-1, 1):
            return True
    return False
