"""Endpoints that a user names: their addresses, and the files with their keys."""

from __future__ import annotations

import ipaddress
import os
import re
from urllib.parse import urlsplit

from .errors import InvalidInput, printable

MAX_KEY_BYTES = 16 << 10
_LOCAL = ("localhost", "ip6-localhost")
_KEY = re.compile(r"[!-~]+", re.ASCII)
_VISIBLE = re.compile(r"[!-~]{1,200}", re.ASCII)


def fault(url: str) -> str:
    """Say what is wrong with an address: it is none, holds a key, or others could listen.

    "" if nothing is.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return "is not an address"
    if parts.scheme not in ("http", "https") or not host or not _VISIBLE.fullmatch(url):
        return "is not an address such as http://localhost:11434/v1"
    if "@" in parts.netloc or parts.query or parts.fragment:
        return "holds more than an address: keys belong into a file"
    if parts.scheme == "http" and not is_near(host):
        return "is http beyond this network, where others could listen: use https"
    return ""


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host in _LOCAL


def is_near(host: str) -> bool:
    """Tell whether a host is this machine or of a private network."""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return host in _LOCAL


def read_key(path: str, whose: str, command: str) -> str:
    """Return the key in a file, which nobody else may read.

    `whose` and `command` are for messages: of what it is the key, and what names its
    file. Raises `InvalidInput` (`no_key`, `key_readable`).
    """
    try:
        with open(path, "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read(MAX_KEY_BYTES + 1)
    except OSError as error:
        raise InvalidInput(
            f"the key of {whose} cannot be read: {error.strerror}: {printable(path)}",
            code="no_key",
            hint=f"name its file with `{command} --key-file FILE`",
        ) from error
    if mode & 0o077:
        raise InvalidInput(
            f"others may read the key of {whose}: {printable(path)}",
            code="key_readable",
            hint="chmod 600 that file",
        )
    key = data.decode("ascii", "replace").strip()
    if len(data) > MAX_KEY_BYTES or not _KEY.fullmatch(key):
        raise InvalidInput(f"that file holds no key: {printable(path)}", code="no_key")
    return key
