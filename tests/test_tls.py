"""TLS, correct and incorrect, against real servers on loopback whose certificates are made here."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme
from wire import OK, Serve, answering, drain, headers, listener, over_tls, read_head, reset

import sideline

Certified = Callable[..., ssl.SSLContext]

DAY = timedelta(days=1)


def client_of(port: int, host: str = "127.0.0.1", **more: Any) -> sideline.Client:
    return sideline.Client(**{"username": "ann", "secret": "s", "base_url": f"https://{host}:{port}"} | more)


def failure_of(serve: Serve, bundle: Path | None, host: str = "127.0.0.1", **more: Any) -> tuple[sideline.SidelineError, int]:
    """The error of a call that would be tried again 3 times if that could help, and how many connections it made."""
    with listener(serve, host.strip("[]")) as seen, client_of(seen.port, host, ca_bundle=bundle, **more) as client:
        with pytest.raises(sideline.SidelineError) as excinfo:
            client.teams()
        return excinfo.value, seen.connections


# -- which authorities are trusted


@pytest.fixture(autouse=True)
def _the_systems_authorities(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"):
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"])
def test_an_authority_of_the_environment_is_trusted(tls_context: Certified, bundle: Path, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    with listener(over_tls(tls_context("127.0.0.1"), answering([]))) as seen:
        # A folder is one of hashed names, as `openssl rehash` makes it.
        folder = bundle.parent / "hashed"
        folder.mkdir(exist_ok=True)
        (folder / "0123abcd.0").write_bytes(bundle.read_bytes())
        monkeypatch.setenv(variable, str(folder if variable == "SSL_CERT_DIR" else bundle))
        with client_of(seen.port) as client:
            assert client.teams().status == 200


def test_an_authority_that_is_given_is_trusted_besides_those_of_the_environment(
    tls_context: Certified, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = trustme.CA()
    other.cert_pem.write_to_path(tmp_path / "other.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "other.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    other.issue_cert("127.0.0.1").configure_cert(context)
    for server_context in (context, tls_context("127.0.0.1")):
        with listener(over_tls(server_context, answering([]))) as seen, client_of(seen.port, ca_bundle=bundle) as client:
            assert client.teams().status == 200


def test_a_bundle_that_was_read_before_is_read_again_once_it_is_another(bundle: Path, tmp_path: Path) -> None:
    path = tmp_path / "authority.pem"
    content = bundle.read_bytes()
    for invalid_content in (b"no certificate", content[:-40], None):
        path.write_bytes(content)
        for _ in range(2):
            client_of(1, ca_bundle=path).close()
        path.unlink() if invalid_content is None else path.write_bytes(invalid_content)
        for _ in range(2):
            with pytest.raises(sideline.ConfigurationError, match="ca_bundle"):
                client_of(1, ca_bundle=path)
    path.mkdir()
    with pytest.raises(sideline.ConfigurationError, match="ca_bundle"):
        client_of(1, ca_bundle=path)


def test_authorities_of_the_environment_that_are_not_there_are_named(
    tls_context: Certified, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    with listener(over_tls(tls_context("127.0.0.1"), answering([]))) as seen:
        with client_of(seen.port) as client, pytest.raises(sideline.ConfigurationError, match="SSL_CERT_FILE"):
            client.teams()
        # The explicit bundle is enough.
        with client_of(seen.port, ca_bundle=bundle) as client:
            assert client.teams().status == 200
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "none.pem"))
    with pytest.raises(sideline.ConfigurationError, match="REQUESTS_CA_BUNDLE.*none.pem"):
        sideline.Client(username="ann", secret="s")


@pytest.mark.parametrize(("host", "name"), [("127.0.0.1", "127.0.0.1"), ("[::1]", "::1"), ("localhost", "localhost"), ("LOCALHOST", "localhost")])
def test_each_form_of_host_is_verified(tls_context: Certified, bundle: Path, host: str, name: str) -> None:
    heads: list[bytes] = []
    with listener(over_tls(tls_context(name), answering(heads)), "::1" if ":" in host else "127.0.0.1") as seen:
        with client_of(seen.port, host, ca_bundle=bundle) as client:
            assert client.teams().status == 200
        assert headers(heads[0])["host"] == f"{host.lower()}:{seen.port}"


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_both_versions_of_tls_are_spoken(tls_context: Certified, bundle: Path, version: ssl.TLSVersion) -> None:
    context = tls_context("127.0.0.1")
    context.minimum_version = context.maximum_version = version
    with listener(over_tls(context, answering([]))) as seen, client_of(seen.port, ca_bundle=bundle) as client:
        assert client.teams().status == 200


def test_http_2_is_never_offered(tls_context: Certified, bundle: Path) -> None:
    """The signature covers the word HTTP/1.1."""
    context = tls_context("127.0.0.1")
    context.set_alpn_protocols(["h2", "http/1.1"])
    protocols = []

    def serve(connection: socket.socket) -> None:
        assert isinstance(connection, ssl.SSLSocket)
        protocols.append(connection.selected_alpn_protocol())
        answering([])(connection)

    with listener(over_tls(context, serve)) as seen, client_of(seen.port, ca_bundle=bundle) as client:
        assert client.teams().status == 200
    assert protocols[0] != "h2"


# -- certificates that are refused


def unknown_authority(authority: trustme.CA, context: ssl.SSLContext) -> None:
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)


def expired_certificate(authority: trustme.CA, context: ssl.SSLContext) -> None:
    authority.issue_cert("127.0.0.1", not_before=datetime.now(UTC) - 9 * DAY, not_after=datetime.now(UTC) - DAY).configure_cert(context)


def to_come(authority: trustme.CA, context: ssl.SSLContext) -> None:
    authority.issue_cert("127.0.0.1", not_before=datetime.now(UTC) + DAY, not_after=datetime.now(UTC) + 9 * DAY).configure_cert(context)


def of_another_host(authority: trustme.CA, context: ssl.SSLContext) -> None:
    authority.issue_cert("service.example", "127.0.0.2").configure_cert(context)


def without_intermediate(authority: trustme.CA, context: ssl.SSLContext) -> None:
    leaf = authority.create_child_ca().issue_cert("127.0.0.1")
    with leaf.private_key_pem.tempfile() as key, leaf.cert_chain_pems[0].tempfile() as certificate:
        context.load_cert_chain(certificate, key)


each_untrusted_certificate = pytest.mark.parametrize(
    ("fault", "cause", "advice"),
    [
        (unknown_authority, "UnknownIssuer", "ca_bundle="),
        (expired_certificate, "certificate expired", "clock"),
        (to_come, "certificate not valid yet", "clock"),
        (of_another_host, "not valid for name", "Check the address"),
        (without_intermediate, "UnknownIssuer", "intermediate"),
    ],
)


@each_untrusted_certificate
def test_a_certificate_that_cannot_be_trusted_is_refused_at_once_with_its_cause(
    authority: trustme.CA, bundle: Path, fault: Callable[[trustme.CA, ssl.SSLContext], None], cause: str, advice: str
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    fault(authority, context)
    heads: list[bytes] = []
    error, connections = failure_of(over_tls(context, answering(heads)), bundle)
    assert type(error) is sideline.ConnectError
    assert cause in str(error)
    assert advice in str(error)
    assert (connections, heads) == (1, [])


def test_an_intermediate_that_is_sent_is_followed(authority: trustme.CA, bundle: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.create_child_ca().issue_cert("127.0.0.1").configure_cert(context)
    with listener(over_tls(context, answering([]))) as seen, client_of(seen.port, ca_bundle=bundle) as client:
        assert client.teams().status == 200


# -- handshakes that fail


def test_a_handshake_that_hangs_ends_within_the_connect_timeout(bundle: Path) -> None:
    start = time.monotonic()
    error, _ = failure_of(drain, bundle, timeout=sideline.Timeout(connect=0.5, read=20, total=20), max_retries=0)
    assert isinstance(error, sideline.RequestTimeout)
    assert "connect timeout" in str(error)
    assert time.monotonic() - start < 15


def test_a_handshake_that_hangs_again_and_again_ends_within_the_total_timeout(bundle: Path) -> None:
    start = time.monotonic()
    error, _ = failure_of(drain, bundle, timeout=sideline.Timeout(connect=0.5, read=20, total=2), max_retries=99)
    assert isinstance(error, sideline.RequestTimeout)
    assert time.monotonic() - start < 20


def after_greeting(serve_rest: Serve) -> Serve:
    """Reads the client's first message, then does something else than to answer it."""

    def serve(connection: socket.socket) -> None:
        connection.recv(65536)
        serve_rest(connection)

    return serve


@pytest.mark.parametrize("end", [lambda connection: None, reset, lambda connection: connection.sendall(b"\x16\x03\x03\x00\x7a\x02")])
def test_a_handshake_that_is_cut_is_tried_again(tls_context: Certified, bundle: Path, end: Serve) -> None:
    ends = iter([after_greeting(end), over_tls(tls_context("127.0.0.1"), answering([]))])
    with listener(lambda connection: next(ends)(connection)) as seen, client_of(seen.port, ca_bundle=bundle) as client:
        assert client.teams().status == 200
        assert seen.connections == 2
    error, connections = failure_of(after_greeting(end), bundle, max_retries=1)
    assert (type(error), connections) == (sideline.ConnectError, 2)


@pytest.mark.parametrize("response", [b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", b"SSH-2.0-OpenSSH_9.2\r\n", b"\x00" * 64])
def test_a_peer_without_tls_is_refused_at_once(bundle: Path, response: bytes) -> None:
    def serve(connection: socket.socket) -> None:
        connection.sendall(response)
        connection.shutdown(socket.SHUT_WR)
        drain(connection)

    error, connections = failure_of(serve, bundle)
    assert (type(error), connections) == (sideline.ConnectError, 1)
    assert "does not speak TLS" in str(error)


def test_a_server_that_speaks_tls_at_a_plain_address_is_an_error_in_time(tls_context: Certified) -> None:
    with listener(over_tls(tls_context("127.0.0.1"), answering([]))) as seen:
        with sideline.Client(username="ann", secret="s", base_url=f"http://127.0.0.1:{seen.port}", max_retries=0) as client:
            start = time.monotonic()
            with pytest.raises(sideline.TransportError) as excinfo:
                client.teams()
            assert type(excinfo.value) is sideline.TransportError
            assert time.monotonic() - start < 5


# -- ends of a body

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
BODY = b'{"teams": []}'
# Every one of these is JSON to the end: only the framing tells that something is missing.
BODIES = {
    "shorter than its length": (HEAD + b"Content-Length: 99\r\n\r\n" + BODY, False, False),
    "shorter than its length, with a notice": (HEAD + b"Content-Length: 99\r\n\r\n" + BODY, True, False),
    "of its length": (HEAD + b"Content-Length: 13\r\n\r\n" + BODY, False, True),
    "without length": (HEAD + b"\r\n" + BODY, False, False),
    "without length, with a notice": (HEAD + b"\r\n" + BODY, True, True),
    "in chunks without the last": (HEAD + b"Transfer-Encoding: chunked\r\n\r\nd\r\n" + BODY + b"\r\n", False, False),
    "in chunks without the last, with a notice": (HEAD + b"Transfer-Encoding: chunked\r\n\r\nd\r\n" + BODY + b"\r\n", True, False),
    "in chunks": (HEAD + b"Transfer-Encoding: chunked\r\n\r\nd\r\n" + BODY + b"\r\n0\r\n\r\n", False, True),
}


@pytest.mark.parametrize("body", BODIES)
def test_a_body_that_a_cut_connection_may_have_shortened_is_never_success(tls_context: Certified, bundle: Path, body: str) -> None:
    response, notify, is_complete = BODIES[body]
    serve = over_tls(tls_context("127.0.0.1"), answering([], response), notify=notify)
    with listener(serve) as seen, client_of(seen.port, ca_bundle=bundle, max_retries=1) as client:
        if is_complete:
            assert client.teams().to_dict() == {"teams": []}
        else:
            with pytest.raises(sideline.TransportError) as excinfo:
                client.teams()
            assert type(excinfo.value) is sideline.TransportError
        assert seen.connections == (1 if is_complete else 2)


def test_a_body_damaged_within_tls_is_never_success(tls_context: Certified, bundle: Path) -> None:
    """A record that was tampered with: the next attempt may find a better way."""
    context = tls_context("127.0.0.1")

    def serve(connection: socket.socket) -> None:
        raw = connection.dup()
        with context.wrap_socket(connection, server_side=True) as secure, raw:
            read_head(secure)
            secure.sendall(OK[:-5])
            raw.sendall(b"\x17\x03\x03\x00\x20" + b"x" * 32)
            drain(raw)

    with listener(serve) as seen, client_of(seen.port, ca_bundle=bundle, max_retries=1) as client:
        with pytest.raises(sideline.TransportError):
            client.teams()
        assert seen.connections == 2
