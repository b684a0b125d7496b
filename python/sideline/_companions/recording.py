"""A capture as the recording that the simulator serves."""

import json
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from .capture_folder import Capture, CaptureFolder, raw_of


@dataclass(frozen=True)
class Recording:
    """Responses and streams, as the simulator takes them."""

    sport: str
    started_at: int
    responses: list[tuple[str, list[tuple[str, str]], int, bytes]]
    """Path, query, status and body."""
    streams: list[tuple[str, str, list[tuple[int, bytes]]]]
    """Path, game, and messages with their milliseconds since the connection."""


def recording_of(path: str | PathLike[str]) -> Recording:
    """Read a capture; raises `FileNotFoundError` without one."""
    store = CaptureFolder(Path(path))
    capture = store.read()
    if capture is None:
        raise FileNotFoundError(f"{path} holds no capture: make one with sideline capture")
    return Recording(
        capture.sport, capture.started_at, list(_responses(store, capture)), list(_streams(store, capture))
    )


def _responses(store: CaptureFolder, capture: Capture) -> Any:
    for exchange in capture.exchanges:
        if exchange.status is None or not exchange.path:
            continue
        raw = store.body(exchange)
        if raw is None:
            raw = json.dumps({"message": exchange.finding}).encode()
        yield exchange.path, exchange.query, exchange.status, raw


def _streams(store: CaptureFolder, capture: Capture) -> Any:
    for stream in capture.streams:
        if stream.outcome != "fetched":
            continue
        lines = store.lines(stream)
        start = next((line["after_ms"] for line in lines if line.get("notice") == "Connected"), 0)
        messages = [
            (max(line["after_ms"] - start, 0), chunk)
            for line in lines
            if (chunk := _chunk(line, is_event_stream=stream.step == "live_stats")) is not None
        ]
        yield stream.path, stream.game_id, messages


def _chunk(line: dict[str, Any], *, is_event_stream: bool) -> bytes | None:
    """Return the bytes of an item: a text of the websocket, or an event or heartbeat of the event stream."""
    text = line.get("text")
    if not is_event_stream:
        return None if text is None else raw_of(text)
    if text is not None:
        name = "" if line["event"] == "message" else f"event: {line['event']}\n"
        data = "\n".join(f"data: {part}" for part in text.split("\n"))
        return raw_of(f"{name}{data}\n\n")
    return b":\n\n" if "heartbeat" in line else None
