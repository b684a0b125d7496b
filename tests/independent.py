"""A client and a server that share no code with the package: httpx, http.server and hmac, from the specification's 5.1."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.server
import json
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate, parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import httpx


def signature(secret: str, date: str, host: str, request_line: str) -> str:
    text = f"date: {date}\nhost: {host}\n{request_line}"
    return base64.b64encode(hmac.new(secret.encode(), text.encode(), hashlib.sha1).digest()).decode()


@dataclass
class Signed:
    """One signed GET. Change a field to sign or send something wrong."""

    base_url: str
    username: str
    secret: str
    target: str
    date: str = field(default_factory=lambda: formatdate(usegmt=True))
    algorithm: str = "hmac-sha1"
    names: str = "date host request-line"
    signed_target: str | None = None
    signed_host: str | None = None
    signed_version: str = "HTTP/1.1"
    authorization: str | None = None
    sent_date: str | None = None

    def send(self) -> httpx.Response:
        host = urlsplit(self.base_url).netloc
        path = self.signed_target or self.target.split("?")[0]
        digest = signature(self.secret, self.date, self.signed_host or host, f"GET {path} {self.signed_version}")
        value = f'hmac username="{self.username}",algorithm="{self.algorithm}",headers="{self.names}",signature="{digest}"'
        headers = {"date": self.sent_date or self.date, "host": host, "authorization": value if self.authorization is None else self.authorization}
        if self.authorization == "":
            del headers["authorization"]
        with httpx.Client(trust_env=False) as client:
            return client.get(self.base_url + self.target, headers=headers)


@dataclass
class Asked:
    method: str
    target: str
    headers: dict[str, str]


Answer = tuple[int, dict[str, str], bytes]


@dataclass
class Server:
    """The address and requests of a running server."""

    base_url: str
    requests: list[Asked] = field(default_factory=list)


@contextmanager
def server(respond: Callable[[Asked], Answer]) -> Iterator[Server]:
    """A plain HTTP server on loopback that responds to each GET with the result of `respond`."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            request = Asked("GET", self.path, {k.lower(): v for k, v in self.headers.items()})
            seen.requests.append(request)
            status, headers, body = respond(request)
            self.send_response(status)
            for name, value in {"content-type": "application/json", "content-length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listening.daemon_threads = True
    seen = Server(f"http://127.0.0.1:{listening.server_port}")
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        listening.shutdown()
        listening.server_close()
        thread.join()


GRAMMAR = re.compile(r'hmac username="(.+)",algorithm="hmac-sha1",headers="date host request-line",signature="([A-Za-z0-9+/=]*)"')


def verify(request: Asked, secrets: dict[str, str], now: float) -> str | None:
    """Why a request's signature is refused, or None."""
    match = GRAMMAR.fullmatch(request.headers.get("authorization", ""))
    if not match:
        return "grammar"
    username, digest = match.groups()
    date = request.headers["date"]
    if abs(parsedate_to_datetime(date).timestamp() - now) > 300:
        return "date"
    line = f"{request.method} {request.target.split('?')[0]} HTTP/1.1"
    return None if digest == signature(secrets[username], date, request.headers["host"], line) else "signature"


def read(head: bytes) -> Asked:
    """A request off the wire: its head, byte for byte."""
    line, *lines = head.decode().removesuffix("\r\n\r\n").split("\r\n")
    method, target, version = line.split(" ")
    assert version == "HTTP/1.1"
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    assert len(headers) == len(lines), "no header comes twice"
    return Asked(method, target, headers)


OPENSSL = shutil.which("openssl")


def signature_by_openssl(secret: str, date: str, host: str, request_line: str) -> str:
    """The same as `signature`, by the command line tool."""
    assert OPENSSL
    text = f"date: {date}\nhost: {host}\n{request_line}".encode()
    key = f"hexkey:{secret.encode().hex()}"
    result = subprocess.run([OPENSSL, "dgst", "-sha1", "-mac", "HMAC", "-macopt", key, "-binary"], input=text, capture_output=True, check=True)
    return base64.b64encode(result.stdout).decode()


def as_json(value: Any, status: int = 200, **headers: str) -> Answer:
    return status, {name.replace("_", "-"): v for name, v in headers.items()}, json.dumps(value).encode()
