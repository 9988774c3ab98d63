"""Send a request of a skill to an approved host: https, bounded, and nowhere else.

The name is resolved here, once, and the connection goes to that address, so that a name cannot
stand for another address by the time it is used.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import ssl
import time
from collections.abc import Collection, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import urljoin, urlsplit

from ..errors import InvalidInput, printable_text
from ..programs.needs import METHODS, WebAnswer, WebRequest

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse


MAX_FETCH_BYTES = 10 << 20
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
_KEEPING = (307, 308)
"""Redirects that repeat a request with its method and body."""
_MAX_HEADERS = 32
_MAX_HEADER_CHARS = 8192
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}: [\t\x20-\x7e\xa0-\xff]*")
_OWN_HEADERS = frozenset(
    "host accept-encoding connection content-length transfer-encoding te trailer upgrade"
    " expect keep-alive proxy-authorization proxy-connection".split()
)
"""Headers that say how the connection is used, which is not for a skill."""


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


def send_request(
    request: WebRequest,
    hosts: Collection[str],
    secrets: Mapping[str, Mapping[str, str]] | None = None,
    *,
    max_seconds: float = MAX_FETCH_SECONDS,
    tls: ssl.SSLContext | None = None,
) -> WebAnswer:
    """Return the answer to a request whose host, with its port unless 443, is among `hosts`.

    `secrets` are headers by host, which replace those of the request. A redirect is followed on
    the same host only. Addresses that are not public are refused, unless the host is named by its
    address and that is one which a user can approve (`find_scope`). Raises `InvalidInput`
    (`bad_fetch`).
    """
    deadline = time.monotonic() + max_seconds
    address = _parse_url(request.url)
    check_request(request)
    for _ in range(_MAX_REDIRECTS + 1):
        if address.name not in hosts:
            raise _bad_fetch(f"the host {printable_text(address.name, 100)} is not approved")
        own = {"host": address.name, "accept-encoding": "identity"}
        headers = {"user-agent": "brain"}
        headers |= {name.lower(): value for name, value in request.headers.items()} | own
        headers |= {n.lower(): v for n, v in (secrets or {}).get(address.name, {}).items()}
        sent = replace(request, headers=headers)
        answer = _send(address, sent, tls or ssl.create_default_context(), deadline)
        if answer.status not in _REDIRECTS:
            return answer
        location = {name.lower(): value for name, value in answer.headers.items()}.get("location")
        target = _parse_url(urljoin(f"https://{address.name}{address.path}", location or ""))
        if target.name != address.name:
            raise _bad_fetch(f"it redirects to another host, {printable_text(target.name, 100)}")
        if answer.status not in _KEEPING:
            request = replace(
                request, method="HEAD" if request.method == "HEAD" else "GET", body=b""
            )
        address = target
    raise _bad_fetch("it redirects too often")


def check_request(request: WebRequest) -> None:
    """Refuse a method or headers that no skill may send. Raises `InvalidInput` (`bad_fetch`)."""
    if request.method not in METHODS:
        raise _bad_fetch(f"{printable_text(request.method, 40)} is not one of {', '.join(METHODS)}")
    lines = [f"{name}: {value}" for name, value in request.headers.items()]
    if len(lines) > _MAX_HEADERS or sum(map(len, lines)) > _MAX_HEADER_CHARS:
        raise _bad_fetch(f"it has more than {_MAX_HEADERS} headers, or too long ones")
    for line in lines:
        name = line.partition(":")[0]
        if not _HEADER.fullmatch(line) or name.lower() in _OWN_HEADERS:
            raise _bad_fetch(f"{printable_text(name, 60)} is not a header that a skill may send")


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
    with suppress(ValueError):
        return ipaddress.ip_address(host.strip("[]"))
    with suppress(OSError, ValueError):
        return ipaddress.IPv4Address(socket.inet_aton(host))
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
    addresses = [literal] if literal else []
    if literal is None:
        try:
            found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            unknown = f"the host {printable_text(address.host, 100)} is not known"
            raise _bad_fetch(unknown) from error
        addresses = [ipaddress.ip_address(row[4][0]) for row in found]
    for one in addresses:
        scope = find_scope(one)
        if scope == "never" or (scope == "private" and literal is None):
            raise _bad_fetch(
                f"{printable_text(address.host, 100)} is at {one}, which is not a public address"
            )
    return str(addresses[0])


def _send(
    address: _Address, request: WebRequest, tls: ssl.SSLContext, deadline: float
) -> WebAnswer:
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
    try:
        with pool:
            response = pool.request(
                request.method,
                address.path,
                body=request.body or None,
                headers=dict(request.headers),
                redirect=False,
                preload_content=False,
            )
            with closing(response):
                return _read(response, deadline)
    except (urllib3.exceptions.HTTPError, OSError) as error:
        reason = printable_text(str(error).rpartition(": ")[2], 100)
        raise _bad_fetch(f"{printable_text(address.name, 100)} did not answer: {reason}") from error


def _read(response: BaseHTTPResponse, deadline: float) -> WebAnswer:
    headers = dict(response.headers.items())
    if response.status in _REDIRECTS:
        return WebAnswer(status=response.status, headers=headers)
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise _bad_fetch("its content is compressed, which was not asked for")
    data = bytearray()
    for part in response.stream(_CHUNK_BYTES, decode_content=False):
        data += part
        if len(data) > MAX_FETCH_BYTES:
            raise _bad_fetch(f"it has more than {MAX_FETCH_BYTES} bytes")
        if time.monotonic() > deadline:
            raise _bad_fetch("it took too long")
    return WebAnswer(status=response.status, headers=headers, body=bytes(data))


def read_text(answer: WebAnswer) -> str:
    """Return the text of a good answer. Raises `InvalidInput` (`bad_fetch`)."""
    if not 200 <= answer.status < 300:
        raise _bad_fetch(f"it answered with status {answer.status}")
    try:
        return answer.body.decode()
    except UnicodeDecodeError as error:
        raise _bad_fetch("its content is not text in UTF-8") from error


def _bad_fetch(reason: str) -> InvalidInput:
    return InvalidInput(
        f"not fetched: {reason}",
        code="bad_fetch",
        hint="fetch by https from a host that the user approved for this skill",
    )
