"""Answers as bytes on the wire, each served once: never a hang, never a short body as success, the right class of error.

The cases lie beside the project and are read from there; those of the project's own that matter most stand in
`test_wrong_input.py`.
"""

from __future__ import annotations

import json
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from peers import peer

import sideline

CASES = Path(__file__).parents[2] / "shared" / "conformance" / "http_response_cases.json"

# The parser that judged these cases reads on after the message. We take one answer from a connection that says it closes.
MESSAGE_IS_WHOLE = "llhttp-connection-http-1-1-with-keep-alive-disabled"
# Complete for a parser that is fed no more bytes, or for one that is told to be lenient; the body or the head is not.
NOT_WHOLE_FOR_US = {
    "llhttp-connection-http-103-first-then-200",
    "llhttp-content-length-content-length-reset-when-no-body-is-received",
    "llhttp-invalid-bare-cr-after-response-line-lenient",
}


def cases() -> list[dict[str, Any]]:
    return json.loads(CASES.read_text(encoding="utf-8"))["cases"] if CASES.exists() else []


def wire(text: str) -> bytes:
    named = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}
    return re.sub(r"\\([nrt\\]|x[0-9A-Fa-f]{2})", lambda m: named.get(m[1]) or chr(int(m[1][1:], 16)), text).encode("latin-1")


@pytest.mark.skipif(not CASES.exists(), reason="the conformance cases lie beside the project, and are not there")
def test_all_the_cases_are_there() -> None:
    assert len(cases()) == 113


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["name"])
def test_an_answer_is_read_or_refused(case: dict[str, Any]) -> None:
    raw = wire(case["input"])
    # A refusal for the date is corrected and sent again, which here meets the connection that the peer has closed.
    retries = 1 if case["name"] == "own-date-header-skewed" else 0
    limits = sideline.Timeout(connect=1, read=0.5, total=3)
    start = time.monotonic()
    with peer([raw]) as seen, sideline.Client(username="a", secret="b", base_url=seen.base_url, max_retries=retries, timeout=limits) as client:
        try:
            payload = client.get("/v1/data/teams")
        except sideline.SidelineError as refused:
            outcome: Any = refused
        else:
            outcome = payload
            # A body that is no JSON after all says so when it is read.
            with suppress(sideline.DecodeError):
                payload.to_dict()
    assert time.monotonic() - start < 3
    if isinstance(outcome, sideline.Payload):
        assert case["verdict"] != "error" or case["name"].startswith(MESSAGE_IS_WHOLE)
        assert outcome.status == 200 and outcome.raw in raw
    elif case["verdict"] == "ok":
        broken = type(outcome) is sideline.TransportError
        assert not broken or case["name"] in NOT_WHOLE_FOR_US, outcome
