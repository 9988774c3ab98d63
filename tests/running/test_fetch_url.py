import datetime
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from brain.errors import InvalidInput
from brain.programs.needs import WebRequest
from brain.running.fetch import MAX_FETCH_BYTES, read_text, send_request
from tests.support.cases import read_cases
from tests.support.refusals import raises_code

Answer = tuple[int, dict[str, str], bytes]


def write_certificate(folder: Path) -> tuple[Path, Path]:
    """Write a key and a certificate for 127.0.0.1; return their files."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    begin = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(begin)
        .not_valid_after(begin.replace(year=2120))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    key_file, certificate_file = folder / "key.pem", folder / "certificate.pem"
    key_file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    certificate_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return key_file, certificate_file


@contextmanager
def serve_https(
    folder: Path, answer: Callable[[str], Answer]
) -> Iterator[tuple[str, ssl.SSLContext, list[str]]]:
    """Serve what `answer` returns for a path; yield the host, what trusts it, and the paths."""
    key, certificate = write_certificate(folder)
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            status, headers, body = answer(self.path)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            try:
                self.wfile.write(body)
            except OSError:  # the client had enough
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        trusting = ssl.create_default_context(cafile=str(certificate))
        yield f"127.0.0.1:{server.server_port}", trusting, asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


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
