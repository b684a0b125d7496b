"""What a capture hides in both modes: tokens, secrets, and the values of headers."""

import base64
import json
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote

from .._core import Payload
from ..errors import SidelineError
from .pseudonyms import MASK

_SHOWN_HEADERS = frozenset(
    (
        "content-type",
        "content-length",
        "content-encoding",
        "transfer-encoding",
        "cache-control",
        "connection",
        "date",
        "age",
        "vary",
        "retry-after",
        "x-simulated-date",
    )
)
_SHOWN_PREFIXES = ("ratelimit", "x-ratelimit")

_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})

_TOKEN_MEMBER = re.compile(rb'("[^"]*token"\s*:\s*)"(?:[^"\\]|\\.)*"', re.IGNORECASE)


def mask_members(raw: bytes) -> bytes:
    """Return a body with each member masked whose name ends with "token"."""
    return _TOKEN_MEMBER.sub(rb'\1"***"', raw)


def token_of(payload: Payload) -> str | None:
    """Return the token of a body: the whole text, or a member whose name ends with "token"."""
    try:
        stack = [payload.to_dict()]
    except SidelineError:
        return None
    if isinstance(stack[0], str):
        return stack[0]
    while stack:
        value = stack.pop(0)
        if isinstance(value, dict):
            for name, member in value.items():
                if name.lower().endswith("token") and isinstance(member, str):
                    return member
            stack.extend(value.values())
    return None


def mask_body(raw: bytes) -> bytes:
    """Return the body of a token with every text masked that may be one."""

    def mask(value: Any, name: str = "token") -> Any:
        if isinstance(value, dict):
            return {key: mask(member, key) for key, member in value.items()}
        if isinstance(value, list):
            return [mask(element, name) for element in value]
        is_token = name.lower().endswith("token") and not isinstance(value, bool) and value is not None
        return MASK if is_token or (isinstance(value, str) and len(value) >= 8) else value

    try:
        return json.dumps(mask(json.loads(raw))).encode()
    except (ValueError, RecursionError):
        return MASK.encode()


def spellings(secret: str) -> set[bytes]:
    """Return a secret as bodies may spell it."""
    raw = secret.encode()
    percent = quote(secret, safe="")
    texts = {
        secret,
        percent,
        quote(percent, safe=""),
        json.dumps(secret)[1:-1],
        secret.translate(_HTML),
        base64.b64encode(raw).decode(),
        base64.urlsafe_b64encode(raw).decode().rstrip("="),
        raw.hex(),
        raw.hex().upper(),
    }
    return {text.encode() for text in texts}


def shown_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers; values are masked unless their header is known to name nobody."""
    return {
        name: value if name.lower() in _SHOWN_HEADERS or name.lower().startswith(_SHOWN_PREFIXES) else MASK
        for name, value in headers.items()
    }


def clock_offset(payload: Payload) -> float | None:
    """Return how far the service's clock is ahead; `Date` has whole seconds, so half a second is added."""
    date, at = payload.headers.get("date"), payload.fetched_at
    try:
        return (
            None if date is None or at is None else round((parsedate_to_datetime(date) - at).total_seconds() + 0.5, 1)
        )
    except (TypeError, ValueError):
        return None
