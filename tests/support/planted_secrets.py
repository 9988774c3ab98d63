"""Fake secrets of every rule, made from a seed, and texts that hold them."""

import base64
import json
import random
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


def _fake_slack_webhook(rng: random.Random) -> str:
    parts = (_random_chars(ascii_uppercase + digits, 10)(rng) for _ in range(2))
    path = "/".join(("T", *parts)).replace("T/", "T", 1).replace("/", "/B", 1)
    return f"hooks.slack.com/services/{path}/{_random_chars(WORD_CHARS, 24)(rng)}"


def _fake_slack_app_token(rng: random.Random) -> str:
    app = _random_chars(ascii_uppercase + digits, 10)(rng)
    return f"xapp-1-A{app}-{rng.randrange(10**12, 10**13)}-{rng.randbytes(32).hex()}"


def _fake_azure_secret(rng: random.Random) -> str:
    return f"{_random_chars(WORD_CHARS, 3)(rng)}8Q~{_random_chars(URL_CHARS + '.', 34)(rng)}"


def _fake_sendgrid_key(rng: random.Random) -> str:
    return f"SG.{_random_chars(URL_CHARS, 22)(rng)}.{_random_chars(URL_CHARS, 43)(rng)}"


def _fake_telegram_token(rng: random.Random) -> str:
    return f":AA{_random_chars(URL_CHARS, 33)(rng)}"


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
    "model-api-key xai": _prefixed_key("xai-", WORD_CHARS, 80),
    "model-api-key groq": _prefixed_key("gsk_", WORD_CHARS, 52),
    "slack-token app": _fake_slack_app_token,
    "slack-webhook": _fake_slack_webhook,
    "google-oauth": _prefixed_key("GOCSPX-", URL_CHARS, 28),
    "google-oauth access": _prefixed_key("ya29.a0", URL_CHARS, 160),
    "stripe-key": _prefixed_key("sk_live_", WORD_CHARS, 24),
    "stripe-key restricted": _prefixed_key("rk_live_", WORD_CHARS, 99),
    "stripe-key webhook": _prefixed_key("whsec_", WORD_CHARS, 32),
    "npm-token": _prefixed_key("npm_", WORD_CHARS, 36),
    "huggingface-token": _prefixed_key("hf_", ascii_letters, 34),
    "pypi-token": _prefixed_key("pypi-AgEIcHlwaS5vcmc", URL_CHARS, 140),
    "sendgrid-key": _fake_sendgrid_key,
    "digitalocean-token": _prefixed_key("dop_v1_", "0123456789abcdef", 64),
    "grafana-token": _prefixed_key("glsa_", WORD_CHARS, 41),
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


NAMED_SECRETS: tuple[tuple[str, Callable[[random.Random], str]], ...] = (
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
    ("TELEGRAM=123456789{}", _fake_telegram_token),
    ("curl -u admin --password={} https://db.internal", _fake_password),
    ("const clientSecret = '{}';", _random_chars(WORD_CHARS, 32)),
    ("ACCESS_TOKEN: {}", _random_chars(WORD_CHARS, 20)),
    ('{{"accessToken":"{}","expires":3600}}', _random_chars(URL_CHARS, 64)),
    ("-H 'x-api-key: {}'", _random_chars(WORD_CHARS, 24)),
    ("redis://:{}@cache.internal:6379/0", _random_chars(WORD_CHARS, 20)),
    ('webhook_secret: "{}"', _random_chars("0123456789abcdef", 40)),
    ("  client_secret: {} # prod", _fake_azure_secret),
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
    kind = rng.randrange(4)
    if kind == 0:
        return (
            fake_private_key(rng)
            if rng.random() < 0.5
            else json.dumps({"key": fake_private_key(rng)})
        )
    if kind == 1:
        form, make = rng.choice(NAMED_SECRETS)
        return form.format(make(rng))
    secret = rng.choice(list(SECRET_MAKERS.values()))(rng)
    if kind == 2:
        return rng.choice(_SURROUNDING_TEXTS).format(secret)
    coded = base64.b64encode((rng.choice(("", "key=", "a ")) + secret).encode()).decode()
    return rng.choice(_SURROUNDING_TEXTS).format(coded)
