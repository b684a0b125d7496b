"""Faulty responses: which, how often, and with what body."""

from __future__ import annotations

import json
import random
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .messages import Request, Response, encode

Document = Any
Change = Callable[[Document], Document]


@dataclass
class Fault:
    """One rule. Without a condition it matches every request; all conditions that are given must hold."""

    operation: str | None = None
    path: str | None = None
    """A regular expression, searched for in the path with its query."""
    when: Callable[[Request], bool] | None = None
    skip: int = 0
    """So many matching requests pass untouched first."""
    times: int | None = None
    """After so many the fault is over; `None`: until it is removed."""
    status: int | None = None
    body: Any = None
    """Replaces the body: bytes and text unchanged, anything else as JSON. `NULL` is the JSON null."""
    change: Change | None = None
    """A function of the parsed body."""
    change_bytes: Callable[[bytes], bytes] | None = None
    headers: dict[str, str] | None = None
    delay: float = 0.0
    cut_at: int | None = None
    refuse: bool = False
    count: int = 0
    """How many responses it has changed."""

    def matches(self, request: Request) -> bool:
        if self.operation is not None and request.operation != self.operation:
            return False
        if self.path is not None and re.search(self.path, request.target) is None:
            return False
        return self.when is None or self.when(request)

    def apply(self, response: Response) -> None:
        if self.status is not None:
            response.status = self.status
        if self.body is not None:
            response.body = self.body if isinstance(self.body, bytes) else self.body.encode() if isinstance(self.body, str) else encode(_plain(self.body))
        if self.change is not None:
            response.body = encode(_plain(self.change(json.loads(response.body))))
        if self.change_bytes is not None:
            response.body = self.change_bytes(response.body)
        response.headers |= self.headers or {}
        response.delay += self.delay
        response.cut_at = self.cut_at if self.cut_at is not None else response.cut_at
        response.is_refused |= self.refuse


class Faults:
    """The rules of a service. The first that matches and is not over decides; rules with `times` follow one another."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rules: list[Fault] = []

    def add(self, operation: str | None = None, **options: Any) -> Fault:
        """Adds a rule; `options` are the fields of `Fault`."""
        fault = Fault(operation, **options)
        with self._lock:
            self._rules.append(fault)
        return fault

    def rules(self) -> list[Fault]:
        """Those that were not removed, used up or not."""
        with self._lock:
            return list(self._rules)

    def remove(self, fault: Fault) -> None:
        with self._lock:
            self._rules = [rule for rule in self._rules if rule is not fault]

    def clear(self) -> None:
        with self._lock:
            self._rules.clear()

    def apply(self, request: Request, response: Response) -> Response:
        """The response with the fault in it, if any."""
        with self._lock:
            for rule in self._rules:
                if not rule.matches(request):
                    continue
                if rule.skip > 0:
                    rule.skip -= 1
                elif rule.times is None or rule.count < rule.times:
                    rule.count += 1
                    rule.apply(response)
                    break
        return response


class _Null:
    """Stands for the JSON null where `None` means that nothing is replaced."""


NULL = _Null()


def _plain(document: Document) -> Document:
    return None if isinstance(document, _Null) else document


# Bodies that are no data, as functions of the true body: for `change`, or to be parametrized over.


def error_document(status: int = 500, message: str = "General system error", *, key: str = "serviceRequestId") -> Document:
    """The error body of section 7."""
    return {"status": status, "message": message, key: "00000000-0000-4000-8000-000000000001"}


def gateway_document(message: str = "API rate limit exceeded") -> Document:
    """The error body of a gateway in front of the service."""
    return {"message": message}


def _root(body: Document) -> str | None:
    """The name of the array that is the root of a body."""
    if not isinstance(body, dict):
        return None
    return next((name for name in ("teams", "games", "events", "players", "results", "player_stats") if name in body), None)


def _with_root(value: Callable[[Document], Document]) -> Change:
    def change(body: Document) -> Document:
        name = _root(body)
        return {**body, name: value(body[name])} if name else value(body)

    return change


def without_root(body: Document) -> Document:
    """The body without its array."""
    name = _root(body)
    return {key: value for key, value in body.items() if key != name} if name else {}


def other_root(body: Document) -> Document:
    """The array under another name."""
    name = _root(body)
    return {"squads" if key == name else key: value for key, value in body.items()} if name else {"squads": body}


NO_DATA: dict[str, Change] = {
    "empty object": lambda body: {},
    "empty array": lambda body: [],
    "null": lambda body: NULL,
    "text": lambda body: "ok",
    "number": lambda body: 0,
    "error document": lambda body: error_document(),
    "not found document": lambda body: error_document(404, "Invalid id"),
    "gateway document": lambda body: gateway_document(),
    "null root": _with_root(lambda root: None),
    "root of null": _with_root(lambda root: [None]),
    "root object": _with_root(lambda root: {}),
    "root text": _with_root(lambda root: "none"),
    "missing root": without_root,
    "other root": other_root,
    "wrapped": lambda body: {"data": body},
}
"""Bodies of a 200 that hold no resource. (`[]` is the empty list of a resource whose root is an array.)"""

EMPTY: Change = _with_root(lambda root: [])
"""A well-formed body that lists nothing."""


def truncated(share: float = 0.6) -> Callable[[bytes], bytes]:
    """For `change_bytes`: the beginning of the body, with a Content-Length that agrees."""
    return lambda body: body[: int(len(body) * share)]


def odd_value(dice: random.Random, values: tuple[Any, ...] = (None, "x", -1, 1e300, [], {}, True, "2026-13-45")) -> Change:
    """Replaces one value somewhere in the body by an odd one."""

    def change(body: Document) -> Document:
        body = json.loads(json.dumps(body))
        places: list[tuple[Any, Any]] = []

        def visit(node: Any) -> None:
            for key, value in list(node.items()) if isinstance(node, dict) else list(enumerate(node)) if isinstance(node, list) else ():
                places.append((node, key))
                visit(value)

        visit(body)
        if places:
            node, key = dice.choice(places)
            node[key] = dice.choice(values)
        return body

    return change


def ids_as_text(body: Document) -> Document:
    """Every numeric id as a string."""
    if isinstance(body, dict):
        return {key: str(value) if (key == "id" or key.endswith("_id")) and type(value) is int else ids_as_text(value) for key, value in body.items()}
    return [ids_as_text(item) for item in body] if isinstance(body, list) else body
