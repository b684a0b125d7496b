"""Requests, responses and the request log."""

from __future__ import annotations

import json
import threading
from collections import Counter
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, unquote


@dataclass
class Request:
    """A request as it was received, and the status it was answered with (0: the connection was closed)."""

    method: str
    target: str
    headers: dict[str, str]
    """By lower-case names."""
    operation: str = ""
    ids: dict[str, str] = field(default_factory=dict)
    """What the path holds: `team_id`, `event_id` or `id`."""
    status: int = 0

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> dict[str, list[str]]:
        return parse_qs(self.target.partition("?")[2], keep_blank_values=True)

    def first(self, name: str, default: str = "") -> str:
        """The first value of a query parameter."""
        return self.query.get(name, [default])[0]

    def number(self, name: str) -> int | None:
        """A parameter as an integer; `None` where it is absent or not an integer."""
        try:
            return int(self.first(name))
        except ValueError:
            return None

    @property
    def id(self) -> str:
        """The id in the path."""
        return next(map(unquote, self.ids.values()), "")


@dataclass
class Response:
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    """Replace those that the server sends; an empty value leaves one out."""
    delay: float = 0.0
    cut_at: int | None = None
    """The connection is reset after so many bytes of the body."""
    is_refused: bool = False
    """The connection is closed without a response."""

    @classmethod
    def of(cls, document: Any, status: int = 200) -> Response:
        return cls(status, encode(document))

    def wire(self, date: str | None, *, keep_alive: bool) -> bytes:
        """The head and the body."""
        try:
            reason = HTTPStatus(self.status).phrase
        except ValueError:
            reason = "Unknown"
        headers = {"Content-Type": "application/json", "Content-Length": str(len(self.body)), "Connection": "keep-alive" if keep_alive else "close"}
        if date is not None:
            headers["Date"] = date
        lower = {name.lower(): name for name in headers}
        for name, value in self.headers.items():
            headers[lower.get(name.lower(), name)] = value
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items() if value != "")
        return f"HTTP/1.1 {self.status} {reason}\r\n{head}\r\n".encode("latin-1") + self.body


def encode(document: Any) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


class Log:
    """Every request, in the order of arrival."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: list[Request] = []

    def add(self, request: Request) -> None:
        with self._lock:
            self._requests.append(request)

    def __len__(self) -> int:
        return len(self._requests)

    def all(self, operation: str | None = None) -> list[Request]:
        with self._lock:
            return [request for request in self._requests if operation is None or request.operation == operation]

    def counts(self) -> dict[str, int]:
        """Requests by operation."""
        return dict(Counter(request.operation for request in self.all()))

    def clear(self) -> None:
        with self._lock:
            self._requests.clear()
