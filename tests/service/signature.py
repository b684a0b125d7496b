"""Signatures of requests, by section 5.1, computed again from the received headers."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime

_PAIR = re.compile(r'([a-z]+)="([^"]*)"')


@dataclass
class Credential:
    """A username and secret pair, and what it may see."""

    username: str
    secret: str
    privileges: set[str] = field(default_factory=lambda: {"stats", "shots", "locations", "rosters", "games"})


def sign(secret: str, date: str, host: str, method: str, path: str) -> str:
    """The signature of a request: HMAC-SHA-1 of three lines, in base64."""
    text = f"date: {date.strip()}\nhost: {host}\n{method} {path} HTTP/1.1"
    return base64.b64encode(hmac.new(secret.encode(), text.encode(), hashlib.sha1).digest()).decode()


def parse(authorization: str) -> dict[str, str] | None:
    """The pairs of an Authorization value; `None` where it is malformed."""
    scheme, _, rest = authorization.partition(" ")
    pairs = [_PAIR.fullmatch(part.strip()) for part in rest.split(",")]
    if scheme != "hmac" or not all(pairs):
        return None
    return {pair[1]: pair[2] for pair in pairs if pair}


def refusal(headers: dict[str, str], method: str, path: str, credentials: dict[str, Credential], *, now: float, skew: float | None) -> str | None:
    """Why a request is refused, or `None`. `skew` is the allowed deviation in seconds, `None` for any."""
    if "authorization" not in headers:
        return "Unauthorized"
    pairs = parse(headers["authorization"])
    if pairs is None or set(pairs) != {"username", "algorithm", "headers", "signature"} or pairs["algorithm"] != "hmac-sha1":
        return "HMAC signature cannot be verified"
    if pairs["headers"] != "date host request-line":
        return "HMAC signature does not enforce the headers date host request-line"
    credential = credentials.get(pairs["username"])
    if credential is None:
        return "HMAC signature cannot be verified"
    date = headers.get("date", "")
    try:
        deviation = abs(parsedate_to_datetime(date).timestamp() - now)
    except ValueError:
        deviation = float("inf")
    if deviation == float("inf") or (skew is not None and deviation > skew):
        return "HMAC signature cannot be verified, a valid date or x-date header is required for HMAC Authentication"
    expected = sign(credential.secret, date, headers.get("host", ""), method, path)
    return None if hmac.compare_digest(expected, pairs["signature"]) else "HMAC signature does not match"
