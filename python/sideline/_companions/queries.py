"""Runs the queries of an assistant, each in a process of its own with limits of its own."""

import json
import os
import sys
from dataclasses import dataclass
from subprocess import PIPE, STDOUT
from typing import Annotated

import anyio
from pydantic import Field

from ..errors import QueryError
from .replies import Result

_MODULE = "sideline._companions.query_worker"

_GRACE_SECONDS = 20
"""How long a process may take to start and to end, beside the time of the query."""

_MAX_PROCESSES = 2


@dataclass(frozen=True)
class QueryLimits:
    """The limits of `Archive.sql`."""

    max_rows: int = 1_000_000
    timeout: float = 60.0
    memory_limit: str = "1GB"


class Queries:
    """Runs queries of one archive."""

    def __init__(self, root: str, *, positions: bool, limits: QueryLimits | None = None) -> None:
        self._root, self._positions, self._limits = root, positions, limits or QueryLimits()
        self._turn = anyio.Semaphore(_MAX_PROCESSES)

    async def query(
        self,
        sql: Annotated[str, Field(description="One select of DuckDB over the tables, by their names")],
        limit: Annotated[int, Field(ge=1, le=10_000, description="Rows of the answer")] = 200,
    ) -> Result:
        """Run one select over the tables. Name a game as game_id = '…', so that only its verdict counts."""
        # A tool: the assistant reads the docstring. A cancelled call ends the process.
        request = {
            "root": self._root,
            "query": sql,
            "limit": limit,
            "positions": self._positions,
            **self._limits.__dict__,
        }
        # Without the credentials of the service: reading needs none.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SIDELINE_")}
        # -P: no module is imported from the working directory. -B: no bytecode is written.
        command = [sys.executable, "-B", "-P", "-m", _MODULE]
        output = b""
        async with (
            self._turn,
            await anyio.open_process(command, stdin=PIPE, stdout=PIPE, stderr=STDOUT, env=environment) as process,
        ):
            assert process.stdin is not None
            assert process.stdout is not None
            with anyio.move_on_after(self._limits.timeout + _GRACE_SECONDS) as scope:
                await process.stdin.send(json.dumps(request).encode() + b"\n")
                output = b"".join([part async for part in process.stdout])
                await process.wait()
            if scope.cancelled_caught:
                process.kill()
                raise QueryError(f"the query took longer than {self._limits.timeout:g} s: select less")
        if process.returncode:
            sys.stderr.write(output.decode(errors="replace"))
            raise QueryError(
                f"the process of the query ended with status {process.returncode}: it needs too much memory or "
                "processor time; select less"
            )
        reply = json.loads(output.splitlines()[-1])
        if "error" in reply:
            # An assistant cannot raise the limits.
            raise QueryError(reply["error"].partition(", or raise ")[0])
        rows = reply["rows"]
        return Result(rows, reply["scope"], reply["total"] - len(rows), notes=reply["notes"])
