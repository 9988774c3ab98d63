"""Addresses of model endpoints, and the files that hold their keys."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from ..errors import InvalidInput, printable_text
from .secret_file import read_secret_file

MAX_API_KEY_BYTES = 16 << 10
_LOCAL_NAMES = ("localhost", "ip6-localhost")
_KEY_PATTERN = re.compile(r"[!-~]+", re.ASCII)
_VISIBLE_PATTERN = re.compile(r"[!-~]{1,200}", re.ASCII)


def find_url_fault(url: str) -> str:
    """Return the fault of an address, "" if there is none.

    It must be an address, contain no key, and be encrypted outside private networks.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return "is not an address"
    if parts.scheme not in ("http", "https") or not host or not _VISIBLE_PATTERN.fullmatch(url):
        return "is not an address such as http://localhost:11434/v1"
    if "@" in parts.netloc or parts.query or parts.fragment:
        return "contains more than an address: store keys in a file"
    if parts.scheme == "http" and not _is_private_host(host):
        return "is unencrypted and leaves this network: use https"
    return ""


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host in _LOCAL_NAMES


def _is_private_host(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return host in _LOCAL_NAMES


def read_key_file(path: str, owner: str, command: str) -> str:
    """Return the key in a file that only its owner may read.

    Messages contain the `owner` of the key, and the `command` that configures its file. Raises
    `InvalidInput` (`no_key`, `key_readable`).
    """
    try:
        data = read_secret_file(path, MAX_API_KEY_BYTES, f"the key of {owner}")
    except OSError as error:
        raise InvalidInput(
            f"the key of {owner} cannot be read from {printable_text(path)}: {error.strerror}",
            code="no_key",
            hint=f"name its file with `{command} --key-file FILE`",
        ) from error
    key = data.decode("ascii", "replace").strip()
    if len(data) > MAX_API_KEY_BYTES or not _KEY_PATTERN.fullmatch(key):
        raise InvalidInput(
            f"{printable_text(path)} holds no key of {owner}",
            code="no_key",
            hint=f"write only the key to it, or name another with `{command} --key-file FILE`",
        )
    return key
