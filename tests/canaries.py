"""Recognisable secrets, and all places where one could show."""

from __future__ import annotations

import base64
import contextlib
import html
import json
import pickle
import re
import traceback
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

from needs import library

import sideline

PACKAGE_FOLDER = str(Path(sideline.__file__).parent)


@cache
def formatter() -> Any:
    return library("IPython.core.formatters").DisplayFormatter()


@cache
def forms(secret: str) -> frozenset[str]:
    """A secret unchanged and as texts may have it: percent-encoded, as base64, as hex; in lower case, like the compared texts."""
    data = secret.encode()
    percent = {quote(secret, safe=""), quote(secret), quote_plus(secret), "".join(f"%{byte:02x}" for byte in data)}
    percent.add("".join(letter if letter.isalnum() else f"%{ord(letter):02x}" for letter in secret))
    plain = {secret, json.dumps(secret)[1:-1], repr(secret)[1:-1], html.escape(secret), data.hex()}
    encodings = set()
    # Base64 of a text around the secret: three places at which it may begin, without the letters that others share.
    for before in range(3):
        data_with_prefix = bytes(before) + data
        inner = slice((before * 8 + 5) // 6, len(data_with_prefix) * 8 // 6)
        encodings |= {encode(data_with_prefix).decode()[inner] for encode in (base64.b64encode, base64.urlsafe_b64encode)}
    return frozenset(form.lower() for form in percent | plain | encodings)


def leaks(secrets: Mapping[str, str], places: Mapping[str, str | bytes]) -> list[str]:
    """Which secret is where."""
    matches = []
    for place, text in places.items():
        low = (text.decode("latin-1") if isinstance(text, bytes) else text).lower()
        matches += [f"{name} in {place}: {low[max(0, at - 60) : at + 90]!r}" for name, at in _hits(secrets, low)]
    return matches


def _hits(secrets: Mapping[str, str], low: str) -> Iterator[tuple[str, int]]:
    for name, secret in secrets.items():
        at = next((low.find(form) for form in forms(secret) if form in low), None)
        if at is not None:
            yield name, at


def texts_of(thing: Any, name: str = "result") -> Iterator[tuple[str, str | bytes]]:
    """Every text that a user, a notebook, a logger of errors or another process gets of a thing."""
    if thing is None or isinstance(thing, (bool, int, float)):
        return
    if isinstance(thing, (str, bytes)):
        yield name, thing
        return
    yield f"repr of {name}", repr(thing)
    yield f"str of {name}", str(thing)
    # An object that cannot be shown in a notebook or pickled leaks nothing there.
    with contextlib.suppress(TypeError, AttributeError, pickle.PicklingError):
        yield f"pickle of {name}", pickle.dumps(thing)
    yield f"notebook output of {name}", json.dumps([dict(part) for part in formatter().format(thing)], default=str)
    if hasattr(thing, "__dict__"):
        yield f"vars of {name}", repr(vars(thing))
    if isinstance(thing, (list, tuple)):
        for place, part in enumerate(thing):
            yield from texts_of(part, f"{name}[{place}]")
    elif isinstance(thing, sideline.Payload):
        yield f"{name}.url and headers", f"{thing.url} {thing.headers} {thing.request_id}"
        for place, part in enumerate(thing.parts if len(thing.parts) > 1 else ()):
            yield from texts_of(part, f"{name}.parts[{place}]")
    elif isinstance(thing, sideline.Batch):
        yield f"{name}.coverage", repr(thing.coverage.to_dicts())
        yield from texts_of(list(thing.errors.values()), f"{name}.errors")
        yield from texts_of(list(thing), f"payloads of {name}")
    elif isinstance(thing, sideline.Update):
        yield f"all of {name}", repr([thing.raw, thing.text, thing.event, thing.id, thing.source])
    elif isinstance(thing, BaseException):
        yield from _of_an_error(thing, name)


def _of_an_error(error: BaseException, name: str) -> Iterator[tuple[str, str | bytes]]:
    yield f"traceback of {name}", "".join(traceback.format_exception(error))
    exception = traceback.TracebackException.from_exception(error, capture_locals=True)
    links = [exception]
    for link in links:
        links += [more for more in (link.__cause__, link.__context__) if more is not None]
        for frame in link.stack:
            # In a frame of the user's own the user's secrets may be.
            if frame.filename.startswith(PACKAGE_FOLDER):
                yield f"locals of {frame.name} in the traceback of {name}", repr(frame.locals)
    tb = error.__traceback__
    while tb is not None and not tb.tb_frame.f_code.co_filename.startswith(PACKAGE_FOLDER):
        tb = tb.tb_next
    if tb is not None:
        yield f"notebook traceback of {name}", re.sub(r"\x1b\[[0-9;]*m", "", library("IPython.core.ultratb").VerboseTB().text(type(error), error, tb))
    for part in ("batch", "payload"):
        yield from texts_of(getattr(error, part, None), f"{name}.{part}")
