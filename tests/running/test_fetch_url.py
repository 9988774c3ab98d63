import socket
import ssl

import pytest

from brain.errors import InvalidInput
from brain.programs.needs import WebRequest
from brain.running.fetch import MAX_FETCH_BYTES, read_text, send_request
from tests.support.cases import read_cases
from tests.support.https_server import Answer, serve_https
from tests.support.refusals import raises_code

CASES = read_cases(__file__)


def respond(path: str) -> Answer:
    """Answer as the path says."""
    kind, _, rest = path.removeprefix("/").partition("/")
    if kind == "go":
        return 302, {"Location": rest}, b""
    if kind == "status":
        return int(rest), {}, b"no"
    if kind == "zip":
        return 200, {"Content-Encoding": "gzip"}, b"\x1f\x8b"
    return 200, {}, {"huge": b"x" * (MAX_FETCH_BYTES + 1), "bytes": b"\xff"}.get(kind, b"hello")


@pytest.fixture
def server(tmp_path):
    with serve_https(tmp_path, respond) as found:
        yield found


def fetch_url(url: str, hosts: set[str], **options: object) -> str:
    return read_text(send_request(WebRequest(url=url), hosts, **options))


Server = tuple[str, ssl.SSLContext, list[str]]


def test_text_of_an_approved_host_is_fetched(server):
    host, tls, asked = server
    assert fetch_url(f"https://{host}/a?b=1#c", {host}, tls=tls) == "hello"
    assert asked == ["/a?b=1"]


def test_a_redirect_is_followed_on_the_same_host_only(server):
    host, tls, asked = server
    assert fetch_url(f"https://{host}/go//there", {host}, tls=tls) == "hello"
    assert asked == ["/go//there", "/there"]
    for target in ("https://example.org/x", "http://" + host, "//127.0.0.2/", "https://127.0.0.1/"):
        with pytest.raises(InvalidInput, match=r"another host|only https"):
            fetch_url(f"https://{host}/go/{target}", {host, "example.org"}, tls=tls)
    with pytest.raises(InvalidInput, match="redirects too often"):
        fetch_url(f"https://{host}/go//go//go//go//go/", {host}, tls=tls)


@pytest.mark.parametrize(
    ("path", "said"), CASES["test_an_answer_that_is_no_bounded_text_is_refused"]
)
def test_an_answer_that_is_no_bounded_text_is_refused(server, path, said):
    host, tls, _ = server
    with raises_code("bad_fetch", InvalidInput, match=said) as caught:
        fetch_url(f"https://{host}/{path}", {host}, tls=tls)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://example.org/", "only https"),
        ("ftp://example.org/", "only https"),
        ("file:///etc/passwd", "only https"),
        ("https:///etc", "only https"),
        ("https://user:word@example.org/", "only https"),
        ("https://example.org@other.org/", "only https"),
        ("https://other.org/", "the host other.org is not approved"),
        ("https://example.org:8443/", "the host example.org:8443 is not approved"),
        ("https://example.org.other.org/", "is not approved"),
        ("https://example.org:99999/", "it is not a URL"),
        ("https://exämple.org/", "it is not a URL"),
        ("https://example.org/\r\nX: y", "it is not a URL"),
        ("https://[::1", "it is not a URL"),
        ("x" * 3000, "it is not a URL"),
    ],
)
def test_other_urls_are_not_fetched(url, said):
    with pytest.raises(InvalidInput, match=said):
        fetch_url(url, {"example.org"})


@pytest.mark.parametrize(
    "address", CASES["test_a_name_that_stands_for_a_private_address_is_refused"]
)
def test_a_name_that_stands_for_a_private_address_is_refused(monkeypatch, address):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    rows = [(socket.AF_INET, 1, 6, "", ("93.184.216.34", 443)), (family, 1, 6, "", (address, 443))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: rows)
    with pytest.raises(InvalidInput, match="not a public address"):
        fetch_url("https://example.org/", {"example.org"})


def test_a_name_that_nothing_knows_is_refused(monkeypatch):
    def fail(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "unknown")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(InvalidInput, match=r"the host example\.org is not known"):
        fetch_url("https://example.org/", {"example.org"})


def test_a_certificate_that_is_not_trusted_is_refused(server):
    host, _, asked = server
    with pytest.raises(InvalidInput, match="did not answer"):
        fetch_url(f"https://{host}/", {host})
    assert asked == []
