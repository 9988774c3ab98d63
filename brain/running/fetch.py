"""Fetch a URL of an approved host for a skill: https, GET, bounded, and nowhere else.

The name is resolved here, once, and the connection goes to that address, so that a name cannot
stand for another address by the time it is used.
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
import time
from collections.abc import Collection
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import urljoin, urlsplit

from ..errors import InvalidInput, printable_text

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse


MAX_FETCH_BYTES = 1 << 20
MAX_FETCH_SECONDS = 20.0
MAX_URL_CHARS = 2048
_MAX_REDIRECTS = 3
_CHUNK_BYTES = 1 << 16
_HTTPS_PORT = 443
_PRIVATE = tuple(
    map(ipaddress.ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"))
)
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_METADATA = ("168.63.129.16", "fd00:ec2::254")
"""Of Azure and of AWS, which are not link-local as those of other clouds are."""
_REDIRECTS = (301, 302, 303, 307, 308)


_IP = ipaddress.IPv4Address | ipaddress.IPv6Address


class _Address(NamedTuple):
    """A URL in parts; `host` is in lower case."""

    host: str
    port: int
    path: str

    @property
    def name(self) -> str:
        """The host, with the port if it is not the usual one; what a user approves."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _HTTPS_PORT else f"{host}:{self.port}"


def fetch_url(
    url: str,
    hosts: Collection[str],
    *,
    max_seconds: float = MAX_FETCH_SECONDS,
    tls: ssl.SSLContext | None = None,
) -> str:
    """Return the text at a URL whose host, with its port unless 443, is among `hosts`.

    A redirect is followed on the same host only. Addresses that are not public are refused, unless
    the host is named by its address and that is one which a user can approve (`find_scope`).
    Raises `InvalidInput` (`bad_fetch`).
    """
    deadline = time.monotonic() + max_seconds
    address = _parse_url(url)
    for _ in range(_MAX_REDIRECTS + 1):
        if address.name not in hosts:
            raise _bad_fetch(f"the host {printable_text(address.name, 100)} is not approved")
        status, location, text = _get(address, tls or ssl.create_default_context(), deadline)
        if status not in _REDIRECTS:
            return text
        target = _parse_url(urljoin(f"https://{address.name}{address.path}", location))
        if target.name != address.name:
            raise _bad_fetch(f"it redirects to another host, {printable_text(target.name, 100)}")
        address = target
    raise _bad_fetch("it redirects too often")


def _parse_url(url: str) -> _Address:
    if len(url) > MAX_URL_CHARS or not url.isascii() or not url.isprintable() or " " in url:
        raise _bad_fetch("it is not a URL such as https://example.org/data.json")
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port or _HTTPS_PORT
    except ValueError as error:
        raise _bad_fetch("it is not a URL such as https://example.org/data.json") from error
    if parts.scheme != "https" or not host or "@" in parts.netloc:
        raise _bad_fetch("only https is fetched, from a host without a user name")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return _Address(host.lower(), port, path)


def read_address(host: str) -> _IP | None:
    """Return the IP address that a host is written as, None for a name.

    Also 127.1, 0x7f.1, 2130706433 and 0 are addresses, as the C library reads them.
    """
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except (OSError, ValueError, UnicodeError):
        return None


def find_scope(address: _IP) -> Literal["public", "private", "never"]:
    """Return whether every skill may be let to an address, or only who knows what that means.

    This machine and private networks have services that trust all who reach them. What is linked
    to a machine alone, such as the metadata of a cloud with its keys, is for no skill.
    """
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return find_scope(inner)
    if address.is_loopback or any(address in net for net in _PRIVATE):
        return "never" if str(address) in _METADATA else "private"
    is_public = address.is_global and not address.is_multicast
    return "public" if is_public and str(address) not in _METADATA else "never"


def _resolve(address: _Address) -> str:
    """Return an IP address of a host. Raises `InvalidInput` if no skill may be let to one of them.

    Only one that is named by its address, as the user approved it, may be private.
    """
    literal = read_address(address.host)
    addresses = [literal] if literal else _look_up(address)
    for one in addresses:
        scope = find_scope(one)
        if scope == "never" or (scope == "private" and literal is None):
            raise _bad_fetch(
                f"{printable_text(address.host, 100)} is at {one}, which is not a public address"
            )
    return str(addresses[0])


def _look_up(address: _Address) -> list[_IP]:
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise _bad_fetch(f"the host {printable_text(address.host, 100)} is not known") from error
    return [ipaddress.ip_address(row[4][0]) for row in found]


def _get(address: _Address, tls: ssl.SSLContext, deadline: float) -> tuple[int, str, str]:
    """Return the status, the target of a redirect, and the text of an answer."""
    import urllib3

    left = max(deadline - time.monotonic(), 0.01)
    pool = urllib3.HTTPSConnectionPool(
        _resolve(address),
        address.port,
        timeout=urllib3.Timeout(connect=left, read=left),
        retries=False,
        ssl_context=tls,
        assert_hostname=address.host,
        server_hostname=address.host,
    )
    headers = {"Host": address.name, "Accept-Encoding": "identity", "User-Agent": "brain"}
    try:
        with pool:
            response = pool.request(
                "GET", address.path, headers=headers, redirect=False, preload_content=False
            )
            try:
                return _read(response, deadline)
            finally:
                response.close()
    except (urllib3.exceptions.HTTPError, OSError) as error:
        reason = printable_text(str(error).rpartition(": ")[2], 100)
        raise _bad_fetch(f"{printable_text(address.name, 100)} did not answer: {reason}") from error


def _read(response: BaseHTTPResponse, deadline: float) -> tuple[int, str, str]:
    if response.status in _REDIRECTS:
        return response.status, response.headers.get("Location", ""), ""
    if response.status != 200:
        raise _bad_fetch(f"it answered with status {response.status}")
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise _bad_fetch("its content is compressed, which was not asked for")
    data = bytearray()
    for part in response.stream(_CHUNK_BYTES, decode_content=False):
        data += part
        if len(data) > MAX_FETCH_BYTES:
            raise _bad_fetch(f"it has more than {MAX_FETCH_BYTES} bytes")
        if time.monotonic() > deadline:
            raise _bad_fetch("it took too long")
    try:
        return response.status, "", data.decode()
    except UnicodeDecodeError as error:
        raise _bad_fetch("its content is not text in UTF-8") from error


def _bad_fetch(reason: str) -> InvalidInput:
    return InvalidInput(
        f"not fetched: {reason}",
        code="bad_fetch",
        hint="fetch text by https from a host that the user approved for this skill",
    )
