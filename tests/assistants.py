"""An assistant for tests: the official client of the Model Context Protocol, which starts `sideline mcp` and talks to it over real pipes."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from needs import library, require

require("mcp", "polars", "deltalake", "duckdb", extra="mcp")

anyio = library("anyio")
mcp = library("mcp")
from_thread = library("anyio.from_thread")

COMMAND = [sys.executable, "-P", "-m", "sideline", "mcp"]


@dataclass(frozen=True)
class Reply:
    """What a tool replied."""

    text: str
    content: Any
    is_error: bool
    pictures: list[str]

    @property
    def rows(self) -> list[dict[str, Any]]:
        return list(self.content["rows"])

    @property
    def verdicts(self) -> dict[str, str]:
        return dict(self.content["verdicts"])

    @property
    def doubts(self) -> dict[str, str]:
        """The games that are not available."""
        return {game: verdict for game, verdict in self.verdicts.items() if verdict != "available"}


def reply_of(result: Any) -> Reply:
    texts = [part.text for part in result.content if part.type == "text"]
    pictures = [part.data for part in result.content if part.type == "image"]
    return Reply("\n".join(texts), result.structured_content, result.is_error, pictures)


class Assistant:
    """A client whose calls wait."""

    def __init__(self, portal: Any, client: Any) -> None:
        self.portal, self.client = portal, client

    def call(self, tool: str, **arguments: Any) -> Reply:
        return reply_of(self.portal.call(self.client.call_tool, tool, arguments))

    def read(self, uri: str) -> str:
        return str(self.portal.call(self.client.read_resource, uri).contents[0].text)


@contextmanager
def assistant(root: Path, state: Path, *options: str, command: Sequence[str] = COMMAND, env: dict[str, str] | None = None) -> Iterator[Assistant]:
    """Start a server of the archive."""
    parameters = mcp.StdioServerParameters(command=command[0], args=[*command[1:], str(root), *options], env={"XDG_STATE_HOME": str(state), **(env or {})})
    with from_thread.start_blocking_portal() as portal, portal.wrap_async_context_manager(mcp.Client(parameters)) as client:
        yield Assistant(portal, client)
