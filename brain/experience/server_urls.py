"""URLs of databases: what is allowed, and how messages name them without their secrets."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from ..errors import InvalidInput, printable_text

URL_HINT = (
    "such as postgresql+psycopg://host/database or postgresql+psycopg:///database?host=/run/folder"
)
_SCHEMES = ("postgresql", "postgresql+psycopg", "sqlite")
_MAX_URL_CHARS = 2000


def find_server_url_fault(url: str) -> str:
    """Return the fault of a URL, "" if there is none; it says nothing of what the URL holds."""
    try:
        parts = urlsplit(url)
        _ = parts.hostname, parts.port
    except ValueError:
        return "is not a URL"
    if len(url) > _MAX_URL_CHARS or not url.isprintable():
        return "is too long, or not printable"
    return "" if parts.scheme in _SCHEMES else f"does not begin with {', '.join(_SCHEMES)}"


def describe_url(url: str) -> str:
    """Return kind, host and database of a URL; never the user, the password or other options."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or "".join(parse_qs(parts.query).get("host", [])[:1])
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "the server"
    place = f"{host}{port}" if host else "this machine"
    name = parts.path.removeprefix("/")
    kind = parts.scheme.partition("+")[0]
    return printable_text(f"{kind} {name} on {place}" if name else f"{kind} on {place}")


def bad_url_error(problem: str) -> InvalidInput:
    """Return the error for a URL that cannot be used; `problem` holds no part of a password."""
    return InvalidInput(problem, code="bad_experience_url", hint=f"write a URL {URL_HINT}")
