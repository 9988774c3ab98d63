"""Addresses of model endpoints, and the files that hold their keys."""

from __future__ import annotations

import ipaddress
import os
import re
from urllib.parse import urlsplit

from ..errors import InvalidInput, printable_text

MAX_API_KEY_BYTES = 16 << 10
_LOCAL_NAMES = ("localhost", "ip6-localhost")
_KEY_PATTERN = re.compile(r"[!-~]+", re.ASCII)
_VISIBLE_PATTERN = re.compile(r"[!-~]{1,200}", re.ASCII)


def find_url_fault(url: str) -> str:
    """Say what is wrong with an address: it is none, holds a key, or others could listen.

    "" if nothing is.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return "is not an address"
    if parts.scheme not in ("http", "https") or not host or not _VISIBLE_PATTERN.fullmatch(url):
        return "is not an address such as http://localhost:11434/v1"
    if "@" in parts.netloc or parts.query or parts.fragment:
        return "holds more than an address: keys belong into a file"
    if parts.scheme == "http" and not is_private_host(host):
        return "is http beyond this network, where others could listen: use https"
    return ""


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host in _LOCAL_NAMES


def is_private_host(host: str) -> bool:
    """Tell whether a host is this machine or of a private network."""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return host in _LOCAL_NAMES


def read_key_file(path: str, owner: str, command: str) -> str:
    """Return the key in a file, which nobody else may read.

    `whose` and `command` are for messages: of what it is the key, and what names its
    file. Raises `InvalidInput` (`no_key`, `key_readable`).
    """
    try:
        with open(path, "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read(MAX_API_KEY_BYTES + 1)
    except OSError as error:
        raise InvalidInput(
            f"the key of {owner} cannot be read: {error.strerror}: {printable_text(path)}",
            code="no_key",
            hint=f"name its file with `{command} --key-file FILE`",
        ) from error
    if mode & 0o077:
        raise InvalidInput(
            f"others may read the key of {owner}: {printable_text(path)}",
            code="key_readable",
            hint="chmod 600 that file",
        )
    key = data.decode("ascii", "replace").strip()
    if len(data) > MAX_API_KEY_BYTES or not _KEY_PATTERN.fullmatch(key):
        raise InvalidInput(f"that file holds no key: {printable_text(path)}", code="no_key")
    return key
