"""The folder of a capture: the bodies, the streams, and `capture.json` about them."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from .._core import Payload
from .._rows import replaced_file

REPORT, PAGE = "capture.json", "capture.html"
FORMAT = 1

Outcome = Literal["fetched", "refused", "broken", "failed", "skipped"]


@dataclass
class Exchange:
    """A request of a capture and its outcome; all values are as in the files."""

    step: str
    operation: str
    outcome: Outcome
    path: str = ""
    query: list[tuple[str, str]] = field(default_factory=list)
    status: int | None = None
    finding: str = ""
    """Why there is no table, or no body."""
    body: str | None = None
    """The file of the body, in the folder."""
    size: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    elapsed_ms: float | None = None
    clock_offset_s: float | None = None
    """Seconds by which the service's clock is ahead of this machine's, from the header Date."""
    context: dict[str, Any] = field(default_factory=dict)
    """Ids of the request that its tables show."""


@dataclass
class Stream:
    """A stream of a capture."""

    step: str
    path: str
    game_id: str
    outcome: Outcome
    file: str
    """Its items as JSON lines, in the folder."""
    seconds: float
    finding: str = ""


@dataclass
class Capture:
    """What `capture.json` holds beside the report."""

    mode: str
    service: str
    """A digest of the service's addresses: another one is another service."""
    sport: str
    started_at: int
    requests: int = 0
    exchanges: list[Exchange] = field(default_factory=list)
    streams: list[Stream] = field(default_factory=list)


class CaptureFolder:
    """A capture on disk; every write leaves it complete."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Capture | None:
        """Return the capture, or `None` without one; raises `ValueError` if the file is another one."""
        try:
            content = json.loads((self.path / REPORT).read_text(encoding="utf-8"))
            if content["format"] != FORMAT:
                raise ValueError(f"{self.path} is a capture of another version of sideline")
            capture = {name: content[name] for name in Capture.__dataclass_fields__}
            capture["exchanges"] = [Exchange(**exchange) for exchange in capture["exchanges"]]
            for exchange in capture["exchanges"]:
                exchange.query = [(name, value) for name, value in exchange.query]
            capture["streams"] = [Stream(**stream) for stream in capture["streams"]]
            return Capture(**capture)
        except FileNotFoundError:
            return None
        except (KeyError, TypeError, json.JSONDecodeError) as error:
            raise ValueError(f"{self.path / REPORT} is not the report of a capture") from error

    def write(self, capture: Capture, report: dict[str, Any] | None = None) -> None:
        """Write the capture, with its report once there is one."""
        content = {"format": FORMAT, **asdict(capture), **(report or {})}
        with replaced_file(self.path / REPORT) as file:
            json.dump(content, file, indent=1, ensure_ascii=False, default=str)

    def write_body(self, name: str, raw: bytes) -> str:
        """Write a body; return its name in the folder."""
        file = self.path / "bodies" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(raw)
        return f"bodies/{name}"

    def write_lines(self, name: str, lines: list[dict[str, Any]]) -> str:
        """Write the items of a stream; return the file's name in the folder."""
        file = self.path / "streams" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
        # JSON escapes what `text_of` makes of a byte that is not UTF-8 as Python does.
        file.write_text(text, encoding="utf-8", errors="backslashreplace")
        return f"streams/{name}"

    def body(self, exchange: Exchange) -> bytes | None:
        """Return the body of an exchange."""
        return None if exchange.body is None else self._file(exchange.body).read_bytes()

    def lines(self, stream: Stream) -> list[dict[str, Any]]:
        """Return the items of a stream."""
        # `splitlines` would also split at characters of a text, such as U+2028.
        return [json.loads(line) for line in self._file(stream.file).read_text(encoding="utf-8").split("\n") if line]

    def _file(self, name: str) -> Path:
        # A capture may come from somebody else.
        file = (self.path / name).resolve()
        if not file.is_relative_to(self.path.resolve()):
            raise ValueError(f"{self.path / REPORT} names {name!r}, which is outside the folder")
        return file


def text_of(raw: bytes) -> str:
    """Return the text of a message, from which `raw_of` makes the same bytes."""
    return raw.decode("utf-8", "surrogateescape")


def raw_of(text: str) -> bytes:
    """Return the bytes of a text of a line."""
    return text.encode("utf-8", "surrogateescape")


def payload_of(operation: str, raw: bytes, context: dict[str, Any], sport: str) -> Payload:
    """Return a stored body as a payload."""
    ids = {name: value for name, value in context.items() if value is not None}
    return Payload.from_bytes(operation, raw, sport=sport, **ids)  # type: ignore[arg-type]
