"""Secrets that are known by their shape: what issuers begin their keys with, and PEM.

Shapes as the issuers document them, and as secret scanners of public repositories
know them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from . import letters
from .expression import expression

_WORD = rb"[A-Za-z0-9]"
_URL = rb"[A-Za-z0-9_-]"
_SHAPES: tuple[tuple[str, bytes, bytes], ...] = (
    ("aws-access-key", b"AKIA", rb"[A-Z0-9]{16}"),
    ("aws-access-key", b"ASIA", rb"[A-Z0-9]{16}"),
    ("github-token", b"ghp_", rb"%b{36,255}" % _WORD),
    ("github-token", b"gho_", rb"%b{36,255}" % _WORD),
    ("github-token", b"ghu_", rb"%b{36,255}" % _WORD),
    ("github-token", b"ghs_", rb"%b{36,255}" % _WORD),
    ("github-token", b"ghr_", rb"%b{36,255}" % _WORD),
    ("github-token", b"github_pat_", rb"[A-Za-z0-9_]{22,255}"),
    ("gitlab-token", b"glpat-", rb"%b{20,255}" % _URL),
    ("model-api-key", b"sk-", rb"%b{20,255}" % _URL),
    ("model-api-key", b"xai-", rb"%b{40,128}" % _WORD),
    ("model-api-key", b"gsk_", rb"%b{40,128}" % _WORD),
    ("model-api-key", b"pplx-", rb"%b{40,128}" % _WORD),
    ("huggingface-token", b"hf_", rb"%b{30,64}" % _WORD),
    ("slack-token", b"xox", rb"[abcdeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,255}"),
    ("slack-token", b"xapp-", rb"[A-Za-z0-9-]{20,255}"),
    ("slack-webhook", b"hooks.slack.com/services/", rb"[A-Za-z0-9_/]{30,100}"),
    ("google-api-key", b"AIza", rb"%b{35}" % _URL),
    ("google-oauth", b"GOCSPX-", rb"%b{20,64}" % _URL),
    ("google-oauth", b"ya29.", rb"%b{20,512}" % _URL),
    ("stripe-key", b"sk_live_", rb"%b{16,255}" % _WORD),
    ("stripe-key", b"sk_test_", rb"%b{16,255}" % _WORD),
    ("stripe-key", b"rk_live_", rb"%b{16,255}" % _WORD),
    ("stripe-key", b"rk_test_", rb"%b{16,255}" % _WORD),
    ("stripe-key", b"whsec_", rb"[A-Za-z0-9+/=]{24,255}"),
    ("npm-token", b"npm_", rb"%b{36}" % _WORD),
    ("pypi-token", b"pypi-", rb"%b{50,255}" % _URL),
    ("sendgrid-key", b"SG.", rb"%b{16,32}\.%b{32,64}" % (_URL, _URL)),
    ("digitalocean-token", b"dop_v1_", rb"[a-f0-9]{64}"),
    ("grafana-token", b"glsa_", rb"[A-Za-z0-9_]{32,64}"),
    ("telegram-token", b":AA", rb"(?<=[0-9]{8}:AA)[A-Za-z0-9_-]{32,35}"),
    ("url-password", b"://", rb"[^\s/:@\"'<>{}$]{1,64}:(?![/$<{*])[^\s/:@\"'<>{}$*]{5,128}@"),
)
_TOKEN_START = b"eyJ"
_TOKEN_MIDDLE = b".eyJ"
_TOKEN_HEAD = 4096
"""Bytes of the first of the three parts of a web token, at most."""
_TOKEN_BEGIN = expression(rb"(?<![A-Za-z0-9])eyJ")
_TOKEN = expression(rb"eyJ%b{8,%d}\.eyJ%b{4,8192}\.%b{16,2048}" % (_URL, _TOKEN_HEAD, _URL, _URL))
_URL_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
_PEM = b"PRIVATE KEY"
_PEM_BODY = expression(
    rb"(?: BLOCK)?-----(?:\\r|\\n|[^A-Za-z0-9+/=]){0,40}(?:(?:Proc-Type|DEK-Info|Version|Comment)"
    rb"[^\n\\]{0,100}(?:\\r|\\n|\s|[>#*\"'|]){1,20}){0,4}([A-Za-z0-9+/=]{16,80})"
)
_ANCHORS = (*(anchor for _, anchor, _ in _SHAPES), _TOKEN_START)
_NO_DIGIT = (b"AKIA", b"ASIA", b"hf_", b"glpat-", b"k_live_", b"k_test_")
"""What begins keys that are so short that one in fifty or more has no digit."""
_OPEN = {b":AA", b"://"}
"""What may stand in the middle of a word."""
_ALSO_WORDS = {"model-api-key", "slack-token", "pypi-token"}
"""Rules under which words with hyphens between them could fall."""
_NOT_MEANT = expression(rb"(?i)example\.|your[-_]|placeholder|password@|user:pass|xxxx|\.\.\.")


_PUTTY = b"Private-Lines:"
_PUTTY_BODY = expression(rb"Private-Lines: {0,4}[0-9]{1,4}\r?\n([A-Za-z0-9+/=]{16,80})")
_KEYSTORE = b"kdf"
_KEYSTORE_BODY = expression(
    rb"(?:ciphertext|aes-[0-9]{3}-[a-z]{3}[^{}]{0,40}\{[^{}]{0,200}\}[^{}]{0,80}message)"
    rb"\\?\"\s{0,40}:\s{0,40}\\?\"(?:0x)?([0-9a-fA-F]{32,4096})"
)
_KEYSTORE_CHECK = expression(rb"\\?\"(?:mac|checksum)\\?\"\s{0,40}:")
_KEYSTORE_BYTES = 4096
"""How far from the name of its function the key in a keystore stands."""


class Hit(NamedTuple):
    """A secret, and where it stands: `start` and `stop` in bytes."""

    rule: str
    start: int
    stop: int
    secret: bytes


def scan(text: bytes, long: list[bytes]) -> Iterator[Hit]:
    """Yield the secrets of a known shape; `long` are long words of `text` that may be some."""
    yield from _keys_in_pem(text)
    yield from _keys_in_keystores(text)
    if any_in(b"\n".join(long)) or _any_of(_NO_DIGIT, text):
        yield from named(text)


def any_in(text: bytes) -> bool:
    """Tell whether anything in `text` begins as a secret of a known shape does."""
    return _any_of(_ANCHORS, text)


def _any_of(anchors: tuple[bytes, ...], text: bytes) -> bool:
    for anchor in anchors:  # noqa: SIM110  # `any` of a generator takes twice as long
        if anchor in text:
            return True
    return False


def named(text: bytes) -> Iterator[Hit]:
    """Yield what begins as the keys of an issuer do, and goes on so."""
    for (rule, anchor, _), pattern in zip(_SHAPES, _patterns(), strict=True):
        at = text.find(anchor)
        while at >= 0:
            match = pattern.match(text, at)
            if match and _is_meant(rule, match[0]):
                yield Hit(rule, at, match.end(), match[0])
            at = text.find(anchor, match.end() if match else at + len(anchor))
    yield from _web_tokens(text)


def _web_tokens(text: bytes) -> Iterator[Hit]:
    """Yield JSON web tokens, from their middle: what only begins as one may go on for long."""
    at, end = text.find(_TOKEN_MIDDLE), 0
    while at >= 0:
        least = max(end, at - _TOKEN_HEAD - len(_TOKEN_START))
        run = least + len(text[least:at].rstrip(_URL_BYTES))
        begin = _TOKEN_BEGIN().search(text, run, at)
        match = _TOKEN().match(text, begin.start()) if begin else None
        if match:
            end = match.end()
            if _is_meant("jwt", match[0]):
                yield Hit("jwt", match.start(), end, match[0])
        at = text.find(_TOKEN_MIDDLE, max(at + 1, end))


@cache
def _patterns() -> list[re.Pattern[bytes]]:
    """Return the expressions, made when something has to be looked at."""
    return [
        re.compile((b"" if anchor in _OPEN else rb"(?<![A-Za-z0-9])") + re.escape(anchor) + rest)
        for _, anchor, rest in _SHAPES
    ]


def _is_meant(rule: str, secret: bytes) -> bool:
    """Tell a key from what stands for one in a text: `sk-your-key-here`, `ghp_xxxxxxxx`."""
    if rule == "url-password":
        return _NOT_MEANT().search(secret) is None and len(set(secret)) > 6
    if rule == "slack-webhook":
        return len(set(secret)) > 20
    if rule in _ALSO_WORDS and not letters.is_random(secret):
        return False
    return len(set(secret)) > 9


def _keys_in_pem(text: bytes) -> Iterator[Hit]:
    """Yield private keys between BEGIN and END lines; the line alone is no key."""
    at = text.find(_PEM)
    while at >= 0:
        end = at + len(_PEM)
        match = _PEM_BODY().match(text, end)
        begin = text.rfind(b"-----BEGIN ", max(0, at - 40), at)
        if match and begin >= 0 and len(set(match[1])) > 4:
            yield Hit("private-key", begin, match.end(), match[1])
            end = match.end()
        at = text.find(_PEM, end)
    at = text.find(_PUTTY)
    while at >= 0:
        match = _PUTTY_BODY().match(text, at)
        if match and len(set(match[1])) > 4:
            yield Hit("private-key", at, match.end(), match[1])
        at = text.find(_PUTTY, at + len(_PUTTY))


def _keys_in_keystores(text: bytes) -> Iterator[Hit]:
    """Yield encrypted keys of Ethereum: keystores of version 3, and of EIP-2335.

    Whoever has one needs only the password, which a person may have chosen.
    """
    at, end = text.find(_KEYSTORE), 0
    while at >= 0:
        near = text[max(end, at - _KEYSTORE_BYTES) : at + _KEYSTORE_BYTES]
        match = _KEYSTORE_BODY().search(near)
        if match and _KEYSTORE_CHECK().search(near):
            start = max(end, at - _KEYSTORE_BYTES)
            end = start + match.end()
            yield Hit("keystore", start + match.start(), end, match[1])
            at = text.find(_KEYSTORE, max(at + len(_KEYSTORE), end))
        else:
            at = text.find(_KEYSTORE, at + _KEYSTORE_BYTES // 2)
