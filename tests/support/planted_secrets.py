"""Fake secrets made from a seed, and texts that hold them or only seem to."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import uuid
from collections.abc import Callable
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits

WORD_CHARS = ascii_letters + digits
URL_CHARS = WORD_CHARS + "-_"


def _random_chars(alphabet: str, count: int) -> Callable[[random.Random], str]:
    return lambda rng: "".join(rng.choices(alphabet, k=count))


def _prefixed_key(prefix: str, alphabet: str, count: int) -> Callable[[random.Random], str]:
    return lambda rng: prefix + "".join(rng.choices(alphabet, k=count))


def _fake_jwt(rng: random.Random) -> str:
    parts = ({"alg": "HS256", "typ": "JWT"}, {"sub": rng.random(), "iat": rng.randrange(10**9)})
    coded = [base64.urlsafe_b64encode(json.dumps(part).encode()) for part in parts]
    coded.append(base64.urlsafe_b64encode(rng.randbytes(32)))
    return b".".join(part.rstrip(b"=") for part in coded).decode()


def _fake_slack_token(rng: random.Random) -> str:
    numbers = rng.randrange(10**11, 10**12), rng.randrange(10**12)
    return f"xoxb-{numbers[0]}-{numbers[1]}-{_random_chars(WORD_CHARS, 24)(rng)}"


SECRET_MAKERS: dict[str, Callable[[random.Random], str]] = {
    "aws-access-key": _prefixed_key("AKIA", ascii_uppercase + "234567", 16),
    "github-token": _prefixed_key("ghp_", WORD_CHARS, 36),
    "github-token fine": _prefixed_key("github_pat_", WORD_CHARS + "_", 82),
    "gitlab-token": _prefixed_key("glpat-", URL_CHARS, 20),
    "model-api-key": _prefixed_key("sk-", WORD_CHARS, 48),
    "model-api-key project": _prefixed_key("sk-proj-", URL_CHARS, 120),
    "model-api-key ant": _prefixed_key("sk-ant-api03-", URL_CHARS, 95),
    "slack-token": _fake_slack_token,
    "google-api-key": _prefixed_key("AIza", URL_CHARS, 35),
    "stripe-key": _prefixed_key("sk_live_", WORD_CHARS, 24),
    "npm-token": _prefixed_key("npm_", WORD_CHARS, 36),
    "huggingface-token": _prefixed_key("hf_", ascii_letters, 34),
    "jwt": _fake_jwt,
}


def fake_private_key(rng: random.Random) -> str:
    """Return a private key in PEM, which is none."""
    kind = rng.choice(("RSA ", "EC ", "OPENSSH ", ""))
    body = base64.encodebytes(rng.randbytes(rng.randrange(100, 1200))).decode()
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{body}-----END {kind}PRIVATE KEY-----"


def _fake_password(rng: random.Random) -> str:
    return (
        rng.choice(ascii_letters)
        + _random_chars(ascii_lowercase, 5)(rng)
        + _random_chars(digits, 2)(rng)
    )


_NAMED_SECRETS: tuple[tuple[str, Callable[[random.Random], str]], ...] = (
    ("AWS_SECRET_ACCESS_KEY={}", _random_chars(WORD_CHARS + "+/", 40)),
    ('aws_secret_access_key = "{}"', _random_chars(WORD_CHARS + "+/", 40)),
    ("API_KEY={}", _random_chars(WORD_CHARS, 32)),
    ("api_key: {}", _random_chars("0123456789abcdef", 32)),
    ('"apiKey": "{}",', _random_chars(WORD_CHARS, 40)),
    ("export AUTH_TOKEN='{}'", _random_chars(URL_CHARS, 43)),
    ("Authorization: Bearer {}", _random_chars(WORD_CHARS, 40)),
    ("DB_PASSWORD={}", _fake_password),
    ("password: {}", _fake_password),
    ('"password": "{}"', _fake_password),
    ("The API key is {}.", _random_chars(WORD_CHARS, 32)),
    ("| token | `{}` |", _random_chars(WORD_CHARS, 40)),
    ("CLIENT_SECRET={}", _random_chars(URL_CHARS, 40)),
    ("private_key = 0x{}", _random_chars("0123456789abcdef", 64)),
    ("PRIVATE_KEY={}", _random_chars("0123456789abcdef", 64)),
    ("DATABASE_URL=postgres://app:{}@db.internal:5432/app", _fake_password),
)
_SURROUNDING_TEXTS = (
    "Use {} for that.",
    "{}",
    "- key: `{}`",
    '{{"text": "remember {}", "at": 3}}',
    "    {}",
)


def text_with_secret(rng: random.Random) -> str:
    """Return a line, or a few, that hold a secret of some kind in some disguise."""
    kind = rng.randrange(5)
    if kind == 0:
        return (
            fake_private_key(rng)
            if rng.random() < 0.5
            else json.dumps({"key": fake_private_key(rng)})
        )
    if kind == 1:
        form, make = rng.choice(_NAMED_SECRETS)
        return form.format(make(rng))
    secret = rng.choice(list(SECRET_MAKERS.values()))(rng)
    if kind == 2:
        return rng.choice(_SURROUNDING_TEXTS).format(secret)
    if kind == 3:
        coded = base64.b64encode((rng.choice(("", "key=", "a ")) + secret).encode()).decode()
        return rng.choice(_SURROUNDING_TEXTS).format(coded)
    cut = rng.randrange(2, len(secret) - 1)
    glue = rng.choice(("\n", "\\\n", '" +\n    "', "\n    ", "\n> ", "\r\n"))
    return f"The key:\n{secret[:cut]}{glue}{secret[cut:]}\nThat was it."


_HARMLESS_TEXTS: tuple[Callable[[random.Random], str], ...] = (
    lambda rng: f"commit {rng.randbytes(20).hex()}",
    lambda rng: f"sha256: {rng.randbytes(32).hex()}",
    lambda rng: f"cache_key: {rng.randbytes(16).hex()}",
    lambda rng: f"The key is {rng.randbytes(32).hex()[:12]}, a prefix.",
    lambda rng: f"token id {uuid.UUID(bytes=rng.randbytes(16))}",
    lambda rng: f"integrity: sha512-{base64.b64encode(rng.randbytes(64)).decode()}",
    lambda rng: f"![x](data:image/png;base64,{base64.b64encode(rng.randbytes(900)).decode()})",
    lambda rng: f"0x{hashlib.sha256(rng.randbytes(4)).hexdigest()[:40]} is the address",
    lambda rng: f"transaction 0x{rng.randbytes(32).hex()} was mined",
    lambda rng: f"https://example.org/{rng.randbytes(6).hex()}/path?key=value&page={rng.random()}",
    lambda rng: 'api_key = os.environ["SERVICE_API_KEY"]',
    lambda rng: "Set `API_KEY=<your-api-key>` or `export TOKEN=${TOKEN}` first.",
    lambda rng: "Authorization: Bearer YOUR_ACCESS_TOKEN",
    lambda rng: "OPENAI_API_KEY=sk-your-key-here, ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    lambda rng: "It begins with -----BEGIN PRIVATE KEY----- and ends alike.",
    lambda rng: "password: string; token?: string | undefined",
    lambda rng: "max_tokens: 4096, tokenizer: cl100k_base, model: claude-sonnet-4-20250514",
    lambda rng: "The secret of a good key is that the password must be at least 12 characters.",
    lambda rng: "postgres://user:password@localhost:5432/db or http://USER:PASS@host",
    lambda rng: "const accessToken = await getAccessTokenFromCookie(request)",
    lambda rng: "foreign_key: customer_account_id2, sort_key=created_at_2026",
    lambda rng: f"secretName: my-tls-{rng.randrange(9)}, secretKeyRef: db-secret-1",
    lambda rng: "risk-assessment-2026-framework-version-12 task-management-for-3-people-at-10",
    lambda rng: "| key | meaning |\n|-----|---------|\n| Ctrl+Shift+P | palette |",
    lambda rng: "token: abstract-syntax-tree-node-type; keys: ArrowUp, ArrowDown",
    lambda rng: f'<svg xmlns="http://www.w3.org/2000/svg"><path d="M{rng.random()}l3.5-2"/></svg>',
    lambda rng: "Run `gpg --recv-keys 0x" + rng.randbytes(8).hex().upper() + "`.",
    lambda rng: "ssh-ed25519 " + base64.b64encode(rng.randbytes(51)).decode() + " me@host",
)


def text_without_secret(rng: random.Random) -> str:
    """Return a line that looks as if it might hold a secret, and holds none."""
    return rng.choice(_HARMLESS_TEXTS)(rng)
