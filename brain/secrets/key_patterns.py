"""Find secrets by their format: key prefixes of issuers, PEM, JSON web tokens, keystores.

The formats are those that issuers document and that public secret scanners use. Also here: what a
hit is, and what tells a random value from words, and a secret from a placeholder.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from ..named_tuple import NamedTuple
from ..util.text import lazy_pattern

CERTAIN = "certain"
"""The format leaves no doubt: the prefix and length of an issuer, or the body of a private key."""
DOUBTFUL = "doubtful"
"""A keyword or the look of a value speaks for it; such a finding can be wrong."""
EXAMPLE = "example"
"""A password as documents give it. It is masked in a text that is stored, but not reported."""


class SecretHit(NamedTuple):
    """A secret with its rule, its place in bytes, and its grade: CERTAIN, DOUBTFUL or EXAMPLE."""

    rule: str
    start: int
    stop: int
    secret: bytes
    grade: str


_VALUE_PART = lazy_pattern(rb"[^-_./:@=]+")


def _byte_class(code: int) -> int:
    letter = bytes([code])
    if letter.isdigit():
        return ord("0")
    if letter.islower():
        return ord("a")
    return ord("A") if letter.isupper() else ord("!")


_BYTE_CLASSES = bytes(map(_byte_class, range(256)))


_COMMON_PAIRS = frozenset(
    group[0] + second
    for group in (
        "abcdgilmnprstuy baelou caehiklortu daeios eacdefglmnprstvx faeio geir haeio "
        "iacdefglmnoprstvz ke laeilostuy maeimop nacdegiost ocdlmnoprstuvw paeiloprt qu "
        "racdeikmnorstuy sacehiopstu taehiorstuy ueilmnprst vaei wio"
    ).split()
    for second in group[1:]
)
"""Pairs of letters that are more frequent in words than by chance: "ab", "ac", …, "wo"."""
_MIN_WORD_SCORE = -0.25
"""The least score per character of words and of names in code; random values have less."""


def is_random_value(value: bytes) -> bool:
    """Tell whether a part of the value is random: no words, nor a name made of words.

    It changes its character class more often than words do, and its letters do not follow
    one another as in words.
    """
    for part in _VALUE_PART().findall(value):
        kinds = part.translate(_BYTE_CLASSES)
        changes = sum(a != b for a, b in pairwise(kinds))
        least = max(3, len(part) // 5) if b"0" in kinds else 0.45 * len(part)
        if len(part) >= 8 and changes >= least and not looks_like_words(part):
            return True
    return False


def looks_like_words(part: bytes) -> bool:
    """Tell whether letters follow one another as in words or in names such as `privateKey`."""
    text = part.decode("latin-1")
    score = 0
    for one, other in pairwise(text):
        if one.isalpha() and other.isalpha():
            if one.islower() and other.isupper():
                score -= 1
            else:
                score += 1 if (one + other).lower() in _COMMON_PAIRS else -2
        elif one.isalpha() != other.isalpha():
            score -= 2
    return score >= _MIN_WORD_SCORE * len(text)


def is_password_like(value: bytes) -> bool:
    """Tell whether a part of the value mixes letters with digits, or both cases with signs."""
    for part in _VALUE_PART().findall(value):
        kinds = set(part.translate(_BYTE_CLASSES))
        has_digit = kinds & set(b"aA") and kinds & set(b"0")
        if len(part) >= 6 and part.isascii() and (has_digit or kinds >= set(b"aA!")):
            return True
    return False


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


_ALPHANUMERIC = rb"[A-Za-z0-9]"
_URL_SAFE = rb"[A-Za-z0-9_-]"
_KEY_FORMATS: tuple[tuple[str, bytes, bytes], ...] = (
    ("aws-access-key", b"AKIA ASIA", rb"[A-Z0-9]{16}"),
    ("github-token", b"ghp_ gho_ ghu_ ghs_ ghr_", rb"%b{36,255}" % _ALPHANUMERIC),
    ("github-token", b"github_pat_", rb"[A-Za-z0-9_]{22,255}"),
    ("gitlab-token", b"glpat-", rb"%b{20,255}" % _URL_SAFE),
    ("model-api-key", b"sk-", rb"%b{20,255}" % _URL_SAFE),
    ("model-api-key", b"xai- gsk_ pplx-", rb"%b{40,128}" % _ALPHANUMERIC),
    ("huggingface-token", b"hf_", rb"%b{30,64}" % _ALPHANUMERIC),
    ("slack-token", b"xox", rb"[abcdeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,255}"),
    ("slack-token", b"xapp-", rb"[A-Za-z0-9-]{20,255}"),
    ("slack-webhook", b"hooks.slack.com/services/", rb"[A-Za-z0-9_/]{30,100}"),
    ("google-api-key", b"AIza", rb"%b{35}" % _URL_SAFE),
    ("google-oauth", b"GOCSPX-", rb"%b{20,64}" % _URL_SAFE),
    ("google-oauth", b"ya29.", rb"%b{20,512}" % _URL_SAFE),
    ("stripe-key", b"sk_live_ sk_test_ rk_live_ rk_test_", rb"%b{16,255}" % _ALPHANUMERIC),
    ("stripe-key", b"whsec_", rb"[A-Za-z0-9+/=]{24,255}"),
    ("npm-token", b"npm_", rb"%b{36}" % _ALPHANUMERIC),
    ("pypi-token", b"pypi-", rb"%b{50,255}" % _URL_SAFE),
    ("sendgrid-key", b"SG.", rb"%b{16,32}\.%b{32,64}" % (_URL_SAFE, _URL_SAFE)),
    ("digitalocean-token", b"dop_v1_", rb"[a-f0-9]{64}"),
    ("grafana-token", b"glsa_", rb"[A-Za-z0-9_]{32,64}"),
    ("telegram-token", b":AA", rb"(?<=[0-9]{8}:AA)[A-Za-z0-9_-]{32,35}"),
    ("url-password", b"://", rb"[^\s/:@\"'<>{}$]{0,64}:(?![/$<{*])[^\s/:@\"'<>{}$*]{5,128}@"),
)
"""Rules, the prefixes of their keys, and the pattern of the rest."""
_KEY_PATTERNS = [
    (rule, prefix, rest) for rule, prefixes, rest in _KEY_FORMATS for prefix in prefixes.split()
]
_JWT_START = b"eyJ"
_JWT_MIDDLE = b".eyJ"
_MAX_JWT_HEADER_BYTES = 4096
"""The most bytes of the first part of a JSON web token (RFC 7519)."""
_JWT_BEGIN = lazy_pattern(rb"(?<![A-Za-z0-9])eyJ")
_JWT = lazy_pattern(
    rb"eyJ%b{8,%d}\.eyJ%b{4,8192}\.%b{16,2048}"
    % (_URL_SAFE, _MAX_JWT_HEADER_BYTES, _URL_SAFE, _URL_SAFE)
)
_PERCENT_ESCAPE = lazy_pattern(rb"%([0-9A-Fa-f]{2})")
_SAMPLE_CLAIMS = lazy_pattern(rb'(?i)"1234567890"|john doe|jane doe|example\.(?:com|org)')
_TO_STANDARD = bytes.maketrans(b"-_", b"+/")
_URL_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
_PEM_MARK = b"PRIVATE KEY"
_PEM_BODY = lazy_pattern(
    rb"(?: BLOCK)?-----(?:\\r|\\n|[^A-Za-z0-9+/=]){0,40}(?:(?:Proc-Type|DEK-Info|Version|Comment)"
    rb"[^\n\\]{0,100}(?:\\r|\\n|\s|[>#*\"'|]){1,20}){0,4}([A-Za-z0-9+/=]{16,80})"
)
_PEM_MARGIN = lazy_pattern(rb"\\[rn]|[^A-Za-z0-9+/=.]+")
"""What may be between the pieces of a body: line ends, also escaped, quotes and margins."""
_PEM_BODY_BYTES = 400
_MIN_PEM_BODY_CHARS = 60
"""The length of the shortest private key, one of Ed25519, in base64."""
_KEY_PREFIXES = (*(prefix for _, prefix, _ in _KEY_PATTERNS), _JWT_START)
_DIGITLESS_PREFIXES = (
    b"AKIA",
    b"ASIA",
    b"hf_",
    b"glpat-",
    b"AIza",
    b"GOCSPX-",
    b"k_live_",
    b"k_test_",
)
"""Prefixes of keys so short that at least one in fifty has no digit."""
_MID_WORD_PREFIXES = {b":AA", b"://"}
"""Prefixes that may be in the middle of a word."""
_WORDLIKE_RULES = {"model-api-key", "slack-token", "pypi-token"}
"""Rules whose format hyphenated words may have."""
_PLACEHOLDER_URL = lazy_pattern(
    rb"(?i)example\.|your[-_]|placeholder|password@|user:pass|xxxx|\.\.\."
)


_DOUBTFUL_KEY = lazy_pattern(
    rb"[rs]k_test_|sk-(?!ant-|proj-|svcacct-|admin-|or-v1-|[A-Za-z0-9]{32,}\Z)"
)
"""Keys for tests, and keys of no issuer in particular."""
_AWS_SECRET = lazy_pattern(rb"(?<![A-Za-z0-9/+])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")
_AWS_PAIR_BYTES = 400
"""The largest distance between the two halves of an AWS key."""
_PUTTY_MARK = b"Private-Lines:"
_PUTTY_BODY = lazy_pattern(rb"Private-Lines: {0,4}[0-9]{1,4}\r?\n([A-Za-z0-9+/=]{16,80})")
_KEYSTORE_MARK = b"kdf"
_KEYSTORE_BODY = lazy_pattern(
    rb"(?:ciphertext|aes-[0-9]{3}-[a-z]{3}[^{}]{0,40}\{[^{}]{0,200}\}[^{}]{0,80}message)"
    rb"\\?\"\s{0,40}:\s{0,40}\\?\"(?:0x)?([0-9a-fA-F]{32,4096})"
)
_KEYSTORE_CHECKSUM = lazy_pattern(rb"\\?\"(?:mac|checksum)\\?\"\s{0,40}:")
_KEYSTORE_WINDOW_BYTES = 4096
"""The largest distance of the encrypted key from the name of its key derivation function."""


def scan_key_patterns(text: bytes, words: list[bytes]) -> Iterator[SecretHit]:
    """Yield the secrets of a known format; `words` are the long ones of `text`."""
    yield from _scan_pem_keys(text)
    yield from _scan_keystores(text)
    if _contains_any(_KEY_PREFIXES, b"\n".join(words)) or _contains_any(_DIGITLESS_PREFIXES, text):
        yield from _scan_issuer_keys(text)


def _contains_any(prefixes: tuple[bytes, ...], text: bytes) -> bool:
    for prefix in prefixes:  # noqa: SIM110  # `any` of a generator takes twice as long
        if prefix in text:
            return True
    return False


def _scan_issuer_keys(text: bytes) -> Iterator[SecretHit]:
    """Yield the keys of known issuers."""
    for (rule, prefix, _), pattern in zip(_KEY_PATTERNS, _compiled_patterns(), strict=True):
        at = text.find(prefix)
        while at >= 0:
            match = pattern.match(text, at)
            if match and _is_genuine(rule, match[0]):
                yield SecretHit(rule, at, match.end(), match[0], _grade_key(rule, match))
            at = text.find(prefix, match.end() if match else at + len(prefix))
    yield from _scan_jwts(text)


def _scan_jwts(text: bytes) -> Iterator[SecretHit]:
    """Yield JSON web tokens, searched by their middle to keep the time linear."""
    at, end = text.find(_JWT_MIDDLE), 0
    while at >= 0:
        least = max(end, at - _MAX_JWT_HEADER_BYTES - len(_JWT_START))
        run = least + len(text[least:at].rstrip(_URL_BYTES))
        begin = _JWT_BEGIN().search(text, run, at)
        match = _JWT().match(text, begin.start()) if begin else None
        if match:
            end = match.end()
            if _is_genuine("jwt", match[0]) and not _is_sample_jwt(match[0]):
                yield SecretHit("jwt", match.start(), end, match[0], CERTAIN)
        at = text.find(_JWT_MIDDLE, max(at + 1, end))


def _is_sample_jwt(token: bytes) -> bool:
    """Tell whether a token is for the person or the number that documents use."""
    payload = token.split(b".")[1]
    claims = binascii.a2b_base64(payload.translate(_TO_STANDARD) + b"==")
    return _SAMPLE_CLAIMS().search(claims) is not None


@cache
def _compiled_patterns() -> list[re.Pattern[bytes]]:
    return [
        re.compile(before + re.escape(prefix) + rest)
        for _, prefix, rest in _KEY_PATTERNS
        for before in [b"" if prefix in _MID_WORD_PREFIXES else rb"(?<![A-Za-z0-9])"]
    ]


def _is_genuine(rule: str, secret: bytes) -> bool:
    """Tell a key from a placeholder such as `sk-your-key-here` or `ghp_xxxxxxxx`."""
    if rule == "url-password":
        return _is_url_password(secret)
    if rule == "slack-webhook":
        return len(set(secret)) > 20
    if is_placeholder(secret):
        return False
    if rule in _WORDLIKE_RULES and not is_random_value(secret):
        return False
    return len(set(secret)) > 9


def _is_url_password(found: bytes) -> bool:
    """Tell a password in a URL from a port, a placeholder and an example."""
    _, password = _split_url_user(found)
    if _PLACEHOLDER_URL().search(found) or password.isdigit() or len(set(found)) <= 6:
        return False
    is_chosen = is_password_like(password) or not looks_like_words(password)
    return is_chosen and not is_placeholder(password)


def _split_url_user(found: bytes) -> tuple[bytes, bytes]:
    """Return the user and the password in `://user:password@`, without percent escapes."""
    user, _, password = found.removeprefix(b"://").removesuffix(b"@").partition(b":")
    return user, _PERCENT_ESCAPE().sub(lambda escape: bytes.fromhex(escape[1].decode()), password)


def _grade_key(rule: str, match: re.Match[bytes]) -> str:
    """Return the grade of a key; the id of an AWS key counts only with the secret near it."""
    if rule == "aws-access-key":
        start, stop = match.start() - _AWS_PAIR_BYTES, match.end() + _AWS_PAIR_BYTES
        near = _AWS_SECRET().finditer(match.string[max(start, 0) : stop])
        has_secret = any(is_random_value(secret[0]) for secret in near)
        return CERTAIN if has_secret else DOUBTFUL
    if rule == "url-password":
        user, password = _split_url_user(match[0])
        is_example = is_weak_password(password) or (user and user in password)
        return EXAMPLE if is_example else DOUBTFUL
    return DOUBTFUL if _DOUBTFUL_KEY().match(match[0]) else CERTAIN


def _scan_pem_keys(text: bytes) -> Iterator[SecretHit]:
    """Yield private keys in PEM (RFC 7468) and PuTTY's format; a BEGIN line alone is not one."""
    at = text.find(_PEM_MARK)
    while at >= 0:
        end = at + len(_PEM_MARK)
        match = _PEM_BODY().match(text, end)
        begin = text.rfind(b"-----BEGIN ", max(0, at - 40), at)
        if match and begin >= 0 and _is_pem_body(text, match):
            yield SecretHit("private-key", begin, match.end(), match[1], CERTAIN)
            end = match.end()
        at = text.find(_PEM_MARK, end)
    at = text.find(_PUTTY_MARK)
    while at >= 0:
        match = _PUTTY_BODY().match(text, at)
        if match and len(set(match[1])) > 4:
            yield SecretHit("private-key", at, match.end(), match[1], CERTAIN)
        at = text.find(_PUTTY_MARK, at + len(_PUTTY_MARK))


def _is_pem_body(text: bytes, match: re.Match[bytes]) -> bool:
    """Tell the base64 of a private key from an abbreviated one and from other text."""
    near = text[match.start(1) : match.start(1) + _PEM_BODY_BYTES].partition(b"-----END")[0]
    body = _PEM_MARGIN().sub(b"", near)
    return (
        len(body) >= _MIN_PEM_BODY_CHARS
        and b"..." not in body
        and len(set(match[1])) > 4
        and not looks_like_words(match[1])
    )


def _scan_keystores(text: bytes) -> Iterator[SecretHit]:
    """Yield encrypted Ethereum keys: keystores of version 3 and of EIP-2335.

    Only a password, which may be weak, protects the key in them.
    """
    at, end = text.find(_KEYSTORE_MARK), 0
    while at >= 0:
        near = text[max(end, at - _KEYSTORE_WINDOW_BYTES) : at + _KEYSTORE_WINDOW_BYTES]
        match = _KEYSTORE_BODY().search(near)
        if match and _KEYSTORE_CHECKSUM().search(near):
            start = max(end, at - _KEYSTORE_WINDOW_BYTES)
            end = start + match.end()
            yield SecretHit("keystore", start + match.start(), end, match[1], CERTAIN)
            at = text.find(_KEYSTORE_MARK, max(at + len(_KEYSTORE_MARK), end))
        else:
            at = text.find(_KEYSTORE_MARK, at + _KEYSTORE_WINDOW_BYTES // 2)
